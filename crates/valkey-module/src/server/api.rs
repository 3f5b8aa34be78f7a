//! The API functions that the server passes when it loads the module.

/// Calls a function of the server's API. [`missing`] has checked that the function exists.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        // The pointers are written once, before anything else of this crate runs.
        match valkey_module::raw::$function {
            Some(function) => function($($argument),*),
            None => unreachable!(concat!(stringify!($function), " is there: it was looked for")),
        }
    }};
}

pub(crate) use call;

/// Lists the functions that the module needs.
macro_rules! needed {
    ($($function:ident)*) => {
        /// Returns the first function that the module needs and this server lacks.
        pub(crate) fn missing() -> Option<&'static str> {
            $(
                // SAFETY: written once, before this call, by the same thread.
                let function = unsafe { valkey_module::raw::$function };
                if function.is_none() {
                    return Some(stringify!($function));
                }
            )*
            None
        }
    };
}

needed! {
    RedisModule_Alloc RedisModule_Calloc RedisModule_Realloc RedisModule_Free
    RedisModule_Log RedisModule_LogIOError RedisModule_GetServerInfo RedisModule_ServerInfoGetFieldC
    RedisModule_FreeServerInfo RedisModule_RegisterInfoFunc RedisModule_InfoAddSection
    RedisModule_InfoAddFieldULongLong RedisModule_InfoAddFieldCString
    RedisModule_SetModuleOptions RedisModule_CreateDataType
    RedisModule_CreateCommand RedisModule_GetCommand RedisModule_SetCommandInfo
    RedisModule_SubscribeToServerEvent RedisModule_SubscribeToKeyspaceEvents
    RedisModule_GetContextFlags RedisModule_Milliseconds RedisModule_StringPtrLen
    RedisModule_IsKeysPositionRequest RedisModule_KeyAtPos RedisModule_ACLCheckCommandPermissions
    RedisModule_GetCurrentUserName RedisModule_GetModuleUserFromUserName RedisModule_FreeModuleUser
    RedisModule_CreateString RedisModule_FreeString RedisModule_SelectDb RedisModule_GetSelectedDb
    RedisModule_OpenKey RedisModule_CloseKey RedisModule_KeyType RedisModule_ModuleTypeGetType
    RedisModule_ModuleTypeGetValue RedisModule_ModuleTypeSetValue RedisModule_DeleteKey
    RedisModule_ModuleTypeReplaceValue
    RedisModule_SetAbsExpire RedisModule_GetAbsExpire RedisModule_SignalModifiedKey
    RedisModule_Replicate RedisModule_ReplicateVerbatim RedisModule_EmitAOF
    RedisModule_SaveStringBuffer RedisModule_LoadStringBuffer RedisModule_IsIOError
    RedisModule_GetContextFromIO RedisModule_GetKeyNameFromIO RedisModule_GetDbIdFromIO
    RedisModule_GetKeyNameFromOptCtx RedisModule_GetDbIdFromOptCtx
    RedisModule_DigestAddStringBuffer RedisModule_DigestEndSequence
    RedisModule_CreateTimer RedisModule_StopTimer RedisModule_AvoidReplicaTraffic
    RedisModule_WrongArity RedisModule_ReplyWithSimpleString RedisModule_ReplyWithError
    RedisModule_ReplyWithLongLong RedisModule_ReplyWithStringBuffer RedisModule_ReplyWithBigNumber
    RedisModule_ReplyWithNull RedisModule_ReplyWithNullArray RedisModule_ReplyWithArray
    RedisModule_ReplyWithMap
}
