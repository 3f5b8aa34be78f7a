//! The server's clock.

use super::call;
use scurry_ledger::Time;
use valkey_module::raw;

/// Returns the server's time: that of the running command if the server caches it.
pub(super) fn now() -> Time {
    // SAFETY: the pointers were written when the module was loaded; the functions take no arguments.
    unsafe {
        Time(match raw::RedisModule_CachedMicroseconds {
            Some(microseconds) => microseconds() / 1_000,
            None => call!(RedisModule_Milliseconds()),
        })
    }
}
