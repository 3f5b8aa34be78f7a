//! Handles events of the server: flushed or swapped databases, renamed keys, role changes, loaded files, changed
//! settings.

use crate::account::AccountValue;
use crate::eviction;
use crate::server::{Context, Mode, Name, OpenKey, subscribe, subscribe_to_keys};
use crate::timers;
use std::ffi::{CStr, c_void};
use valkey_module::raw;

/// Numbers of events.
const ROLE: u64 = 0;
const LOADING: u64 = 3;
const FLUSH: u64 = 2;
const SWAP: u64 = 11;
const CONFIG: u64 = 16;
/// In Valkey 9.0 and newer.
const SLOT_MIGRATION: u64 = 19;

/// Numbers of subevents.
const FLUSH_ENDS: u64 = 1;
const IMPORT_STARTED: u64 = 0;
const IMPORT_ABORTED: u64 = 2;
const IMPORT_COMPLETED: u64 = 4;

/// Subscribes to all events. Returns false if the server lacks a required one, or the slot migration event where
/// `migrates_slots` says that it has one.
pub(crate) fn listen(context: &Context, migrates_slots: bool) -> bool {
    let needed = subscribe(context, ROLE, on_server_event)
        && subscribe(context, LOADING, on_server_event)
        && subscribe(context, FLUSH, flushed)
        && subscribe(context, SWAP, swapped)
        && subscribe(context, CONFIG, configured)
        && subscribe_to_keys(context, on_key_event);
    needed && (!migrates_slots || subscribe(context, SLOT_MIGRATION, migrated))
}

// SAFETY: only the server calls this and the callbacks below, with a valid context and the data that it documents for
// the event.
unsafe extern "C" fn on_server_event(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    // SAFETY: see above.
    timers::wake(&unsafe { Context::new(context) });
}

// SAFETY: see `on_server_event`.
unsafe extern "C" fn configured(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    // SAFETY: see `on_server_event`.
    eviction::look(&unsafe { Context::new(context) });
}

// SAFETY: see `on_server_event`.
unsafe extern "C" fn flushed(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    what: u64,
    data: *mut c_void,
) {
    // SAFETY: the event has this data.
    let info = unsafe { &*data.cast::<raw::RedisModuleFlushInfo>() };
    if what == FLUSH_ENDS {
        timers::clear((info.dbnum >= 0).then_some(info.dbnum));
    }
}

// SAFETY: see `on_server_event`.
unsafe extern "C" fn swapped(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    data: *mut c_void,
) {
    // SAFETY: the event has this data.
    let info = unsafe { &*data.cast::<raw::RedisModuleSwapDbInfo>() };
    timers::swap(info.dbnum_first, info.dbnum_second);
}

// SAFETY: see `on_server_event`.
unsafe extern "C" fn migrated(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    what: u64,
    _: *mut c_void,
) {
    // SAFETY: see `on_server_event`.
    let context = unsafe { Context::new(context) };
    match what {
        IMPORT_STARTED => timers::importing(&context, true),
        IMPORT_ABORTED | IMPORT_COMPLETED => timers::importing(&context, false),
        _ => {}
    }
}

/// Moves the timer of an account whose key was renamed or moved to another database.
fn on_key_event(context: &Context, event: &CStr, name: Name<'_>) {
    if event != c"rename_to" && event != c"move_to" {
        return;
    }
    let mut key = OpenKey::new(context, name, Mode::Read);
    if let Ok(Some(mut value)) = key.value::<AccountValue>() {
        value.arm_anew(context, context.database(), name.bytes());
    }
}
