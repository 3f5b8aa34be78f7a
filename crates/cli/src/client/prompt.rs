//! The shell at a terminal: lines are edited, completed and remembered, and a server that goes away is
//! waited for. What comes out of a pipe is read without any of this.

use super::Cli;
use super::connection::{Connection, Outcome};
use super::helper::{TypingHelper, command, is_container, last, names};
use super::history;
use super::show::answer;
use super::words::split;
use crate::nearest::{either, nearest};
use crate::shown::escaped;
use anyhow::{Context, Result};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, CompletionType, Config, Editor};
use scurry_resp::table::{self, Spec};
use std::path::PathBuf;

const GREETING: &str = "Tab completes, Ctrl-D ends, help says more";
const HELP: &str = "help COMMAND   syntax, summary and an example of a command
clear          clears the screen
exit, quit     ends, as Ctrl-D does
Tab completes commands, their options and values; the arrows bring back lines that were typed, also in
earlier shells, and Ctrl-R looks for one. Ctrl-C drops the line. Kept are lines that begin with a command
of Scurry's, without those that may hold a password and those that begin with a blank. The commands are";

/// Commands that a server answers with what it does instead of running scripts.
const SCRIPTING: [&str; 8] =
    ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "SCRIPT", "FUNCTION", "FCALL", "FCALL_RO"];

type Lines = Editor<TypingHelper, FileHistory>;

pub(super) struct Shell<'a> {
    cli: &'a Cli,
    connection: Connection<'a>,
    lines: Lines,
    /// None where lines are not kept.
    history: Option<PathBuf>,
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
        let mut shell = Shell { cli, connection, lines, history: history::path() };
        shell.load_history();
        Ok(shell)
    }

    /// Until the input ends.
    pub(super) fn run(mut self) -> Result<()> {
        println!("{GREETING}");
        loop {
            let away = if self.connection.is_open() { "" } else { " (away)" };
            match self.lines.readline(&format!("{}{away}> ", self.cli.server.address())) {
                // What is pasted may be several lines.
                Ok(text) => {
                    for line in text.lines() {
                        self.keep(line);
                        if !self.line(line) {
                            return Ok(());
                        }
                    }
                }
                Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {}
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(error).context("reading a command"),
            }
        }
    }

    /// Does one line. False when it was the last.
    fn line(&mut self, line: &str) -> bool {
        let words = match split(line.as_bytes()) {
            Ok(words) => words,
            Err(error) => {
                println!("{}", escaped(&error.to_string()));
                return true;
            }
        };
        let first = words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        match &*first {
            b"" => {}
            b"exit" | b"quit" => return false,
            b"help" | b"?" => println!("{}", help(&words[1..])),
            b"clear" => {
                // A screen that stays as it is harms nobody.
                let _ = self.lines.clear_screen();
            }
            _ => self.command(&words),
        }
        true
    }

    fn command(&mut self, words: &[Vec<u8>]) {
        let address = self.cli.server.address();
        let anew = || {
            println!(
                "({address} is there again: what was set on the old connection, as by AUTH or MULTI, is gone)"
            );
        };
        match self.connection.ask(words.iter().map(Vec::as_slice), anew) {
            Outcome::Reply(reply) => {
                print!("{}", answer(words.iter().map(Vec::as_slice), &reply));
            }
            Outcome::NotSent(error) => println!("not sent: {}", crate::told(&error)),
            Outcome::Unknown(error) => println!(
                "no reply: {}. Whether the server has done it is not known; the next command makes a \
                 new connection",
                crate::told(&error)
            ),
        }
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

    /// Remembers a line, if it may be.
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

/// Text that `help` shows of a command, or of the shell.
fn help(words: &[Vec<u8>]) -> String {
    let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let Some(name) = words.first() else { return format!("{HELP}\n{}", columns()) };
    if let Some((spec, _)) = command(&words) {
        return about(spec);
    }
    let name = name.to_ascii_uppercase();
    let near: Vec<String> = nearest(&name, names()).into_iter().map(str::to_owned).collect();
    let shown = escaped(&name);
    if SCRIPTING.contains(&&*name) {
        format!("Scurry runs no scripts, and does not know {shown}: help alone lists the commands")
    } else if near.is_empty() {
        format!("there is no command {shown}: help alone lists them")
    } else {
        format!("there is no command {shown}: did you mean {}?", either(&near))
    }
}

fn about(spec: &Spec) -> String {
    let mut out = format!("{} {}", spec.name.replace('|', " "), spec.grammar).trim_end().to_owned();
    out += &format!("\n{}", spec.summary);
    if is_container(spec) {
        let subs: Vec<&str> = spec.subcommands.iter().map(last).collect();
        return format!("{out}\nSubcommands: {}", subs.join(", "));
    }
    for (title, text) in [("Reply", spec.reply), ("Example", spec.example)] {
        if !text.is_empty() {
            out += &format!("\n{title}: {text}");
        }
    }
    if !spec.codes.is_empty() {
        let codes: Vec<&str> = spec.codes.iter().map(|code| code.name()).collect();
        out += &format!("\nRefusals: {}", codes.join(", "));
    }
    out
}

/// Names of all commands, in lines that fit a terminal.
fn columns() -> String {
    const WIDTH: usize = 18;
    let mut out = String::new();
    for line in table::all().map(|spec| spec.name).collect::<Vec<_>>().chunks(4) {
        let cells: Vec<String> = line.iter().map(|name| format!("{name:WIDTH$}")).collect();
        out += cells.concat().trim_end();
        out.push('\n');
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        help(&split(line.as_bytes()).expect("words"))
    }

    #[test]
    fn help_is_of_the_table() {
        let text = said("scur.release");
        assert!(text.starts_with("SCUR.RELEASE account session\n"), "{text}");
        assert!(text.contains("\nReply: ") && text.contains("UNKNOWN_SESSION"), "{text}");
        assert!(said("config set").starts_with("CONFIG SET name value"), "{}", said("config set"));
        assert!(said("config").contains("Subcommands: ") && said("config").contains("SET"));
        assert_eq!(
            said("scur.relase"),
            "there is no command SCUR.RELASE: did you mean SCUR.RELEASE?"
        );
        assert_eq!(said("hmset"), "there is no command HMSET: did you mean MSET?");
        for none in ["nosuch", "scur", "'\x1b[2J'"] {
            let said = said(none);
            assert!(said.ends_with(": help alone lists them") && !said.contains('\x1b'), "{said}");
        }
        assert!(said("eval").starts_with("Scurry runs no scripts"), "{}", said("eval"));
        assert!(said("").contains("SCUR.RESERVE") && said("").contains("help COMMAND"));
    }
}
