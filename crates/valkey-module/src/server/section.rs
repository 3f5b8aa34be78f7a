//! The module's section in the server's INFO.

use super::context::OK;
use super::{Context, call};
use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;
use valkey_module::raw;

/// Value of a field.
pub(crate) enum FieldValue {
    Number(u64),
    Text(CString),
}

/// Names and values of fields. The server puts the module's name before each name.
type Fields = fn() -> Vec<(&'static CStr, FieldValue)>;

static FIELDS: OnceLock<Fields> = OnceLock::new();

/// Registers the fields for INFO. Returns false if the server refuses.
pub(crate) fn create_section(context: &Context, fields: Fields) -> bool {
    FIELDS.get_or_init(|| fields);
    // SAFETY: the callback has the signature that the server calls.
    unsafe { call!(RedisModule_RegisterInfoFunc(context.raw(), Some(show))) == OK }
}

// SAFETY: only the server calls this, with a valid context.
unsafe extern "C" fn show(info: *mut raw::RedisModuleInfoCtx, for_crash_report: c_int) {
    // A crash report must not allocate.
    let Some(fields) = FIELDS.get().filter(|_| for_crash_report == 0) else { return };
    // SAFETY: see above; names and texts end in zeros, and a null section name stands for the module's name.
    unsafe {
        if call!(RedisModule_InfoAddSection(info, std::ptr::null())) != OK {
            // The client did not ask for this section.
            return;
        }
        for (name, value) in fields() {
            match value {
                FieldValue::Number(number) => {
                    call!(RedisModule_InfoAddFieldULongLong(info, name.as_ptr(), number));
                }
                FieldValue::Text(text) => {
                    call!(RedisModule_InfoAddFieldCString(info, name.as_ptr(), text.as_ptr()));
                }
            }
        }
    }
}
