//! Subscribes to events of the server.

use super::context::OK;
use super::{Context, Name, call};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use valkey_module::raw;

/// Callback of an event. `what` is the number of the subevent, and `data` is what the server documents for it.
// SAFETY: the context is valid until it returns, and `data` belongs to the event.
pub(crate) type EventCallback = unsafe extern "C" fn(
    context: *mut raw::RedisModuleCtx,
    event: raw::RedisModuleEvent,
    what: u64,
    data: *mut c_void,
);

/// Subscribes to an event. Returns false if the server does not know it.
pub(crate) fn subscribe(context: &Context, id: u64, heard: EventCallback) -> bool {
    let event = raw::RedisModuleEvent { id, dataver: 1 };
    // SAFETY: the callback has the signature that the server calls.
    unsafe { call!(RedisModule_SubscribeToServerEvent(context.raw(), event, Some(heard))) == OK }
}

/// Callback for keys, with the event's name and the key.
type KeyEventCallback = fn(&Context, &CStr, Name<'_>);

static OF_KEYS: OnceLock<KeyEventCallback> = OnceLock::new();

/// Subscribes to events of the generic key commands, such as rename and move.
pub(crate) fn subscribe_to_keys(context: &Context, heard: KeyEventCallback) -> bool {
    OF_KEYS.get_or_init(|| heard);
    // SAFETY: the callback has the signature that the server calls.
    unsafe {
        call!(RedisModule_SubscribeToKeyspaceEvents(
            context.raw(),
            raw::REDISMODULE_NOTIFY_GENERIC,
            Some(of_key),
        )) == OK
    }
}

// SAFETY: only the server calls this, with a valid context, a text that ends in a zero and a key.
unsafe extern "C" fn of_key(
    context: *mut raw::RedisModuleCtx,
    _: c_int,
    event: *const c_char,
    key: *mut raw::RedisModuleString,
) -> c_int {
    if let Some(heard) = OF_KEYS.get() {
        // SAFETY: see above; everything lives until the callback returns.
        unsafe { heard(&Context::new(context), CStr::from_ptr(event), Name::new(key)) }
    }
    OK
}
