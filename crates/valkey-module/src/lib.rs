//! libscurry.so: the commands of Scurry as a module of Valkey and Redis. One key is one account. The server owns the
//! keys, sockets, replicas and files; this crate is the ledger's host inside it. docs/adr/0017-valkey-module.md has the
//! reasons.
#![expect(unsafe_code, reason = "the server's API is C: server/ makes it safe, as far as it can")]

mod account;
mod account_key;
mod account_totals;
mod allocator;
mod command_state;
mod commands;
mod entity;
mod events;
mod eviction;
mod expiry;
mod headed;
mod load;
mod options;
mod server;
mod timers;

use std::ffi::c_int;
use valkey_module::raw;

#[global_allocator]
static ALLOCATOR: allocator::ServerAllocator = allocator::ServerAllocator;

/// Entry point that the server calls when it loads the module. Valkey looks for this name too.
// SAFETY: no other linked symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn RedisModule_OnLoad(
    context: *mut raw::RedisModuleCtx,
    arguments: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    load::load(context, arguments, count)
}
