//! I/O errors that name the operation and the file, which the system's own errors do not.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Payload of an `io::Error` of this crate.
#[derive(Debug)]
struct Fault {
    operation: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.operation, self.path.display(), self.source)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Returns a mapper for `map_err`: "cannot OPERATION PATH: system message", of the same kind.
pub(crate) fn cannot(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |source| io::Error::new(source.kind(), Fault { operation, path: path.to_owned(), source })
}

/// Returns the system's error number, also of an error that this crate has extended; `raw_os_error` returns None for
/// those.
pub fn os_error(error: &io::Error) -> Option<i32> {
    let extended = || error.get_ref()?.downcast_ref::<Fault>()?.source.raw_os_error();
    error.raw_os_error().or_else(extended)
}
