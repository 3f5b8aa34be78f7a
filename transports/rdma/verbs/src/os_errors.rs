//! Errors for calls that a device refuses. They say what was requested and, where it is known, how
//! to fix it.

use std::io;

/// Returns the error of the last call that failed with `errno`; `what` says what it was for.
pub(crate) fn last(what: &str) -> io::Error {
    named(what, io::Error::last_os_error())
}

/// Returns the error of a call that returned an error number.
pub(crate) fn numbered(what: &str, number: i32) -> io::Error {
    named(what, io::Error::from_raw_os_error(number.abs()))
}

/// Converts the result of a call that returns 0, or -1 and sets `errno`.
pub(crate) fn check(what: &str, result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(last(what)) }
}

fn named(what: &str, error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ENOMEM) {
        return no_memory(what, &error, locked_limit());
    }
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Returns an error that names the limit on pinned memory, which is nearly always the cause of
/// `ENOMEM`.
pub(crate) fn no_memory(what: &str, error: &io::Error, limit: Option<u64>) -> io::Error {
    let text = match limit {
        Some(limit) => format!(
            "{what}: {error}; this process may pin {limit} bytes: raise the limit \
             (ulimit -l, or LimitMEMLOCK= of the service)"
        ),
        None => format!("{what}: {error}"),
    };
    io::Error::new(io::ErrorKind::OutOfMemory, text)
}

/// Returns `RLIMIT_MEMLOCK` in bytes; `None` when it is unlimited or unknown.
fn locked_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` has room for the result.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
