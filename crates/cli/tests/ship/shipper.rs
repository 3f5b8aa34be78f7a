//! `scurry ship` as a process.

use crate::wait::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::NamedTempFile;

/// A shipper, killed when dropped.
pub(crate) struct Shipper {
    child: Child,
    log: NamedTempFile,
}

impl Shipper {
    /// Starts a shipper with these words after `scurry ship`.
    pub(crate) fn start(words: &[String]) -> Shipper {
        let log = NamedTempFile::new().expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.arg("ship").args(words).stdin(Stdio::null()).stdout(Stdio::null());
        for name in ["SCURRY_PASSWORD", "SCURRY_KAFKA_PASSWORD", "SCURRY_AMQP_URL"] {
            command.env_remove(name);
        }
        command.stderr(File::create(log.path()).expect("a file"));
        Shipper { child: command.spawn().expect("the binary starts"), log }
    }

    /// Ships what there is, and returns what it said, and whether it succeeded.
    pub(crate) fn once(words: &[String]) -> (bool, String) {
        let mut shipper = Shipper::start(&[words, &["--once".to_owned()]].concat());
        let status = shipper.ended();
        (status.success(), shipper.log())
    }

    /// Returns everything that it said.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).expect("text")
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the shipper ends", || {
            status = self.child.try_wait().expect("a process");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// Asks it to end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.ended()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let process = i32::try_from(self.child.id()).expect("an id of a process");
        kill(Pid::from_raw(process), signal).expect("it runs");
    }

    /// Reports whether it runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a process").is_none()
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
