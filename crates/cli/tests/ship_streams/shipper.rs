//! `scurry ship` in a process of its own.

use crate::store::Store;
use std::process::{Child, Command, Output, Stdio};

/// A running shipper, killed when dropped.
pub(crate) struct Shipper {
    child: Option<Child>,
    arguments: Vec<String>,
}

fn command(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command
        .arg("ship")
        .args(arguments)
        .env_remove("SCURRY_PASSWORD")
        .env_remove("SCURRY_TO_PASSWORD")
        .env_remove("SCURRY_WEBHOOK_SECRET")
        .env_remove("SCURRY_WEBHOOK_HEADERS");
    command.stdin(Stdio::null());
    command
}

fn arguments(store: &Store, to: &[&str]) -> Vec<String> {
    let from = ["--from".to_owned(), store.address()];
    to.iter().map(|word| (*word).to_owned()).chain(from).collect()
}

impl Shipper {
    pub(crate) fn start(store: &Store, to: &[&str]) -> Shipper {
        let mut shipper = Shipper { child: None, arguments: arguments(store, to) };
        shipper.begin();
        shipper
    }

    /// Starts it again.
    pub(crate) fn begin(&mut self) {
        // A small interval makes many flushes, so that a kill is often within one.
        let child = command(&self.arguments)
            .args(["--flush-ms", "5", "--log", "off"])
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("the binary starts"));
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            assert_eq!(
                child.try_wait().expect("its state"),
                None,
                "the shipper has ended by itself"
            );
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already; in both cases it is gone afterwards.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ships what there is, and returns what the shipper said.
pub(crate) fn once(store: &Store, to: &[&str]) -> Output {
    let output = command(&arguments(store, to)).arg("--once").stderr(Stdio::piped()).output();
    output.expect("the binary starts")
}
