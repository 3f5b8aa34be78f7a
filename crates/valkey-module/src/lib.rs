//! libscurry.so: the commands of Scurry as a module of Valkey and Redis. One key is one account;
//! the server owns the keys, the sockets, the replicas and the files, and this crate is the
//! ledger's host among them. docs/adr/0017-valkey-module.md says why it is as it is.
#![expect(unsafe_code, reason = "the server's API is C: server/ makes it safe, as far as it can")]

mod account;
mod account_key;
mod account_totals;
mod allocator;
mod commands;
mod desk;
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

/// The entry point that the server calls when it loads the module. Valkey looks for this name too.
// SAFETY: no other symbol of this name is linked in.
#[unsafe(no_mangle)]
pub extern "C" fn RedisModule_OnLoad(
    context: *mut raw::RedisModuleCtx,
    arguments: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    load::load(context, arguments, count)
}
