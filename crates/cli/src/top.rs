//! `scurry top`: shows the figures of a server in a terminal, read from INFO once a second.

mod figures;
mod picture;
mod screen;

use crate::server_address::{ServerAddress, Stream, ask, error_text, refused_password};
use anyhow::{Result, bail, ensure};
use clap::Args;
use figures::Figures;
use picture::Page;
use screen::{Key, Screen};
use scurry_cluster_client::redis::Value;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between two reads of INFO.
const EVERY: Duration = Duration::from_secs(1);
/// Age from which figures are marked as old, seconds.
const LATE_SECONDS: u64 = 2;
/// Timeout after which the server counts as unreachable.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);
/// Columns of the text without a terminal, enough for every line.
const WIDTH_WITHOUT_TERMINAL: usize = 200;

const EXAMPLES: &str = "Examples:
  scurry top
  scurry top -h store.example --tls --cacert ca.pem
  scurry top --once | grep denials

Rates are of the last second. Durations are bounds: a 99 % of 262 us says that 99 of 100 requests took
no longer. q and Ctrl-C end it.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct Top {
    // The server's main port, and the user to log in as.
    #[command(flatten)]
    server: ServerAddress,

    /// Print one picture, of one second, and end; needs no terminal
    #[arg(long)]
    once: bool,
}

/// Reason for missing figures.
enum NoFigures {
    /// Server unreachable, which may be temporary.
    Unreachable(String),
    /// Refusal that another attempt does not change.
    Refused(anyhow::Error),
}

/// Refusal of a server to show its figures to this user.
#[derive(Debug)]
struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Top {
    pub(crate) fn run(self) -> Result<()> {
        if self.once {
            return self.print_once();
        }
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        ensure!(is_terminal, "this is no terminal: --once prints one picture");
        let address = self.server.address();
        let looks = self.look_each_second();
        let mut screen = Screen::open()?;
        let mut shown = Page::waiting(&address);
        let mut before = None;
        let mut last = moment();
        loop {
            // Figures arrive once a second, so a delay of a moment is not marked.
            let age = last.elapsed().as_secs();
            if age >= LATE_SECONDS {
                shown.mark_old(age);
            }
            screen.draw(&shown)?;
            match screen.key()? {
                Some(Key::End) => return Ok(()),
                Some(Key::Other) | None => {}
            }
            while let Ok(look) = looks.try_recv() {
                last = moment();
                shown = match look {
                    Ok(now) => {
                        let picture = Page::of_figures(&address, before.as_ref(), &now);
                        before = Some(now);
                        picture
                    }
                    Err(NoFigures::Refused(error)) => return Err(error),
                    Err(NoFigures::Unreachable(why)) => {
                        // A restarted server begins its counts at 0, so rates need a new first value.
                        before = None;
                        Page::away(&address, &why)
                    }
                };
            }
        }
    }

    fn print_once(&self) -> Result<()> {
        let mut server = self.enter()?;
        let before = look(&mut *server)?;
        thread::sleep(EVERY); // tidy: allow (a rate is of some time)
        let now = look(&mut *server)?;
        let picture = Page::of_figures(&self.server.address(), Some(&before), &now);
        print!("{}", picture.text(WIDTH_WITHOUT_TERMINAL));
        Ok(())
    }

    /// Reads the figures on a separate thread, so that keys work while the server does not answer.
    fn look_each_second(self) -> Receiver<Result<Figures, NoFigures>> {
        let (looks, receiver) = channel();
        thread::spawn(move || {
            let mut server = None;
            loop {
                let look = self.next_look(&mut server);
                let look = look.map_err(|error| match error.is::<Refused>() {
                    true => NoFigures::Refused(error),
                    false => NoFigures::Unreachable(crate::format_error_chain(&error)),
                });
                if looks.send(look).is_err() {
                    return;
                }
                thread::sleep(EVERY); // tidy: allow (INFO has no event to wait for)
            }
        });
        receiver
    }

    fn next_look(&self, server: &mut Option<Box<dyn Stream>>) -> Result<Figures> {
        // A connection that failed is replaced.
        let mut stream = match server.take() {
            Some(stream) => stream,
            None => self.enter()?,
        };
        let figures = look(&mut *stream)?;
        *server = Some(stream);
        Ok(figures)
    }

    /// Connects and authenticates.
    fn enter(&self) -> Result<Box<dyn Stream>> {
        let mut server = self.server.connect(ANSWER_PATIENCE)?;
        if let Some(words) = self.server.auth()
            && let Value::ServerError(error) = send(&mut *server, &words)?
        {
            let address = self.server.address();
            let text = format!("{address} refuses the password: {}", refused_password(&error));
            return Err(Refused(text).into());
        }
        Ok(server)
    }
}

#[expect(clippy::disallowed_methods, reason = "how old something is, for people")]
fn moment() -> Instant {
    Instant::now()
}

/// Reads the current figures.
fn look(server: &mut dyn Stream) -> Result<Figures> {
    match send(server, &["INFO", "default", "commandstats"])? {
        Value::BulkString(text) => Ok(Figures::new(String::from_utf8_lossy(&text).into_owned())),
        Value::ServerError(error) if error.code() == "NOAUTH" => Err(Refused(
            "the server wants a password: set SCURRY_PASSWORD (and --user for a user of the \
             settings file)"
                .to_owned(),
        )
        .into()),
        Value::ServerError(error) if error.code() == "NOPERM" => {
            Err(Refused(format!("the server says no more: {}", error_text(&error))).into())
        }
        Value::ServerError(error) => bail!("the server says no more: {}", error_text(&error)),
        _ => bail!("what answers is no scurry"),
    }
}

fn send(server: &mut dyn Stream, words: &[&str]) -> Result<Value> {
    Ok(ask(server, words.iter().map(|word| word.as_bytes()))?)
}
