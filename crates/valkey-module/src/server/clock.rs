//! What time it is.

use super::call;
use scurry_ledger::Time;
use valkey_module::raw;

/// The server's clock: that of the command that runs, where the server keeps it.
pub(super) fn now() -> Time {
    // SAFETY: written once, when the module was loaded; neither takes anything.
    unsafe {
        Time(match raw::RedisModule_CachedMicroseconds {
            Some(microseconds) => microseconds() / 1_000,
            None => call!(RedisModule_Milliseconds()),
        })
    }
}
