//! A `scurry serve` process that will be killed.

use crate::binary::Binary;
use crate::plan::ServerStart;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Bound of polls until a server listens.
const START_TRIES_MAX: u32 = 30_000;

/// A running server, killed when dropped.
pub(crate) struct Server {
    child: Child,
    log: std::path::PathBuf,
}

/// Bounds of accounts. Nothing is forgotten and no session expires during a run, so that the expected state of an
/// account does not depend on the time. The bounds are large enough for everything that is remembered, however fast the
/// server is.
pub const SETTINGS: &str = "[limits]\ntombstone_ms = 86400000\n\
    transaction_ms = 86400000\nvalidity_ms_default = 43200000\n\
    session_ids_max = 16384\ntransactions_max = 16384\n";

impl Server {
    /// Starts a server on the store in `home`, without waiting until it listens.
    pub(crate) fn spawn(binary: &Binary, home: &Path, start: ServerStart) -> Result<Server> {
        let (settings, log) = (home.join("settings.toml"), home.join("stderr"));
        std::fs::write(&settings, SETTINGS)?;
        let mut command = Command::new(&binary.0);
        command.args(["serve", "--listen", "127.0.0.1:0", "--snapshot-log", "1mb"]);
        command.args(["--durability", start.durability.word()]);
        command.arg("--threads").arg(start.threads.to_string());
        command.arg("--dir").arg(home.join("store")).arg("--config").arg(settings);
        command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null()).stdout(Stdio::null());
        // A file and not a pipe, which would block the server when it is full.
        command.stderr(File::create(&log)?);
        let child = command.spawn().with_context(|| format!("{}", binary.0.display()))?;
        Ok(Server { child, log })
    }

    /// Waits until the server listens and returns its port.
    pub(crate) fn port(&mut self) -> Result<u16> {
        for _ in 0..START_TRIES_MAX {
            let said = self.said();
            let line = said
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'))
                .find_map(|line| line.trim_end().strip_prefix("listening on 127.0.0.1:"));
            if let Some(port) = line {
                return port.parse().context("not a port");
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server has ended with {status}: {said}");
            }
            std::thread::sleep(Duration::from_millis(1)); // tidy: allow (its log is a file)
        }
        bail!("the server does not listen: {}", self.said())
    }

    /// Returns its whole log.
    pub(crate) fn said(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends SIGKILL and waits for the end of the process. Data that it had not written is lost.
    pub(crate) fn kill(mut self) -> Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the server has ended by itself with {status}: {}", self.said());
        }
        self.child.kill()?;
        Ok(self.child.wait()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Mode;
    use crate::wire::{Wire, words};

    /// Sends requests one after another and checks each reply.
    fn talk(server: &mut Server, said: &[(&str, &str)]) {
        let mut wire = Wire::connect(server.port().unwrap()).unwrap();
        for (request, reply) in said {
            assert_eq!(wire.ask(&words(request)).unwrap().to_string(), *reply, "{request}");
        }
    }

    /// Smoke test of the quick gate: one session, and a restart that must know all of it.
    #[test]
    fn a_call_is_charged_once_whatever_becomes_of_the_server() {
        let (binary, home) = (Binary::find().unwrap(), tempfile::tempdir().unwrap());
        let start = ServerStart { durability: Mode::Fsync, threads: 2 };
        let last = "SCUR.TERMINATE alice call 2 ITEM 1 cent USED 80";
        let mut server = Server::spawn(&binary, home.path(), start).unwrap();
        talk(
            &mut server,
            &[
                ("SCUR.CREATE alice BUCKET main cent 1000", "[OK, 1]"),
                (
                    "SCUR.RESERVE alice call 0 ITEM 1 cent REQUESTED 200",
                    "[OK, 0, 1, [[1, OK, 200, 0, 0]]]",
                ),
                (
                    "SCUR.UPDATE alice call 1 ITEM 1 cent USED 150 REQUESTED 200",
                    "[OK, 0, 2, [[1, OK, 200, 0, 0]]]",
                ),
                (last, "[OK, 0, 0, [[1, OK, 0, 0, 0]]]"),
            ],
        );
        server.kill().unwrap();
        let mut again = Server::spawn(&binary, home.path(), start).unwrap();
        let account = "{status: active, version: 4, identities: [], \
                       buckets: [[main, cent, 770, 0, 0, 0, 0, nil]], counters: [], limits: [], sessions: []}";
        let replayed = "[OK, 1, 0, [[1, OK, 0, 0, 0]]]";
        talk(&mut again, &[("SCUR.GET alice", account), (last, replayed)]);
    }
}
