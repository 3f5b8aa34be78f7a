//! Runs scripts through a door and compares the results.

use crate::door::{Door, ScriptStore};
use crate::kept::StoredValues;
use crate::pattern::Pattern;
use crate::script::{ARROW, BEGIN, Event, Script, moved, split};
use crate::value::Value;
use anyhow::{Context, Result, ensure};
use scurry_ledger::Code;
use scurry_resp::Protocol;
use std::fmt;

/// Result of running one script.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of compared results.
    pub events: usize,
    /// Lines with a wrong result.
    pub mismatches: Vec<Mismatch>,
}

/// An event with a wrong result.
#[derive(Debug)]
pub struct Mismatch {
    /// File of the script.
    pub file: String,
    /// Line number, from 1.
    pub number: usize,
    /// Door and protocol.
    pub door: String,
    /// Text of the event.
    pub event: String,
    /// Result that the script expects.
    pub expected: String,
    /// Actual result.
    pub actual: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { file, number, door, event, expected, actual } = self;
        write!(f, "{file}:{number}: ({door}) {event}\n  expected: {expected}\n  actual:   {actual}")
    }
}

/// Runs a script through the door, on an empty store.
pub fn run(door: &dyn Door, script: &Script, protocol: Protocol) -> Result<Outcome> {
    let mut visit = door.open(script, protocol)?;
    let mut outcome = Outcome::default();
    let (mut now, mut kept) = (BEGIN, StoredValues::default());
    for line in &script.lines {
        now = moved(now, &line.event);
        let (event, expected, actual) = match &line.event {
            Event::Tick(expected) => {
                let changed = visit.tick(now).map(|n| Value::Int(i128::try_from(n).unwrap_or(-1)));
                ("tick", expected, changed)
            }
            Event::Command { text, words, expected } => {
                let sent = kept.words(words).and_then(|words| send(visit.as_mut(), now, &words));
                (text.as_str(), expected, sent)
            }
            Event::Rule(_) | Event::At(_) | Event::Advance(_) => continue,
        };
        let place = || format!("{}:{}: ({}) {event}", script.file, line.number, door.name());
        let actual = actual.with_context(place)?;
        outcome.events += 1;
        let agrees = match &expected.pattern {
            Pattern::Kept(name) => kept.agrees(name, &actual),
            pattern => pattern.matches(&actual),
        };
        if !agrees {
            outcome.mismatches.push(Mismatch {
                file: script.file.clone(),
                number: line.number,
                door: format!("{}, RESP{}", door.name(), protocol.number()),
                event: event.to_owned(),
                expected: expected.text.clone(),
                actual: actual.to_string(),
            });
        }
    }
    Ok(outcome)
}

fn send(visit: &mut dyn ScriptStore, now: scurry_ledger::Time, words: &[Vec<u8>]) -> Result<Value> {
    let bytes = visit.send(now, words)?;
    let value = Value::read_whole(&bytes)?;
    if let Value::Error(text) = &value {
        let mut words = text.split(' ');
        let name = words.next();
        if let Some(code) = Code::ALL.iter().find(|code| Some(code.name()) == name) {
            let number = (*code as u8).to_string();
            ensure!(words.next() == Some(&number), "a refusal without its number: {text}");
        }
    }
    Ok(value)
}

/// Returns the text of a script with the expected results of mismatches replaced by the actual ones.
pub fn update(text: &str, mismatches: &[Mismatch]) -> String {
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        let found = mismatches.iter().find(|mismatch| mismatch.number == index + 1);
        match (found, split(line)) {
            (Some(mismatch), Some((event, _))) => {
                // Of an error only the code is written: its text may change.
                let actual = mismatch.actual.as_str();
                let code = actual.split(' ').next().filter(|code| code.starts_with('!'));
                out.push_str(&format!("{event}{ARROW}{}", code.unwrap_or(actual)));
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LibraryDoor;

    #[test]
    fn mismatches_are_reported_and_can_be_rewritten() {
        let text = "# kept\nSCUR.CREATE a => [OK, 2]\nSCUR.CREATE a => [OK, 1]\ntick => 0\n";
        let script = Script::parse("x.scn", text).expect("a script");
        let outcome = run(&LibraryDoor, &script, Protocol::Resp2).expect("it runs");
        assert_eq!((outcome.events, outcome.mismatches.len()), (3, 2));
        assert_eq!(
            outcome.mismatches[0].to_string(),
            "x.scn:2: (library, RESP2) SCUR.CREATE a\n  expected: [OK, 2]\n  actual:   [OK, 1]"
        );
        assert_eq!(
            update(text, &outcome.mismatches),
            "# kept\nSCUR.CREATE a => [OK, 1]\nSCUR.CREATE a => !ACCOUNT_EXISTS\ntick => 0\n"
        );
    }

    #[test]
    fn a_kept_reply_is_sent_and_compared() {
        let text = "SCUR.CREATE a => [OK, 1]\nSCUR.DUMP a => $a\nSCUR.LOAD b $a => OK\n\
                    SCUR.DUMP b => $a\nSCUR.STATUS b suspended => [OK, 2]\nSCUR.DUMP b => $a\n\
                    SCUR.STATUS a suspended => $status\n";
        let script = Script::parse("x.scn", text).expect("a script");
        let outcome = run(&LibraryDoor, &script, Protocol::Resp3).expect("it runs");
        let lines: Vec<usize> = outcome.mismatches.iter().map(|mismatch| mismatch.number).collect();
        assert_eq!((outcome.events, lines), (7, vec![6, 7]), "another image, and no string");
        let script = Script::parse("x.scn", "SCUR.LOAD b $a => OK\n").expect("a script");
        let error = run(&LibraryDoor, &script, Protocol::Resp3).expect_err("nothing is kept");
        assert!(format!("{error:#}").contains("no reply before this one was kept as $a"));
    }
}
