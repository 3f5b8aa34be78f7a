//! What the server tells besides commands: databases that are emptied or change places, keys that
//! get another name, roles that change, files that were read, settings that change.

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
/// Valkey 9.0 and newer.
const SLOT_MIGRATION: u64 = 19;

/// Numbers of what happens within events.
const FLUSH_ENDS: u64 = 1;
const IMPORT_STARTED: u64 = 0;
const IMPORT_ABORTED: u64 = 2;
const IMPORT_COMPLETED: u64 = 4;

/// Subscribes to all of it. Says whether the server tells of slots that are imported; none when it
/// tells not even the rest.
pub(crate) fn listen(context: &Context, migrates_slots: bool) -> bool {
    let needed = subscribe(context, ROLE, went_on)
        && subscribe(context, LOADING, went_on)
        && subscribe(context, FLUSH, flushed)
        && subscribe(context, SWAP, swapped)
        && subscribe(context, CONFIG, configured)
        && subscribe_to_keys(context, heard_of_key);
    needed && (!migrates_slots || subscribe(context, SLOT_MIGRATION, migrated))
}

// SAFETY: called by the server alone, with a valid context; so are those below, with what the
// server promises for their event.
unsafe extern "C" fn went_on(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    // SAFETY: see above.
    timers::wake(&unsafe { Context::new(context) });
}

// SAFETY: see `went_on`.
unsafe extern "C" fn configured(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    // SAFETY: see `went_on`.
    eviction::look(&unsafe { Context::new(context) });
}

// SAFETY: see `went_on`.
unsafe extern "C" fn flushed(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    what: u64,
    data: *mut c_void,
) {
    // SAFETY: the event comes with this.
    let info = unsafe { &*data.cast::<raw::RedisModuleFlushInfo>() };
    if what == FLUSH_ENDS {
        timers::clear((info.dbnum >= 0).then_some(info.dbnum));
    }
}

// SAFETY: see `went_on`.
unsafe extern "C" fn swapped(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    data: *mut c_void,
) {
    // SAFETY: the event comes with this.
    let info = unsafe { &*data.cast::<raw::RedisModuleSwapDbInfo>() };
    timers::swap(info.dbnum_first, info.dbnum_second);
}

// SAFETY: see `went_on`.
unsafe extern "C" fn migrated(
    context: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    what: u64,
    _: *mut c_void,
) {
    // SAFETY: see `went_on`.
    let context = unsafe { Context::new(context) };
    match what {
        IMPORT_STARTED => timers::importing(&context, true),
        IMPORT_ABORTED | IMPORT_COMPLETED => timers::importing(&context, false),
        _ => {}
    }
}

/// An account that got another name, or another database, takes its timer along.
fn heard_of_key(context: &Context, event: &CStr, name: Name<'_>) {
    if event != c"rename_to" && event != c"move_to" {
        return;
    }
    let mut key = OpenKey::new(context, name, Mode::Read);
    if let Ok(Some(mut value)) = key.value::<AccountValue>() {
        value.arm_anew(context, context.database(), name.bytes());
    }
}
