//! The shell at a terminal: it edits, completes and remembers lines, and reconnects to a server that was unreachable.
//! Input from a pipe is read without any of this.

use super::Cli;
use super::connection::{Connection, Outcome};
use super::dialogue::begins_to_watch;
use super::help::help;
use super::helper::TypingHelper;
use super::history;
use super::show::{answer, unasked};
use super::transaction::Transaction;
use super::units::{account_without_bucket, said};
use super::watch;
use super::words::split;
use crate::terminal_escape::escaped;
use anyhow::{Context, Result};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, CompletionType, Config, Editor};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const GREETING: &str = "Tab completes, Ctrl-D ends, help says more";
type Lines = Editor<TypingHelper, FileHistory>;

pub(super) struct Shell<'a> {
    cli: &'a Cli,
    connection: Connection<'a>,
    transaction: Transaction,
    lines: Lines,
    /// None if lines are not kept.
    history: Option<PathBuf>,
    /// While true, Ctrl-C ends the program by default. The line editor reads Ctrl-C as a key.
    is_idle: Arc<AtomicBool>,
    /// Set by Ctrl-C.
    is_over: Arc<AtomicBool>,
}

/// What the shell does after a line.
#[derive(PartialEq)]
enum Next {
    Line,
    /// Prompts again, and skips the remaining pasted lines.
    Prompt,
    End,
}

impl<'a> Shell<'a> {
    pub(super) fn open(cli: &'a Cli) -> Result<Shell<'a>> {
        let connection = Connection::open(cli)?;
        let config = Config::builder()
            .max_history_size(history::LINES_MAX)?
            .history_ignore_space(true)
            .history_ignore_dups(true)?
            .completion_type(CompletionType::List)
            .build();
        let has_hints = config.color_mode() != ColorMode::Disabled;
        let mut lines = Lines::with_config(config).context("cannot read from the terminal")?;
        lines.set_helper(Some(TypingHelper { has_hints }));
        let (is_idle, is_over) =
            (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        flag::register_conditional_default(SIGINT, Arc::clone(&is_idle))?;
        flag::register(SIGINT, Arc::clone(&is_over))?;
        let history = history::path();
        let mut shell = Shell {
            cli,
            connection,
            transaction: Transaction::default(),
            lines,
            history,
            is_idle,
            is_over,
        };
        shell.load_history();
        Ok(shell)
    }

    /// Reads and executes lines until the input ends.
    pub(super) fn run(mut self) -> Result<()> {
        println!("{GREETING}");
        let mut is_rest = false;
        loop {
            let away = if self.connection.is_open() { "" } else { " (away)" };
            let address = self.cli.server.address();
            let prompt =
                if is_rest { "(dropped)> ".to_owned() } else { format!("{address}{away}> ") };
            match self.lines.readline(&prompt) {
                // The rest of a line that was not UTF-8: executed alone, it would be another command than the user
                // typed.
                Ok(_) if is_rest => is_rest = false,
                Ok(text) => {
                    if self.lines_of(&text) == Next::End {
                        return Ok(());
                    }
                }
                Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => is_rest = false,
                Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                    if !is_rest {
                        println!(
                            "\nthat is not UTF-8: the line is dropped, up to Enter; \\xNN within \"...\" writes such a byte"
                        );
                    }
                    is_rest = true;
                }
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(error).context("reading a command"),
            }
        }
    }

    /// Executes the lines of one input. Pasted text may have several.
    fn lines_of(&mut self, text: &str) -> Next {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            self.keep(line);
            match self.line(line) {
                Next::Line => {}
                // The remaining lines were meant to follow on the same connection.
                Next::Prompt => {
                    let left = lines.count();
                    if left > 0 {
                        println!("(what was pasted behind it is not sent: {left} lines)");
                    }
                    break;
                }
                Next::End => return Next::End,
            }
        }
        Next::Prompt
    }

    fn line(&mut self, line: &str) -> Next {
        let words = match split(line.as_bytes()) {
            Ok(words) => words,
            Err(error) => {
                println!("{}", escaped(&error.to_string()));
                return Next::Line;
            }
        };
        let first = words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        match &*first {
            b"" => {}
            b"exit" | b"quit" => return Next::End,
            b"help" | b"?" => println!("{}", help(&words[1..])),
            b"clear" => {
                // A failure only leaves the screen as it is.
                let _ = self.lines.clear_screen();
            }
            _ => return self.command(&words.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        }
        Next::Line
    }

    fn command(&mut self, words: &[&[u8]]) -> Next {
        let address = self.cli.server.address();
        let on_reconnect = || println!("({address} is there again, on a new connection)");
        match self.connection.ask(words, on_reconnect, |value| print!("{}", unasked(value))) {
            Outcome::Reply(reply) => {
                let shape = self.transaction.shape(words, &reply);
                print!("{}", answer(words.iter().copied(), &reply, &shape));
                if let Some(account) = account_without_bucket(words, &reply, &shape) {
                    self.show_units(account);
                }
                if begins_to_watch(words, &reply) {
                    self.watch();
                    return Next::Prompt;
                }
                return Next::Line;
            }
            Outcome::NotSent(error) => println!("not sent: {}", crate::format_error_chain(&error)),
            Outcome::Gone => println!(
                "not sent: the connection is gone, and with it what was set on it, as by AUTH, HELLO, SELECT \
                 or MULTI; the next line makes a new one"
            ),
            Outcome::Unknown(error) => println!(
                "{}. Whether the server has done it is not known; the next command makes a new connection",
                crate::format_error_chain(&error)
            ),
        }
        Next::Prompt
    }

    /// Prints the units of an account, if it can be read.
    fn show_units(&mut self, account: &[u8]) {
        let asked = self.connection.ask(
            &[b"SCUR.GET", account],
            || {},
            |value| print!("{}", unasked(value)),
        );
        if let Outcome::Reply(reply) = asked {
            print!("{}", said(account, &reply));
        }
    }

    /// Prints every value that arrives until Ctrl-C. Reconnects afterwards, so that no value of the watch is taken for
    /// a reply.
    fn watch(&mut self) {
        println!("(what comes is shown until Ctrl-C)");
        self.is_over.store(false, Ordering::Relaxed);
        self.is_idle.store(false, Ordering::Relaxed);
        let over = Arc::clone(&self.is_over);
        let shown =
            self.connection.dialogue().map(|server| watch(server, || over.load(Ordering::Relaxed)));
        self.is_idle.store(true, Ordering::Relaxed);
        if let Some(Err(error)) = shown {
            println!("{}", crate::format_error_chain(&error));
        }
        let gone =
            if self.connection.renew() { "; what was set on the old one is gone" } else { "" };
        println!("(from here on it is a new connection{gone})");
    }

    fn load_history(&mut self) {
        let Some(path) = &self.history else { return };
        let loaded = history::make_room(path).map_err(ReadlineError::Io);
        match loaded.and_then(|()| self.lines.load_history(path)) {
            Ok(()) => {}
            Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => self.keep_no_more(&error),
        }
    }

    /// Adds a line to the history, if it may be kept.
    fn keep(&mut self, line: &str) {
        let Some(path) = &self.history else { return };
        if line.trim().is_empty() || !history::may_be_kept(line) {
            return;
        }
        let kept = self.lines.add_history_entry(line);
        if let Err(error) = kept.and_then(|_| self.lines.append_history(path)) {
            self.keep_no_more(&error);
        }
    }

    fn keep_no_more(&mut self, error: &ReadlineError) {
        if let Some(path) = self.history.take() {
            println!("(lines are not kept in {}: {error})", path.display());
        }
    }
}
