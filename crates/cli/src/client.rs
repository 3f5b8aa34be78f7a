//! `scurry cli`: sends commands to a server over TCP, TLS or RDMA, and prints the replies.

mod connection;
mod dialogue;
mod grammar;
mod help;
mod helper;
mod history;
mod prompt;
mod shape;
mod show;
mod transaction;
mod units;
mod words;

use crate::rdma;
use crate::server_address::{ServerAddress, Stream, refused_password};
use crate::terminal_escape::escaped;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use dialogue::{Dialogue, begins_to_watch};
use prompt::Shell;
use scurry_cluster_client::redis::Value;
use shape::Shape;
use show::{answer, show, unasked};
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use transaction::Transaction;
use words::split;

const EXAMPLES: &str = "Examples:
  scurry cli SCUR.GET alice
  scurry cli help SCUR.RESERVE
  scurry cli -3 -h 10.0.0.7 -p 6389 SCUR.AUDIT alice
  scurry cli -h store.example --tls --cacert ca.pem PING
  echo 'SCUR.TOTALS' | SCURRY_PASSWORD=secret scurry cli
  scurry cli --rdma --address 192.168.7.1:6390 PING

At a terminal, without a command, it is a shell: Tab completes, the arrows bring lines back, help says more.
Else it reads a command from each line of its input. A line is split at blanks; \"...\" keeps them and knows
\\n, \\r, \\t, \\\", \\\\ and \\xHH, '...' keeps everything.
To a terminal replies are shown with the names of their values, else as redis-cli shows them.

Exit code, of several commands that of the worst:
  0  each was answered, and nothing was denied
  1  an error: of the server, no answer came, or an option before the command is not known
  2  an option lacks its value, or has a wrong one
  3  a denial (CREDIT_LIMIT_REACHED, SERVICE_DENIED, CHAIN_DENIED), also of one item among several,
     of one command of a chain, and of SCUR.CHECK: what was asked for was not granted";

/// Exit code of a denial. 2 is clap's code for wrong options.
const DENIED: u8 = 3;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    server: ServerAddress,

    /// Speak RDMA, to an address given with --rdma-listen or to a Valkey with its RDMA module
    #[arg(long)]
    rdma: bool,

    /// Speak RESP3
    #[arg(short = '3')]
    resp3: bool,

    /// How long to wait for a reply, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,

    /// The command and its arguments; without them commands are read from the terminal or the input
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Cli {
    pub(crate) fn run(self) -> Result<ExitCode> {
        // No command begins with a dash. A misspelt option must not be sent as a command: without the option it could
        // reach another server than the user meant.
        if let Some(option) = self.words.first().filter(|word| word.starts_with('-')) {
            bail!("{option} is no option here: see scurry cli --help");
        }
        ensure!(
            !(self.rdma && self.server.has_tls()),
            "RDMA has no TLS: leave --tls or --rdma out"
        );
        if let Some((name, words)) = self.words.split_first()
            && name.eq_ignore_ascii_case("help")
        {
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_bytes()).collect();
            println!("{}", help::help(&words));
            return Ok(ExitCode::SUCCESS);
        }
        let is_for_people = io::stdin().is_terminal() && io::stdout().is_terminal();
        if self.words.is_empty() && is_for_people {
            Shell::open(&self)?.run()?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut server = self.ready()?;
        let verdict = if self.words.is_empty() {
            self.lines(&mut server)?
        } else {
            let words: Vec<&[u8]> = self.words.iter().map(String::as_bytes).collect();
            self.command(&mut server, &mut Transaction::default(), &words)?
        };
        Ok(verdict.into())
    }

    /// Connects, authenticates and selects RESP3 where asked.
    fn ready(&self) -> Result<Dialogue> {
        let mut server = Dialogue::new(self.connect()?);
        if let Some(words) = self.server.auth() {
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            if let Value::ServerError(error) = self.ask(&mut server, &words)? {
                bail!(
                    "{} refuses the password: {}",
                    self.server.address(),
                    refused_password(&error)
                );
            }
        }
        if self.resp3 {
            self.prepare(&mut server, &["HELLO", "3"], "does not speak RESP3")?;
        }
        Ok(server)
    }

    /// Runs each line of the input as a command. Returns the worst verdict.
    fn lines(&self, server: &mut Dialogue) -> Result<ReplyVerdict> {
        let stdin = io::stdin();
        let is_asking = stdin.is_terminal();
        let mut verdict = ReplyVerdict::Done;
        let mut transaction = Transaction::default();
        let mut line = Vec::new();
        loop {
            if is_asking {
                print!("{}> ", self.server.address());
                io::stdout().flush()?;
            }
            line.clear();
            if stdin.lock().read_until(b'\n', &mut line).context("reading a command")? == 0 {
                // At a terminal the user has already seen each error, so the exit code is success.
                return Ok(if is_asking { ReplyVerdict::Done } else { verdict });
            }
            match split(&line) {
                Ok(words) if words.is_empty() => {}
                Ok(words) => {
                    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
                    verdict = verdict.max(self.command(server, &mut transaction, &words)?);
                }
                Err(error) if is_asking => println!("{}", escaped(&error.to_string())),
                Err(error) => {
                    let line = String::from_utf8_lossy(&line);
                    return Err(error).with_context(|| format!("in {:?}", line.trim()));
                }
            }
        }
    }

    /// Sends one command and prints its reply.
    fn command(
        &self,
        server: &mut Dialogue,
        transaction: &mut Transaction,
        words: &[&[u8]],
    ) -> Result<ReplyVerdict> {
        let reply = self.ask(server, words)?;
        let shape = transaction.shape(words, &reply);
        let is_for_people = io::stdout().is_terminal();
        let names = if is_for_people { &shape } else { &Shape::Unknown };
        print!("{}", answer(words.iter().copied(), &reply, names));
        if let Some(account) = units::account_without_bucket(words, &reply, &shape)
            && is_for_people
        {
            let account_shown = self.ask(server, &[b"SCUR.GET", account])?;
            print!("{}", units::said(account, &account_shown));
        }
        if begins_to_watch(words, &reply) {
            watch(server, || false)?;
        }
        Ok(ReplyVerdict::from_reply(&reply, &shape))
    }

    /// Sends a command that must succeed before the user's commands.
    fn prepare(&self, server: &mut Dialogue, words: &[&str], trouble: &str) -> Result<()> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let reply = self.ask(server, &words)?;
        let Value::ServerError(error) = &reply else { return Ok(()) };
        let (address, said) = (self.server.address(), show(&reply));
        // Other codes say that the server cannot serve any client now: CLUSTERDOWN, LOADING.
        if matches!(error.code(), "ERR" | "NOPROTO" | "WRONGPASS" | "NOAUTH" | "NOPERM") {
            bail!("{address} {trouble}: {}", said.trim_end());
        }
        bail!("{address}: {}", said.trim_end())
    }

    fn ask(&self, server: &mut Dialogue, words: &[&[u8]]) -> Result<Value> {
        let asked = server.ask(words, |value| print!("{}", unasked(value)));
        asked.map_err(|error| {
            let is_at_once = error.kind() == io::ErrorKind::UnexpectedEof && !server.has_answered();
            let is_plain = is_at_once && !self.server.has_tls();
            let cure = if is_plain {
                ": is it a port for TLS (--tls), or is a leader being elected (try again)?"
            } else {
                ""
            };
            anyhow!("{}: {error}{cure}", self.server.address())
        })
    }

    fn connect(&self) -> Result<Box<dyn Stream>> {
        let patience = Duration::from_secs(self.timeout);
        if self.rdma {
            rdma::connect(&self.server, patience)
        } else {
            Ok(self.server.connect(patience)?)
        }
    }
}

/// Verdict on the reply to a command. Of several the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReplyVerdict {
    Done,
    Denied,
    Failed,
}

impl ReplyVerdict {
    fn from_reply(reply: &Value, shape: &Shape) -> ReplyVerdict {
        if has_error(reply) {
            ReplyVerdict::Failed
        } else if shape.is_denied(reply) {
            ReplyVerdict::Denied
        } else {
            ReplyVerdict::Done
        }
    }
}

impl From<ReplyVerdict> for ExitCode {
    fn from(verdict: ReplyVerdict) -> ExitCode {
        match verdict {
            ReplyVerdict::Done => ExitCode::SUCCESS,
            ReplyVerdict::Denied => ExitCode::from(DENIED),
            ReplyVerdict::Failed => ExitCode::FAILURE,
        }
    }
}

/// Reports whether a reply is an error or contains one, as the reply to EXEC can.
fn has_error(reply: &Value) -> bool {
    match reply {
        Value::ServerError(_) => true,
        Value::Array(values) => values.iter().any(has_error),
        _ => false,
    }
}

/// Prints every value that arrives until `is_over` returns true or the connection ends.
fn watch(server: &mut Dialogue, is_over: impl Fn() -> bool) -> Result<()> {
    while !is_over() {
        match server.next(&is_over) {
            Ok(value) => print!("{}", unasked(&value)),
            // A timeout only means that nothing happened.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            Err(_) if is_over() => {}
            Err(error) => return Err(error).context("it shows no more"),
        }
    }
    Ok(())
}
