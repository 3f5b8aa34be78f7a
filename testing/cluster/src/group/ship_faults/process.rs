//! A process beside the group, in its own network if there are any: a shipper, or the broker that it ships to. The kernel
//! kills it when this program ends.

use crate::namespaces::Namespace;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A process that is started again and again with the same words.
pub(super) struct Process {
    words: Vec<String>,
    log: PathBuf,
    pub(super) network: Option<Namespace>,
    child: Option<Child>,
    /// How often it was started.
    pub(super) starts: u64,
}

impl Process {
    pub(super) fn new(words: Vec<String>, log: PathBuf, network: Option<Namespace>) -> Process {
        Process { words, log, network, child: None, starts: 0 }
    }

    pub(super) fn start(&mut self) -> Result<()> {
        self.child = Some(self.spawn(&[])?);
        self.starts += 1;
        Ok(())
    }

    /// Runs it with further words, to its end.
    pub(super) fn run(&self, more: &[&str]) -> Result<()> {
        let status: ExitStatus = self.spawn(more)?.wait()?;
        if !status.success() {
            bail!("`{} {}` ends, {status}: {}", self.words.join(" "), more.join(" "), self.tail());
        }
        Ok(())
    }

    fn spawn(&self, more: &[&str]) -> Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let prefix = self.network.as_ref().map(|own| own.prefix().to_vec()).unwrap_or_default();
        let program = ["setpriv", "--pdeathsig", "KILL"].map(str::to_owned);
        let mut all = prefix.into_iter().chain(program);
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all).args(&self.words).args(more);
        command.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_TO_PASSWORD");
        // Ctrl-C is for the test, which stops its processes itself.
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        command.spawn().context("setpriv (util-linux) cannot be started")
    }

    /// Sends SIGKILL, and waits for the end.
    pub(super) fn kill(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Fails if it has ended by itself.
    pub(super) fn check(&mut self) -> Result<()> {
        let Some(child) = &mut self.child else { return Ok(()) };
        match child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                bail!("`{}` has ended by itself, {status}: {}", self.words.join(" "), self.tail())
            }
        }
    }

    /// Returns everything that it has said.
    pub(super) fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Returns the last lines that it has said.
    pub(super) fn tail(&self) -> String {
        let said = self.said();
        let lines: Vec<&str> = said.lines().rev().take(12).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.kill();
    }
}
