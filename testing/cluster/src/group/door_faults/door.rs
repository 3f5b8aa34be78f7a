//! One door before the group: a child process, which the kernel kills when this program ends.

use crate::namespaces::Namespace;
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use scurry_crash::Binary;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// How doors of a protocol are started.
#[derive(Clone, Copy)]
pub(super) struct DoorKind {
    /// Command of `scurry`.
    pub(super) command: &'static str,
    pub(super) options: &'static [&'static str],
    /// Returns the settings of the door with this number.
    pub(super) settings: fn(usize) -> String,
}

/// A door.
pub(super) struct Door {
    kind: DoorKind,
    number: usize,
    /// `HOST:PORT`.
    pub(super) address: String,
    home: PathBuf,
    pub(super) network: Option<Namespace>,
    store: String,
    child: Option<Child>,
}

impl Door {
    pub(super) fn new(
        (kind, number): (DoorKind, usize),
        address: String,
        home: PathBuf,
        network: Option<Namespace>,
        store: &[String],
    ) -> Door {
        Door { kind, number, address, home, network, store: store.join(","), child: None }
    }

    pub(super) fn start(&mut self, binary: &Binary) -> Result<()> {
        fs::create_dir_all(&self.home)?;
        let settings = self.home.join("settings.toml");
        let text = (self.kind.settings)(self.number);
        fs::write(&settings, text)?;
        let log = File::options().create(true).append(true).open(self.home.join("log"))?;
        let prefix = self.network.as_ref().map(|own| own.prefix().to_vec()).unwrap_or_default();
        let program = ["setpriv", "--pdeathsig", "KILL"].map(str::to_owned);
        let mut all = prefix.into_iter().chain(program);
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all).arg(binary.path());
        command.args([self.kind.command, "--listen", &self.address, "--store", &self.store]);
        command
            .args(self.kind.options)
            .arg("--config")
            .arg(settings)
            .env_remove("SCURRY_PASSWORD")
            .stdin(Stdio::null());
        // Ctrl-C is for the test, which stops its doors itself.
        command.stdout(Stdio::null()).stderr(log).process_group(0);
        self.child = Some(command.spawn().context("setpriv (util-linux) cannot be started")?);
        Ok(())
    }

    /// Sends a signal, and waits for the end.
    pub(super) fn end(&mut self, signal: Signal) -> Result<()> {
        self.signal(signal)?;
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        Ok(())
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().context("the door does not run")?;
        kill(Pid::from_raw(i32::try_from(child.id())?), signal)?;
        Ok(())
    }

    /// Fails if it has ended by itself.
    pub(super) fn check(&mut self) -> Result<()> {
        let Some(child) = &mut self.child else { return Ok(()) };
        let log = || fs::read_to_string(self.home.join("log")).unwrap_or_default();
        match child.try_wait()? {
            None => Ok(()),
            Some(status) => anyhow::bail!("a door has ended by itself, {status}: {}", log()),
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
