//! Text of `help`. It comes from the command table, like the pages of the site, so it is never out of date.

use super::helper::{command, is_container, last, names};
use crate::suggestions::{join_with_or, nearest};
use crate::terminal_escape::escaped;
use scurry_resp::details;
use scurry_resp::table::{self, Spec};

const HELP: &str = "help COMMAND   syntax, summary and an example of a command
clear          clears the screen
exit, quit     ends, as Ctrl-D does
Tab completes commands, their options and values; the arrows bring back lines that were typed, also in
earlier shells, and Ctrl-R looks for one. Ctrl-C drops the line. Kept are lines that begin with a command
of Scurry's, without those that may hold a password and those that begin with a blank. The commands are";

/// Commands of scripting, for which `help` explains that Scurry runs no scripts.
const SCRIPTING: [&str; 8] =
    ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "SCRIPT", "FUNCTION", "FCALL", "FCALL_RO"];

/// Returns the help for a command, or for the shell if no command is given.
pub(super) fn help(words: &[Vec<u8>]) -> String {
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
        format!("there is no command {shown}: did you mean {}?", join_with_or(&near))
    }
}

fn about(spec: &Spec) -> String {
    let mut out = format!("{} {}", spec.name.replace('|', " "), spec.grammar).trim_end().to_owned();
    out += &format!("\n{}", spec.summary);
    if is_container(spec) {
        let subs: Vec<&str> = spec.subcommands.iter().map(last).collect();
        out += &format!("\nSubcommands: {}", subs.join(", "));
    } else {
        for (title, text) in details(spec) {
            out += &format!("\n{title}: {}", text.replace('\n', "\n  "));
        }
    }
    if !spec.notes.is_empty() {
        out += &format!("\n{}", spec.notes);
    }
    out
}

/// Returns the names of all commands, in lines that fit a terminal.
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
    use super::super::words::split;
    use super::*;

    fn said(line: &str) -> String {
        help(&split(line.as_bytes()).expect("words"))
    }

    #[test]
    fn help_is_of_the_table() {
        let text = said("scur.release");
        assert!(text.starts_with("SCUR.RELEASE account session [CANCEL] [TXN txn]\n"), "{text}");
        assert!(text.contains("\nReply: ") && text.contains("UNKNOWN_SESSION"), "{text}");
        assert!(
            text.contains("\nExample: SCUR.RESERVE ") && text.contains("never denied"),
            "{text}"
        );
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
