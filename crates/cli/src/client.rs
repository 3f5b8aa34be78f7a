//! `scurry cli`: sends commands to a server, over TCP or over RDMA, and shows the replies.

mod show;
mod words;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use scurry_cluster_client::redis::{self, Parser, Value};
use scurry_rdma::Stream as RdmaStream;
use scurry_server::RdmaConnection;
use show::show;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;
use words::split;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "Examples:
  scurry cli SCUR.GET alice
  scurry cli -3 --address 10.0.0.7:6389 SCUR.AUDIT alice
  echo 'SCUR.TOTALS' | SCURRY_PASSWORD=secret scurry cli
  scurry cli --rdma --address 192.168.7.1:6390 PING

Without words it reads a command from each line of its input. A line is split at blanks; \"...\" keeps
them and knows \\n, \\r, \\t, \\\", \\\\ and \\xHH, '...' keeps everything.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// The server
    #[arg(long, value_name = "HOST:PORT", default_value = scurry_server::DEFAULT_LISTEN)]
    address: String,

    /// Speak RDMA, to an address given with --rdma-listen or to a Valkey with its RDMA module
    #[arg(long)]
    rdma: bool,

    /// Speak RESP3
    #[arg(short = '3')]
    resp3: bool,

    /// User; without one the password is that of the default user
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,

    /// Password. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_PASSWORD", hide_env_values = true)]
    password: Option<String>,

    /// How long to wait for a reply, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,

    /// The command
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// What a command is sent on.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl Cli {
    pub(crate) fn run(self) -> Result<()> {
        let mut server = self.connect()?;
        if let Some(password) = &self.password {
            let words = ["AUTH"].into_iter().chain(self.user.as_deref()).chain([&**password]);
            self.prepare(&mut *server, words, "refuses the password")?;
        }
        if self.resp3 {
            self.prepare(&mut *server, ["HELLO", "3"].into_iter(), "does not speak RESP3")?;
        }
        let is_well = if self.words.is_empty() {
            self.lines(&mut *server)?
        } else {
            self.command(&mut *server, self.words.iter().map(String::as_bytes))?
        };
        ensure!(is_well, "the server answered with an error");
        Ok(())
    }

    /// Each line of the input is a command. True when none was answered with an error.
    fn lines(&self, server: &mut dyn Stream) -> Result<bool> {
        let stdin = io::stdin();
        let is_asking = stdin.is_terminal();
        let mut is_well = true;
        let mut line = String::new();
        loop {
            if is_asking {
                print!("{}> ", self.address);
                io::stdout().flush()?;
            }
            line.clear();
            if stdin.lock().read_line(&mut line).context("reading a command")? == 0 {
                // Who types sees each error when it comes.
                return Ok(is_well || is_asking);
            }
            match split(&line) {
                Ok(words) if words.is_empty() => {}
                Ok(words) => is_well &= self.command(server, words.iter().map(Vec::as_slice))?,
                Err(error) if is_asking => println!("{error}"),
                Err(error) => return Err(error).with_context(|| format!("in {:?}", line.trim())),
            }
        }
    }

    /// Sends one command and shows its reply. False when that is an error.
    fn command<'a>(
        &self,
        server: &mut dyn Stream,
        words: impl Iterator<Item = &'a [u8]>,
    ) -> Result<bool> {
        let reply = self.ask(server, words)?;
        print!("{}", show(&reply));
        Ok(!matches!(reply, Value::ServerError(_)))
    }

    /// Sends a command that has to go well before those of the user.
    fn prepare<'a>(
        &self,
        server: &mut dyn Stream,
        words: impl Iterator<Item = &'a str>,
        trouble: &str,
    ) -> Result<()> {
        let reply = self.ask(server, words.map(str::as_bytes))?;
        if let Value::ServerError(_) = reply {
            bail!("{} {trouble}: {}", self.address, show(&reply).trim_end());
        }
        Ok(())
    }

    fn ask<'a>(
        &self,
        server: &mut dyn Stream,
        words: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Value> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word);
        }
        let sent = server.write_all(&command.get_packed_command()).and_then(|()| server.flush());
        sent.with_context(|| format!("sending to {}", self.address))?;
        Parser::new().parse_value(server).with_context(|| {
            format!("{} gave no reply: is it a server that speaks RESP there?", self.address)
        })
    }

    fn connect(&self) -> Result<Box<dyn Stream>> {
        let wrong = || format!("{:?} is no address: write HOST:PORT", self.address);
        let addresses: Vec<SocketAddr> =
            self.address.to_socket_addrs().with_context(wrong)?.collect();
        let mut refusal = None;
        for address in addresses {
            match self.open(address) {
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

    fn open(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        if self.rdma {
            let settings = RdmaConnection::default();
            let mut stream = RdmaStream::connect(address, settings, CONNECT_PATIENCE)?;
            stream.set_timeout(Some(Duration::from_secs(self.timeout)));
            return Ok(Box::new(stream));
        }
        let stream = TcpStream::connect_timeout(&address, CONNECT_PATIENCE)?;
        stream.set_read_timeout(Some(Duration::from_secs(self.timeout)))?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}
