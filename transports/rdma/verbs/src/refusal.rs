//! What a device refuses, as errors that say what was asked for and, where it is known, the cure.

use std::io;

/// The error of the last call that failed with `errno`, and what it was for.
pub(crate) fn last(what: &str) -> io::Error {
    named(what, io::Error::last_os_error())
}

/// The error of a call that returned its number.
pub(crate) fn numbered(what: &str, number: i32) -> io::Error {
    named(what, io::Error::from_raw_os_error(number.abs()))
}

/// The result of a call that gives 0, or -1 and `errno`.
pub(crate) fn check(what: &str, result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(last(what)) }
}

fn named(what: &str, error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ENOMEM) {
        return no_memory(what, &error, locked_limit());
    }
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Too little memory nearly always means that too little of it may be pinned.
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

/// `RLIMIT_MEMLOCK`, bytes; nothing when there is no limit.
fn locked_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: there is room for the answer.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
