//! `scurry snapshot`: asks a running server for a snapshot.

mod counts;
mod reply;

use crate::reach::{Reach, Stream};
use crate::store::count_text;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use counts::Counts;
use reply::Reply;
use std::io::{BufReader, Write};
use std::thread;
use std::time::Duration;

const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// How often the server is asked how far it is.
const POLL_EVERY: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "Examples:
  scurry snapshot
  SCURRY_PASSWORD=secret scurry snapshot --address 10.0.0.7:6389 --user operator
  scurry snapshot -h store.example --tls --cacert ca.pem";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct Snapshot {
    // The server's main port, and who asks.
    #[command(flatten)]
    reach: Reach,

    /// How long to wait for the snapshot, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

impl Snapshot {
    pub(crate) fn run(self) -> Result<()> {
        let mut server = BufReader::new(self.reach.connect(ANSWER_PATIENCE)?);
        if let Some(words) = self.reach.auth()
            && let Reply::Error(text) = self.ask(&mut server, &words)?
        {
            bail!("{} refuses the password: {text}", self.reach.address());
        }
        let before = self.begin(&mut server)?;
        let after = self.wait(&mut server, |now| now.ended() >= before.ended() + before.threads)?;
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

    /// Asks until one is begun; the counts before that.
    fn begin(&self, server: &mut BufReader<Box<dyn Stream>>) -> Result<Counts> {
        loop {
            let before = self.wait(server, |now| !now.is_running)?;
            match self.ask(server, &["SCUR.SNAPSHOT"])? {
                // A thread has begun one by itself meanwhile.
                Reply::Error(text) if text.contains("being written already") => {}
                Reply::Error(text) => bail!("{} writes no snapshot: {text}", self.reach.address()),
                _ => return Ok(before),
            }
        }
    }

    /// Waits until the server's counts are so.
    fn wait(
        &self,
        server: &mut BufReader<Box<dyn Stream>>,
        is_enough: impl Fn(&Counts) -> bool,
    ) -> Result<Counts> {
        let mut waited = Duration::ZERO;
        loop {
            let counts = match self.ask(server, &["INFO"])? {
                Reply::Error(text) if text.starts_with("NOAUTH") => bail!(
                    "{} wants a password: set SCURRY_PASSWORD (and --user for a user of the \
                     settings file)",
                    self.reach.address()
                ),
                Reply::Error(text) => {
                    bail!("{} does not say how far it is: {text}", self.reach.address())
                }
                reply => Counts::read(&reply).with_context(|| {
                    format!("{} is no scurry that writes snapshots", self.reach.address())
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

    fn ask(&self, server: &mut BufReader<Box<dyn Stream>>, words: &[&str]) -> Result<Reply> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        let stream = server.get_mut();
        let sent = stream.write_all(request.as_bytes()).and_then(|()| stream.flush());
        sent.and_then(|()| Reply::read(server)).with_context(|| {
            format!(
                "{} did not answer: is it TLS alone that it speaks (--tls)?",
                self.reach.address()
            )
        })
    }
}
