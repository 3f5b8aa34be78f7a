//! A server for one load: a process of this program on this machine, with its data in a temporary directory.

use crate::machine::{self, InterruptibleWait, Process, ScratchDirectory, free_ports};
use crate::server_address::ServerAddress;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const CONNECT_PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct OwnServer {
    process: Process,
    address: ServerAddress,
    home: ScratchDirectory,
}

impl OwnServer {
    pub(super) fn start(
        dir: &Path,
        durability: &str,
        patience: &InterruptibleWait,
    ) -> Result<OwnServer> {
        let home = ScratchDirectory::make(dir, "scurry-bench")?;
        let address = format!("127.0.0.1:{}", free_ports(None, 1)?);
        let program = std::env::current_exe().context("this program's own place is not known")?;
        let mut command = Command::new(program);
        command.args(["serve", "--durability", durability, "--listen", &address]);
        if durability != "none" {
            command.args(["--dir", "store"]);
        }
        command.env_remove("SCURRY_REQUIREPASS");
        let process = machine::start(&mut command, home.path())?;
        let server = OwnServer { process, address: ServerAddress::plain(&address), home };
        let serves = patience.until(|| {
            ensure!(server.process.is_alive(), "the server has ended: {}", server.log_tail());
            Ok(server.address.connect(CONNECT_PATIENCE).is_ok())
        })?;
        ensure!(serves, "the server does not answer: {}", server.log_tail());
        Ok(server)
    }

    pub(super) fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Returns the end of the server's log.
    pub(super) fn log_tail(&self) -> String {
        format!("the server's log ends with: {}", machine::log_tail(self.home.path()))
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Err(error) = machine::stop([self.process].into_iter()) {
            eprintln!("scurry: {error:#}");
        }
    }
}
