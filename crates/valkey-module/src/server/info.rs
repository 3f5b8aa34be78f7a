//! Commands of the one table as the server knows commands: flags, keys, documentation, categories.

use super::context::OK;
use super::{Context, call};
use scurry_resp::table::{CommandId, Memory, ScurWriteId, Spec};
use std::ffi::{CString, c_int};
use valkey_module::raw;

/// The function that the server calls for a command.
// SAFETY: the context and the arguments are valid until it returns.
pub(crate) type Run = unsafe extern "C" fn(
    context: *mut raw::RedisModuleCtx,
    first: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int;

/// Users can be given all commands of this crate by this name, where the server knows categories
/// of modules.
const CATEGORY: &std::ffi::CStr = c"scurry";

/// Makes a command known to the server. False when it refuses.
pub(crate) fn create_command(context: &Context, spec: &'static Spec, run: Run) -> bool {
    let name = text(&spec.lower_name());
    let flags: Vec<&str> =
        spec.command_flags().filter_map(|flag| server_flag(spec, flag)).collect();
    let flags = text(&flags.join(" "));
    let (first, last, step) = spec.keys;
    // SAFETY: the texts end in zeros, and the server copies all of it.
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

/// Makes the category known, where the server knows categories of modules.
pub(crate) fn create_category(context: &Context) {
    // SAFETY: the text ends in a zero.
    unsafe {
        if let Some(add) = raw::RedisModule_AddACLCategory {
            // It refuses a name that is taken: then there is nothing to do.
            add(context.raw(), CATEGORY.as_ptr());
        }
    }
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// The name that the server's API has for a flag of the table.
fn server_flag(spec: &Spec, flag: &'static str) -> Option<&'static str> {
    match flag {
        // The server would refuse it unseen, also a duplicate that is to get its stored answer, and the
        // deletion of what is there: this crate refuses what takes memory.
        "denyoom" if spec.memory != Memory::Taken => None,
        "denyoom" => Some("deny-oom"),
        "noscript" => Some("deny-script"),
        "loading" => Some("allow-loading"),
        "stale" => Some("allow-stale"),
        // Its keys are asked for.
        "movablekeys" => Some("getkeys-api"),
        // What waits in our server is refused here, so that nothing waits.
        "blocking" => None,
        flag => Some(flag),
    }
}

/// The words that a server would see in the flags of a command of its own, and the crate's category.
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
        // More keys than the first: the server asks for them.
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
/// The command is one that the server has made, and the module is being loaded.
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
    // SAFETY: zeros are what ends a list of these.
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
    // SAFETY: the caller promises the command; the server copies the rest.
    unsafe { call!(RedisModule_SetCommandInfo(command, &info)) == OK }
}
