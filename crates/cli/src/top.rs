//! `scurry top`: the figures of a server in a terminal, from what INFO says, each second anew.

mod figures;
mod picture;
mod screen;

use crate::server_address::{ServerAddress, Stream, ask, error_text};
use anyhow::{Result, bail, ensure};
use clap::Args;
use figures::Figures;
use picture::Picture;
use screen::{Key, Screen};
use scurry_cluster_client::redis::Value;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// From one look at the server to the next.
const EVERY: Duration = Duration::from_secs(1);
/// A server that takes longer than this is away.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);
/// Wide enough for everything, where there is no terminal.
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
    // The server's main port, and who asks.
    #[command(flatten)]
    server: ServerAddress,

    /// Print one picture, of one second, and end; needs no terminal
    #[arg(long)]
    once: bool,
}

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
        let mut shown = Picture::waiting(&address);
        let mut before = None;
        loop {
            screen.draw(&shown)?;
            match screen.key()? {
                Some(Key::End) => return Ok(()),
                Some(Key::Other) | None => {}
            }
            while let Ok(look) = looks.try_recv() {
                shown = match look {
                    Ok(now) => {
                        let picture = Picture::of(&address, before.as_ref(), &now);
                        before = Some(now);
                        picture
                    }
                    Err(why) => {
                        // Its counts begin again, and their rates with them.
                        before = None;
                        Picture::away(&address, &why)
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
        let picture = Picture::of(&self.server.address(), Some(&before), &now);
        print!("{}", picture.text(WIDTH_WITHOUT_TERMINAL));
        Ok(())
    }

    /// Looks at the server from a thread of its own, so that keys count also while it does not answer.
    fn look_each_second(self) -> Receiver<Result<Figures, String>> {
        let (looks, receiver) = channel();
        thread::spawn(move || {
            let mut server = None;
            loop {
                let look = self.next_look(&mut server);
                let look = look.map_err(|error| crate::told(&error));
                if looks.send(look).is_err() {
                    return;
                }
                thread::sleep(EVERY); // tidy: allow (INFO has no event to wait for)
            }
        });
        receiver
    }

    fn next_look(&self, server: &mut Option<Box<dyn Stream>>) -> Result<Figures> {
        // One that fails is not asked again.
        let mut stream = match server.take() {
            Some(stream) => stream,
            None => self.enter()?,
        };
        let figures = look(&mut *stream)?;
        *server = Some(stream);
        Ok(figures)
    }

    /// A connection that has told who asks.
    fn enter(&self) -> Result<Box<dyn Stream>> {
        let mut server = self.server.connect(ANSWER_PATIENCE)?;
        if let Some(words) = self.server.auth()
            && let Value::ServerError(error) = send(&mut *server, &words)?
        {
            bail!("{} refuses the password: {}", self.server.address(), error_text(&error));
        }
        Ok(server)
    }
}

/// The figures as they are now.
fn look(server: &mut dyn Stream) -> Result<Figures> {
    match send(server, &["INFO", "default", "commandstats"])? {
        Value::BulkString(text) => Ok(Figures::new(String::from_utf8_lossy(&text).into_owned())),
        Value::ServerError(error) if error.code() == "NOAUTH" => bail!(
            "the server wants a password: set SCURRY_PASSWORD (and --user for a user of the \
             settings file)"
        ),
        Value::ServerError(error) => bail!("the server says no more: {}", error_text(&error)),
        _ => bail!("what answers is no scurry"),
    }
}

fn send(server: &mut dyn Stream, words: &[&str]) -> Result<Value> {
    Ok(ask(server, words.iter().map(|word| word.as_bytes()))?)
}
