//! Runs the binary to its end.

use std::process::{Command, Output, Stdio};

/// Output of a command, and whether it succeeded.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) all: String,
    pub(crate) well: bool,
}

/// Runs the binary for at most three minutes.
pub(crate) fn scurry(arguments: &[&str]) -> Said {
    let mut command = Command::new("timeout");
    command.args(["180", env!("CARGO_BIN_EXE_scurry")]).args(arguments).stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().expect("timeout (coreutils) runs");
    let all = [stdout, stderr].concat();
    Said { all: String::from_utf8_lossy(&all).into_owned(), well: status.success() }
}

impl Said {
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert!(self.well, "{}", self.all);
        self.all
    }

    /// Asserts that the command failed and that its output contains these texts.
    #[track_caller]
    pub(crate) fn refused(self, words: &[&str]) {
        assert!(!self.well, "{}", self.all);
        for word in words {
            assert!(self.all.contains(word), "{word:?} is not in {}", self.all);
        }
    }
}
