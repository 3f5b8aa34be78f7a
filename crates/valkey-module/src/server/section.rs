//! The module's section of the server's INFO.

use super::context::OK;
use super::{Context, call};
use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use valkey_module::raw;

/// Names and numbers; the server puts the module's name before each.
type Fields = fn() -> Vec<(&'static CStr, u64)>;

static FIELDS: OnceLock<Fields> = OnceLock::new();

/// Has the server ask for these whenever somebody asks for INFO. False when it refuses.
pub(crate) fn create_section(context: &Context, fields: Fields) -> bool {
    FIELDS.get_or_init(|| fields);
    // SAFETY: the callback has the signature that the server calls.
    unsafe { call!(RedisModule_RegisterInfoFunc(context.raw(), Some(show))) == OK }
}

// SAFETY: called by the server alone, with a valid context.
unsafe extern "C" fn show(info: *mut raw::RedisModuleInfoCtx, for_crash_report: c_int) {
    // Who crashes allocates nothing.
    let Some(fields) = FIELDS.get().filter(|_| for_crash_report == 0) else { return };
    // SAFETY: see above; the names end in zeros, and no name is that of the module.
    unsafe {
        if call!(RedisModule_InfoAddSection(info, std::ptr::null())) != OK {
            // The section was not asked for.
            return;
        }
        for (name, value) in fields() {
            call!(RedisModule_InfoAddFieldULongLong(info, name.as_ptr(), value));
        }
    }
}
