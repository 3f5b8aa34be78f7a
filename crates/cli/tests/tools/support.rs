//! Runs the binary.

use std::process::{Command, Output, Stdio};

/// Output of a command, and its exit code.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

pub(crate) fn scurry<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(arguments).env_remove("SCURRY_PASSWORD").stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().expect("the binary runs");
    Said {
        out: String::from_utf8(stdout).expect("text"),
        err: String::from_utf8(stderr).expect("text"),
        code: status.code().expect("no signal"),
    }
}

impl Said {
    /// Asserts that the command succeeded, and returns its output.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert_eq!(self.code, 0, "{self:#?}");
        self.out
    }

    /// Asserts that the command failed and that its output contains these texts.
    #[track_caller]
    pub(crate) fn refused(self, words: &[&str]) -> Said {
        assert_eq!(self.code, 1, "{self:#?}");
        let all = format!("{}{}", self.out, self.err);
        for word in words {
            assert!(all.contains(word), "{word:?} is not in {all}");
        }
        self
    }
}
