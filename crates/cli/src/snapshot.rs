//! `scurry snapshot`: asks a running server for a snapshot.

mod counts;
mod reply;

use crate::store::count_text;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use counts::Counts;
use reply::Reply;
use std::io::{BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// How often the server is asked how far it is.
const POLL_EVERY: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "Examples:
  scurry snapshot
  SCURRY_PASSWORD=secret scurry snapshot --address 10.0.0.7:6389 --user operator

Of a server that speaks TLS alone:
  redis-cli --tls -p 6389 SCUR.SNAPSHOT";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Snapshot {
    /// The server's main port
    #[arg(long, value_name = "HOST:PORT", default_value = scurry_server::DEFAULT_LISTEN)]
    address: String,

    /// User; without one the password is that of the default user
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,

    /// Password. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_PASSWORD", hide_env_values = true)]
    password: Option<String>,

    /// How long to wait for the snapshot, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

impl Snapshot {
    pub(crate) fn run(self) -> Result<()> {
        let stream = self.connect()?;
        stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
        let mut server = BufReader::new(stream);
        if let Some(password) = &self.password {
            let words = ["AUTH"].into_iter().chain(self.user.as_deref()).chain([&**password]);
            if let Reply::Error(text) = self.ask(&mut server, &words.collect::<Vec<_>>())? {
                bail!("{} refuses the password: {text}", self.address);
            }
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
    fn begin(&self, server: &mut BufReader<TcpStream>) -> Result<Counts> {
        loop {
            let before = self.wait(server, |now| !now.is_running)?;
            match self.ask(server, &["SCUR.SNAPSHOT"])? {
                // A thread has begun one by itself meanwhile.
                Reply::Error(text) if text.contains("being written already") => {}
                Reply::Error(text) => bail!("{} writes no snapshot: {text}", self.address),
                _ => return Ok(before),
            }
        }
    }

    /// Waits until the server's counts are so.
    fn wait(
        &self,
        server: &mut BufReader<TcpStream>,
        is_enough: impl Fn(&Counts) -> bool,
    ) -> Result<Counts> {
        let mut waited = Duration::ZERO;
        loop {
            let counts = match self.ask(server, &["INFO"])? {
                Reply::Error(text) if text.starts_with("NOAUTH") => bail!(
                    "{} wants a password: set SCURRY_PASSWORD (and --user for a user of the \
                     settings file)",
                    self.address
                ),
                Reply::Error(text) => bail!("{} does not say how far it is: {text}", self.address),
                reply => Counts::read(&reply).with_context(|| {
                    format!("{} is no scurry that writes snapshots", self.address)
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

    fn connect(&self) -> Result<TcpStream> {
        let wrong = || format!("{:?} is no address: write HOST:PORT", self.address);
        let addresses = self.address.to_socket_addrs().with_context(wrong)?;
        let mut refusal = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_PATIENCE) {
                Ok(stream) => return Ok(stream),
                Err(error) => refusal = Some(error),
            }
        }
        let cure = || format!("no server answers at {}: is it running there?", self.address);
        match refusal {
            Some(error) => Err(error).with_context(cure),
            None => bail!(wrong()),
        }
    }

    fn ask(&self, server: &mut BufReader<TcpStream>, words: &[&str]) -> Result<Reply> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        let sent = server.get_mut().write_all(request.as_bytes());
        sent.and_then(|()| Reply::read(server)).with_context(|| {
            format!(
                "{} did not answer: a server that speaks TLS alone is asked with redis-cli --tls \
                 SCUR.SNAPSHOT",
                self.address
            )
        })
    }
}
