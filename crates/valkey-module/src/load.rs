//! Loads the module: checks the server and the options first, then registers types and commands. A module that cannot
//! work is refused here, with a line in the server's log, because later the server only runs commands.

use crate::account::AccountValue;
use crate::entity::EntityValue;
use crate::options::Options;
use crate::server::{
    self, Context, FieldValue, Level, arguments, call, create_category, create_section,
    create_type, missing,
};
use crate::{command_state, commands, events, eviction, expiry, timers};
use scurry_ledger::TZDATA_VERSION;
use std::ffi::{CStr, CString, c_int};
use thiserror::Error;
use valkey_module::raw;

const NAME: &CStr = c"scurry";
/// Version of the module, as MODULE LIST shows it.
const VERSION: c_int = 1;

/// Returns the fields of the module's section in INFO.
fn info_fields() -> Vec<(&'static CStr, FieldValue)> {
    // Nodes with other tables of time zones may decide otherwise.
    let version = CString::new(TZDATA_VERSION).unwrap_or_default();
    vec![eviction::field(), (c"tzdata_version", FieldValue::Text(version))]
}

/// Reason why the module does not load.
#[derive(Debug, Error)]
enum Refusal {
    #[error("this server has no {0}: Valkey, or Redis 7.0 or newer, is needed")]
    TooOld(&'static str),
    #[error("maxmemory-policy is {0}, so accounts could be evicted: set it to noeviction")]
    Evicts(String),
    #[error("{0}")]
    Option(#[from] crate::options::OptionFault),
    #[error("the server refuses the {0}: look at what it said before")]
    Refused(&'static str),
}

/// Loads the module. The arguments are those of the server's call.
pub(crate) fn load(
    context: *mut raw::RedisModuleCtx,
    first: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: it is the server's context, and nothing is allocated before this returns.
    let status = unsafe {
        raw::Export_RedisModule_Init(
            context,
            NAME.as_ptr(),
            VERSION,
            i32::try_from(raw::REDISMODULE_APIVER_1).unwrap_or(1),
        )
    };
    if let Some(function) = missing() {
        // SAFETY: the pointer was written by the call above.
        if unsafe { raw::RedisModule_Log }.is_some() && has_allocator() {
            server::log(context, Level::Warning, &Refusal::TooOld(function).to_string());
        }
        return ERR;
    }
    if status != 0 {
        let why = "scurry is loaded already: load it once, with all of its options";
        server::log(context, Level::Warning, why);
        return ERR;
    }
    // SAFETY: the server passed both to this call.
    let (context, words) = unsafe { (Context::new(context), arguments(first, count)) };
    match begin(&context, words) {
        Ok(()) => 0,
        Err(refusal) => {
            context.log(Level::Warning, &refusal.to_string());
            ERR
        }
    }
}

const ERR: c_int = 1;

fn has_allocator() -> bool {
    // SAFETY: the pointers were written before this is called.
    let (alloc, free) = unsafe { (raw::RedisModule_Alloc, raw::RedisModule_Free) };
    alloc.is_some() && free.is_some()
}

fn begin(context: &Context, words: &[server::Name<'_>]) -> Result<(), Refusal> {
    if let Some(policy) = eviction::policy(context) {
        return Err(Refusal::Evicts(policy));
    }
    let options = Options::read(words)?;
    let migrates_slots = valkey_major(context).is_some_and(|major| major >= 9);
    command_state::init(context, options, migrates_slots);
    timers::call_when_due(expiry::due);
    if !create_type::<AccountValue>(context) || !create_type::<Box<EntityValue>>(context) {
        return Err(Refusal::Refused("data types"));
    }
    create_category(context);
    commands::register(context).map_err(Refusal::Refused)?;
    if !events::listen(context, migrates_slots) {
        return Err(Refusal::Refused("events"));
    }
    if !create_section(context, info_fields) {
        return Err(Refusal::Refused("section of INFO"));
    }
    let mut module_options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
        | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED;
    if migrates_slots {
        module_options |= raw::VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION;
    }
    // SAFETY: the context is valid.
    unsafe {
        let options = i32::try_from(module_options).unwrap_or_default();
        call!(RedisModule_SetModuleOptions(context.raw(), options));
    }
    server::test_raw_replies(context, commands::WITHOUT_KEY);
    context.log(Level::Notice, concat!("scurry ", env!("CARGO_PKG_VERSION"), " is loaded"));
    Ok(())
}

/// Returns Valkey's major version. None on Redis.
fn valkey_major(context: &Context) -> Option<u32> {
    context.info(c"server", c"valkey_version")?.split('.').next()?.parse().ok()
}
