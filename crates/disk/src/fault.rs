//! Errors that say what was done to which file. The system's own say neither.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Content of an `io::Error` of this crate.
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

/// For `map_err`: "cannot OPERATION PATH: what the system says", of the same kind.
pub(crate) fn cannot(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |source| io::Error::new(source.kind(), Fault { operation, path: path.to_owned(), source })
}

/// The system's number of an error, also of one whose text was extended by this crate;
/// `raw_os_error` knows only those that were not.
pub fn os_error(error: &io::Error) -> Option<i32> {
    let extended = || error.get_ref()?.downcast_ref::<Fault>()?.source.raw_os_error();
    error.raw_os_error().or_else(extended)
}
