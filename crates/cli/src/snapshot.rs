//! `scurry snapshot`: asks a running server for a snapshot.

use crate::server_address::{ServerAddress, Stream, ask, error_text, refused_password};
use crate::store::count_text;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use scurry_cluster_client::form::field;
use scurry_cluster_client::redis::Value;
use std::io;
use std::thread;
use std::time::Duration;

const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// Interval at which the server is polled.
const POLL_EVERY: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "Examples:
  scurry snapshot
  SCURRY_PASSWORD=secret scurry snapshot --address 10.0.0.7:6389 --user operator
  scurry snapshot -h store.example --tls --cacert ca.pem";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct Snapshot {
    // The server's main port, and the user to log in as.
    #[command(flatten)]
    server: ServerAddress,

    /// How long to wait for the snapshot, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

impl Snapshot {
    pub(crate) fn run(self) -> Result<()> {
        let patience = ANSWER_PATIENCE.min(Duration::from_secs(self.timeout));
        let mut server = self.server.connect(patience)?;
        if let Some(words) = self.server.auth()
            && let Value::ServerError(error) = self.ask(&mut *server, &words)?
        {
            bail!("{} refuses the password: {}", self.server.address(), refused_password(&error));
        }
        let before = self.begin(&mut *server)?;
        let after =
            self.wait(&mut *server, |now| now.ended() >= before.ended() + before.threads)?;
        ensure!(
            after.failed == before.failed,
            "{} of {} threads wrote no snapshot: the server's log says why. What was committed is \
             not touched by that",
            after.failed - before.failed,
            after.threads
        );
        println!("snapshot written by {}", count_text(after.threads, "thread"));
        Ok(())
    }

    /// Requests a snapshot, repeatedly if necessary. Returns the counts from before it began.
    fn begin(&self, server: &mut dyn Stream) -> Result<Counts> {
        loop {
            let before = self.wait(server, |now| !now.is_running)?;
            let Value::ServerError(error) = self.ask(server, &["SCUR.SNAPSHOT"])? else {
                return Ok(before);
            };
            // Otherwise a thread has just started another snapshot: wait for its end and ask again.
            let text = error_text(&error);
            let is_begun = text.contains("being written already");
            ensure!(is_begun, "{} writes no snapshot: {text}", self.server.address());
        }
    }

    /// Polls until `is_enough` accepts the server's counts.
    fn wait(&self, server: &mut dyn Stream, is_enough: impl Fn(&Counts) -> bool) -> Result<Counts> {
        let mut waited = Duration::ZERO;
        loop {
            let counts = match self.ask(server, &["INFO"])? {
                Value::ServerError(error) if error.code() == "NOAUTH" => bail!(
                    "{} wants a password: set SCURRY_PASSWORD (and --user for a user of the \
                     settings file)",
                    self.server.address()
                ),
                Value::ServerError(error) => bail!(
                    "{} does not say how far it is: {}",
                    self.server.address(),
                    error_text(&error)
                ),
                reply => Counts::read(&reply).with_context(|| {
                    format!("{} is no scurry that writes snapshots", self.server.address())
                })?,
            };
            if is_enough(&counts) {
                return Ok(counts);
            }
            ensure!(
                waited.as_secs() < self.timeout,
                "the snapshot was not written within {} s; the server goes on with it (INFO \
                 persistence)",
                self.timeout
            );
            thread::sleep(POLL_EVERY); // tidy: allow (INFO has no event to wait for)
            waited += POLL_EVERY;
        }
    }

    fn ask(&self, server: &mut dyn Stream, words: &[&str]) -> Result<Value> {
        let reply = ask(server, words.iter().map(|word| word.as_bytes()));
        let reply = reply.map_err(|error| match error.kind() {
            kind @ io::ErrorKind::InvalidData => io::Error::new(kind, "what answers is no scurry"),
            _ => error,
        });
        reply.map_err(|error| {
            let cure = match error.kind() {
                io::ErrorKind::TimedOut => "",
                _ => ": is it TLS alone that it speaks (--tls)?",
            };
            let said = format!("{} did not answer{cure}", self.server.address());
            anyhow::Error::new(error).context(said)
        })
    }
}

/// Counts of snapshots from INFO, summed over all threads of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    threads: u64,
    is_running: bool,
    written: u64,
    failed: u64,
}

impl Counts {
    /// Returns the number of snapshots that have ended, written or failed.
    fn ended(&self) -> u64 {
        self.written + self.failed
    }

    /// Reads the counts from INFO. None if a line is missing.
    fn read(info: &Value) -> Option<Counts> {
        let Value::BulkString(text) = info else { return None };
        let text = str::from_utf8(text).ok()?;
        let number = |name: &str| field(text, name)?.parse::<u64>().ok();
        Some(Counts {
            threads: number("threads")?,
            is_running: number("snapshot_in_progress")? != 0,
            written: number("snapshots_written")?,
            failed: number("snapshots_failed")?,
        })
    }
}
