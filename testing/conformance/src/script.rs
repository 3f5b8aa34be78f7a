//! Parses a script into lines. Bad lines are errors with file and line number.

use crate::kept::Argument;
use crate::pattern::Pattern;
use crate::text::{START, kept_name, relative, words};
use scurry_ledger::{Limits, Name, Time};
use scurry_resp::set_limit;
use std::fmt;

/// A parsed script.
#[derive(Clone, Debug)]
pub struct Script {
    /// Name of the file, for messages.
    pub file: String,
    /// Limits that it runs under.
    pub limits: Limits,
    /// Limits that differ from the defaults, as written.
    pub limit_words: Vec<(String, String)>,
    /// Unique kinds of identities.
    pub unique_kinds: Vec<Name>,
    /// Doors that it runs through. Empty for all.
    pub doors: Vec<String>,
    /// Events, in order.
    pub lines: Vec<ScriptLine>,
    /// True if the script names times, so that it needs a door with a settable clock.
    pub sets_clock: bool,
}

/// A line with an event or a rule.
#[derive(Clone, Debug)]
pub struct ScriptLine {
    /// Number of the line in the file, from 1.
    pub number: usize,
    /// Event of the line.
    pub event: Event,
}

/// Event of a line.
#[derive(Clone, Debug)]
pub enum Event {
    /// `rule: text`: the rule that the following events show.
    Rule(String),
    /// `at TIME`: sets the clock.
    At(Time),
    /// `+MS`: advances the clock.
    Advance(i64),
    /// `tick => N`: runs timers.
    Tick(Expected),
    /// A command and its expected reply.
    Command {
        /// Text of the line before the arrow.
        text: String,
        /// Words of the command.
        words: Vec<Argument>,
        /// Expected reply.
        expected: Expected,
    },
}

/// An expected result, as text and parsed.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Text in the script.
    pub text: String,
    /// Parsed pattern.
    pub pattern: Pattern,
}

/// Error about a line that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// File of the script.
    pub file: String,
    /// Line number, from 1.
    pub number: usize,
    /// Explanation of the error.
    pub why: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.number, self.why)
    }
}

impl std::error::Error for BadLine {}

/// Mark between an event and its expected result.
pub(crate) const ARROW: &str = " => ";

impl Script {
    /// Parses a script. `file` names it in messages.
    pub fn parse(file: &str, text: &str) -> Result<Script, BadLine> {
        let mut script = Script {
            file: file.to_owned(),
            limits: Limits::default(),
            limit_words: Vec::new(),
            unique_kinds: Vec::new(),
            doors: Vec::new(),
            lines: Vec::new(),
            sets_clock: false,
        };
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            script.line(number, line.trim()).map_err(|why| BadLine {
                file: file.to_owned(),
                number,
                why,
            })?;
        }
        Ok(script)
    }

    /// Returns the number of lines with an expected result.
    pub fn events(&self) -> usize {
        let expects =
            |line: &&ScriptLine| matches!(line.event, Event::Tick(_) | Event::Command { .. });
        self.lines.iter().filter(expects).count()
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let event = if let Some(settings) = line.strip_prefix("limits ") {
            self.head("limits")?;
            return settings.split_whitespace().try_for_each(|setting| self.limit(setting));
        } else if let Some(kinds) = line.strip_prefix("unique ") {
            self.head("unique")?;
            let kinds = kinds.split_whitespace();
            let kinds = kinds.map(|kind| Name::new(kind.as_bytes()).ok_or("a kind is no name"));
            self.unique_kinds = kinds.collect::<Result<_, _>>()?;
            return Ok(());
        } else if let Some(doors) = line.strip_prefix("doors ") {
            self.head("doors")?;
            self.doors = doors.split_whitespace().map(str::to_owned).collect();
            return Ok(());
        } else if let Some(rule) = line.strip_prefix("rule:") {
            Event::Rule(rule_text(rule)?)
        } else if let Some(time) = line.strip_prefix("at ") {
            self.sets_clock = true;
            Event::At(Time(time_of(time.trim())?))
        } else if let Some(ms) = line.strip_prefix('+') {
            self.sets_clock = true;
            let ms = ms.parse().map_err(|_| format!("+{ms} is not a number of ms"))?;
            Event::Advance(ms)
        } else {
            let (text, expected) = split(line).ok_or("an event needs \" => result\" at its end")?;
            let pattern = Pattern::parse(expected)?;
            let expected = Expected { text: expected.to_owned(), pattern };
            if text == "tick" {
                self.sets_clock = true;
                Event::Tick(expected)
            } else {
                Event::Command { text: text.to_owned(), words: self.words(text)?, expected }
            }
        };
        self.lines.push(ScriptLine { number, event });
        Ok(())
    }

    fn head(&self, what: &str) -> Result<(), String> {
        if self.lines.is_empty() {
            Ok(())
        } else {
            Err(format!("{what} must stand before the first event and rule"))
        }
    }

    /// Splits a command into words, and substitutes times.
    fn words(&mut self, text: &str) -> Result<Vec<Argument>, String> {
        let mut out = Vec::new();
        for word in words(text)? {
            let text = std::str::from_utf8(&word.bytes).ok().filter(|_| !word.quoted);
            let kept = text.and_then(kept_name).map(str::to_owned);
            out.push(match (kept, text.and_then(relative)) {
                (Some(name), _) => Argument::Kept(name),
                (None, Some(time)) => {
                    self.sets_clock = true;
                    Argument::Bytes(time.to_string().into_bytes())
                }
                (None, None) => Argument::Bytes(word.bytes),
            });
        }
        if out.is_empty() { Err("a command is missing".to_owned()) } else { Ok(out) }
    }

    fn limit(&mut self, setting: &str) -> Result<(), String> {
        let (name, value) =
            setting.split_once('=').ok_or(format!("{setting} is not name=value"))?;
        set_limit(&mut self.limits, name, value).map_err(|fault| fault.to_string())?;
        self.limit_words.push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}

/// Checks that a rule begins with the number of a section of docs/ledger.md, or with RFC.
fn rule_text(rule: &str) -> Result<String, String> {
    let rule = rule.trim();
    if rule.starts_with(|c: char| c.is_ascii_digit()) || rule.starts_with("RFC ") {
        Ok(rule.to_owned())
    } else {
        Err("a rule begins with a section of docs/ledger.md, or with RFC".to_owned())
    }
}

fn time_of(text: &str) -> Result<i64, String> {
    relative(text).or_else(|| text.parse().ok()).ok_or(format!("{text} is not a time"))
}

/// Splits a line at the last arrow outside of quotes.
pub(crate) fn split(line: &str) -> Option<(&str, &str)> {
    let (mut quoted, mut escaped, mut found) = (false, false, None);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if !quoted && line[at..].starts_with(ARROW) => found = Some(at),
            _ => {}
        }
    }
    found.map(|at| (line[..at].trim(), line[at + ARROW.len()..].trim()))
}

/// Returns the time after an event. Only clock lines change it.
pub(crate) fn moved(now: Time, event: &Event) -> Time {
    match event {
        Event::At(time) => *time,
        Event::Advance(ms) => now.plus_ms(*ms),
        _ => now,
    }
}

/// Time at which a script's clock begins.
pub(crate) const BEGIN: Time = START;

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        Script::parse("x.scn", text).expect_err(text).to_string()
    }

    #[test]
    fn a_script_is_read() {
        let text = "# comment\n## title\nlimits answers_max=2 tombstone_ms=1000\n\nrule: 4 duplicates\n\
                    SCUR.CREATE a BUCKET b u 5 TO t+9 => [OK, 1]\nat t+5\n+7\ntick => 0\n\
                    SCUR.RESERVE a s 0 DATA \"x => y\" ITEM 1 u REQUESTED 1 => [OK, ...]\n";
        let script = Script::parse("x.scn", text).expect("a script");
        assert_eq!((script.limits.answers_max, script.limits.tombstone_ms), (2, 1_000));
        assert_eq!((script.events(), script.lines.len()), (3, 6));
        assert!(script.sets_clock);
        let Event::Command { words, .. } = &script.lines[1].event else { panic!("a command") };
        assert_eq!(words.last(), Some(&Argument::Bytes(b"1700000000009".to_vec())));
        let Event::Command { text, words, .. } = &script.lines[5].event else {
            panic!("a command")
        };
        assert_eq!(words[5], Argument::Bytes(b"x => y".to_vec()));
        assert!(text.ends_with("REQUESTED 1"));
        let mut now = BEGIN;
        for line in &script.lines {
            now = moved(now, &line.event);
        }
        assert_eq!(now, BEGIN.plus_ms(12));
    }

    #[test]
    fn clockless_scripts_are_known() {
        let script = Script::parse("x.scn", "doors server\nPING => PONG\n").expect("a script");
        assert!(!script.sets_clock);
        assert_eq!(script.doors, ["server"]);
        let quoted = Script::parse("x.scn", "ECHO \"t+5\" => \"t+5\"\n").expect("a script");
        assert!(!quoted.sets_clock, "quoted words are left alone");
    }

    #[test]
    fn bad_lines_are_errors_with_file_and_line() {
        assert_eq!(why("\n\nSCUR.GET a"), "x.scn:3: an event needs \" => result\" at its end");
        assert_eq!(why("at noon"), "x.scn:1: noon is not a time");
        assert_eq!(why("+x"), "x.scn:1: +x is not a number of ms");
        assert_eq!(why("limits answer_max=2"), "x.scn:1: answer_max is not a limit");
        assert_eq!(why("limits answers_max=x"), "x.scn:1: answers_max must be 1 to 8");
        assert_eq!(why("limits overrun_default=x"), "x.scn:1: x is not overdraw or clamp");
        assert_eq!(
            why("rule: because"),
            "x.scn:1: a rule begins with a section of docs/ledger.md, or with RFC"
        );
        assert_eq!(why("# c\nPING => [OK"), "x.scn:2: an array does not end");
        assert_eq!(why("ECHO \"a\"b => a"), "x.scn:1: a closing quote must end the word");
        assert_eq!(why("ECHO \"a => a"), "x.scn:1: an event needs \" => result\" at its end");
        assert_eq!(
            why("rule: 1 a\nlimits answers_max=2"),
            "x.scn:2: limits must stand before the first event and rule"
        );
        assert_eq!(why("tick => [1"), "x.scn:1: an array does not end");
    }
}
