//! Help while a line is typed: completion by Tab, and the rest of the syntax in grey. Both come from the command table,
//! so they are never out of date.

use super::grammar::{rest, words};
use super::words::split;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hint, Hinter};
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use scurry_resp::table::{self, Spec};
use std::borrow::Cow;

/// Words of the shell itself, which are not sent to the server.
pub(super) const OWN_WORDS: [&str; 4] = ["help", "clear", "exit", "quit"];

pub(super) struct TypingHelper {
    /// False without colours: a hint would look like typed text.
    pub(super) has_hints: bool,
}

/// Hint shown after the cursor. It is never inserted.
pub(super) struct InputHint(String);

impl Hint for InputHint {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Helper for TypingHelper {}
impl Validator for TypingHelper {}

impl Highlighter for TypingHelper {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[90m{hint}\x1b[0m"))
    }
}

impl Hinter for TypingHelper {
    type Hint = InputHint;

    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<InputHint> {
        let is_shown = self.has_hints && at == line.len();
        is_shown.then(|| hint(line)).flatten().map(InputHint)
    }
}

impl Completer for TypingHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (begin, found) = complete(&line[..at]);
        let pair = |word: String| Pair { replacement: format!("{word} "), display: word };
        Ok((begin, found.into_iter().map(pair).collect()))
    }
}

/// Returns the rest of the syntax after a line. None if nothing is left.
fn hint(line: &str) -> Option<String> {
    let typed = texts(line)?;
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let (spec, args) = command(&typed)?;
    if is_container(spec) {
        return None;
    }
    let rest = rest(spec.grammar, args);
    let gap = if line.ends_with(' ') { "" } else { " " };
    (!rest.is_empty()).then(|| format!("{gap}{rest}"))
}

/// Returns where the current word begins, and its completions.
fn complete(line: &str) -> (usize, Vec<String>) {
    let begin = line.rfind(|letter: char| letter.is_whitespace()).map_or(0, |at| at + 1);
    let begun = &line[begin..];
    let Some(typed) = texts(&line[..begin]) else { return (begin, Vec::new()) };
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let known: Vec<&str> = match typed[..] {
        [] => names().chain(OWN_WORDS).collect(),
        [own] if own.eq_ignore_ascii_case("help") => names().collect(),
        _ => match command(&typed) {
            Some((spec, [])) if is_container(spec) => spec.subcommands.iter().map(last).collect(),
            Some((spec, args)) => words(spec.grammar, args),
            None => Vec::new(),
        },
    };
    let is_lower = begun.bytes().any(|byte| byte.is_ascii_lowercase());
    let fits = |word: &&&str| {
        word.get(..begun.len()).is_some_and(|start| start.eq_ignore_ascii_case(begun))
    };
    let shaped =
        |word: &&str| if is_lower { word.to_ascii_lowercase() } else { (*word).to_owned() };
    let mut found: Vec<String> = known.iter().filter(fits).map(shaped).collect();
    found.sort();
    found.dedup();
    (begin, found)
}

/// Returns the command or subcommand that these words begin with, and the arguments after it.
pub(super) fn command<'a>(words: &'a [&'a str]) -> Option<(&'static Spec, &'a [&'a str])> {
    let (name, args) = words.split_first()?;
    let spec = table::find(name.as_bytes())?;
    let inner = args.first().and_then(|sub| spec.subcommand(sub.as_bytes()));
    Some(inner.map_or((spec, args), |sub| (sub, &args[1..])))
}

/// Returns the names of all commands.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    table::all().map(|spec| spec.name)
}

pub(super) fn is_container(spec: &Spec) -> bool {
    !spec.subcommands.is_empty()
}

/// Returns the name of a subcommand without the name of its container.
pub(super) fn last(spec: &Spec) -> &'static str {
    spec.name.rsplit_once('|').map_or(spec.name, |(_, sub)| sub)
}

/// Returns the words of a line. None inside an open quote.
fn texts(line: &str) -> Option<Vec<String>> {
    let words = split(line.as_bytes()).ok()?;
    Some(words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_subcommands_and_options_are_completed_as_they_are_typed() {
        let found = |line: &str| complete(line).1;
        assert_eq!(found("SCUR.RES"), ["SCUR.RESERVE"]);
        assert_eq!(found("scur.res"), ["scur.reserve"]);
        assert_eq!(complete("SCUR.RESERVE a s 0 IT"), (19, vec!["ITEM".to_owned()]));
        assert_eq!(found("CONFIG S"), ["SET"]);
        assert_eq!(found("client set"), ["setinfo", "setname"]);
        assert_eq!(found("help scur.tot"), ["scur.totals"]);
        assert_eq!(found("SCUR.STATUS alice s"), ["suspended"]);
        assert!(found("GET ").is_empty() && found("NONSENSE ").is_empty());
        assert!(found("SET 'a b").is_empty(), "within quotes");
        assert_eq!(found("ex").first().map(String::as_str), Some("exec"));
    }

    #[test]
    fn the_syntax_stands_behind_what_is_typed() {
        assert_eq!(hint("GET").as_deref(), Some(" key"));
        assert_eq!(hint("get ").as_deref(), Some("key"));
        assert_eq!(hint("GET a"), None);
        assert_eq!(hint("CONFIG SET ").as_deref(), Some("name value [name value ...]"));
        assert_eq!(hint("NONSENSE "), None);
        assert_eq!(hint("SCUR.RELEASE alice ").as_deref(), Some("session [CANCEL] [TXN txn]"));
    }
}
