//! Registers the commands of the table with the server: flags, keys, documentation, categories.

use super::context::OK;
use super::{Context, call};
use scurry_resp::table::{CommandId, Memory, ScurWriteId, Spec};
use std::ffi::{CString, c_int};
use valkey_module::raw;

/// Function that the server calls for a command.
// SAFETY: the context and the arguments are valid until it returns.
pub(crate) type Run = unsafe extern "C" fn(
    context: *mut raw::RedisModuleCtx,
    first: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int;

/// ACL category of all commands of this crate, on servers that support categories of modules.
const CATEGORY: &std::ffi::CStr = c"scurry";

/// Registers a command. Returns false if the server refuses it.
pub(crate) fn create_command(context: &Context, spec: &'static Spec, run: Run) -> bool {
    let name = text(&spec.lower_name());
    let flags: Vec<&str> =
        spec.command_flags().filter_map(|flag| server_flag(spec, flag)).collect();
    let flags = text(&flags.join(" "));
    let (first, last, step) = spec.keys;
    // SAFETY: the texts end in zeros, and the server copies everything.
    unsafe {
        let created = call!(RedisModule_CreateCommand(
            context.raw(),
            name.as_ptr(),
            Some(run),
            flags.as_ptr(),
            first,
            last,
            step,
        ));
        let command = call!(RedisModule_GetCommand(context.raw(), name.as_ptr()));
        if created != OK || command.is_null() {
            return false;
        }
        if let (Some(add), Some(_)) =
            (raw::RedisModule_SetCommandACLCategories, raw::RedisModule_AddACLCategory)
        {
            add(command, text(&categories(spec)).as_ptr());
        }
        describe(command, spec)
    }
}

/// Creates the category, if the server supports categories of modules.
pub(crate) fn create_category(context: &Context) {
    // SAFETY: the text ends in a zero.
    unsafe {
        if let Some(add) = raw::RedisModule_AddACLCategory {
            // An error means that the name is taken, so nothing is left to do.
            add(context.raw(), CATEGORY.as_ptr());
        }
    }
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// Returns the name of a flag in the server's API. None if the flag must not be set.
fn server_flag(spec: &Spec, flag: &'static str) -> Option<&'static str> {
    match flag {
        // With this flag the server would refuse the command without calling it, also a duplicate that is to get its
        // stored answer, and a deletion. This crate itself refuses what needs memory.
        "denyoom" if spec.memory != Memory::Taken => None,
        "denyoom" => Some("deny-oom"),
        "noscript" => Some("deny-script"),
        "loading" => Some("allow-loading"),
        "stale" => Some("allow-stale"),
        // The server asks for the key positions.
        "movablekeys" => Some("getkeys-api"),
        // A command that would wait in `scurry serve` is refused here, so nothing blocks.
        "blocking" => None,
        flag => Some(flag),
    }
}

/// Returns the categories that the server would derive from the flags of its own commands, and the crate's category.
fn categories(spec: &Spec) -> String {
    let mut categories = CATEGORY.to_string_lossy().into_owned();
    for (flag, category) in [
        ("write", " write"),
        ("readonly", " read"),
        ("admin", " admin dangerous"),
        ("fast", " fast"),
    ] {
        if spec.flags.contains(&flag) {
            categories.push_str(category);
        }
    }
    if !spec.flags.contains(&"fast") {
        categories.push_str(" slow");
    }
    categories
}

fn key_flags(spec: &Spec) -> u32 {
    let access = raw::REDISMODULE_CMD_KEY_ACCESS;
    match spec.id {
        // There are more keys than the first; the server asks for them.
        CommandId::ScurChain(_) => {
            raw::REDISMODULE_CMD_KEY_RW
                | access
                | raw::REDISMODULE_CMD_KEY_UPDATE
                | raw::REDISMODULE_CMD_KEY_INCOMPLETE
                | raw::REDISMODULE_CMD_KEY_VARIABLE_FLAGS
        }
        CommandId::ScurWrite(ScurWriteId::Create) => {
            raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_INSERT
        }
        CommandId::ScurWrite(ScurWriteId::Delete) => {
            raw::REDISMODULE_CMD_KEY_RW | access | raw::REDISMODULE_CMD_KEY_DELETE
        }
        _ if spec.flags.contains(&"write") => {
            raw::REDISMODULE_CMD_KEY_RW | access | raw::REDISMODULE_CMD_KEY_UPDATE
        }
        _ => raw::REDISMODULE_CMD_KEY_RO | access,
    }
}

/// # Safety
/// The server has created the command, and the module is being loaded.
// SAFETY: see above.
unsafe fn describe(command: *mut raw::RedisModuleCommand, spec: &Spec) -> bool {
    let version = raw::RedisModuleCommandInfoVersion {
        version: 1,
        sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
        sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
        sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
    };
    let (summary, since) = (text(spec.summary), text(spec.since));
    let (first, _, _) = spec.keys;
    // SAFETY: zeros are valid and mark the end of such a list.
    let mut keys: [raw::RedisModuleCommandKeySpec; 2] = unsafe { std::mem::zeroed() };
    keys[0].flags = u64::from(key_flags(spec));
    keys[0].begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
    keys[0].bs.index = raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: first };
    keys[0].find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
    keys[0].fk.range = raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
        lastkey: 0,
        keystep: 1,
        limit: 0,
    };
    let info = raw::RedisModuleCommandInfo {
        version: &version,
        summary: summary.as_ptr(),
        complexity: std::ptr::null(),
        since: since.as_ptr(),
        history: std::ptr::null_mut(),
        tips: std::ptr::null(),
        arity: spec.arity,
        key_specs: if first > 0 { keys.as_mut_ptr() } else { std::ptr::null_mut() },
        args: std::ptr::null_mut(),
    };
    // SAFETY: the caller guarantees the command; the server copies the rest.
    unsafe { call!(RedisModule_SetCommandInfo(command, &info)) == OK }
}
