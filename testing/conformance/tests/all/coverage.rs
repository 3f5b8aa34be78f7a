//! Coverage of the scripts: every command with every code that it can answer, every code, and every section of the
//! rules.

use scurry_conformance::{Argument, Event, Pattern, Script, scripts};
use scurry_ledger::Code;
use scurry_resp::table::{self, CommandId, ImageId, Spec};
use std::collections::BTreeSet;
use std::path::Path;

/// Codes that no event expects, with the reason. None today.
const CODES_NOT_SHOWN: &[(Code, &str)] = &[];

/// Codes of a command that the table lists and no event expects, with the reason. None today.
const COMMAND_CODES_NOT_SHOWN: &[(&str, Code, &str)] = &[];

/// Sections of docs/ledger.md that no rule names, with the reason. None today.
const SECTIONS_NOT_SHOWN: &[(u8, &str)] = &[];

fn all() -> Vec<Script> {
    scripts().expect("the scripts are read").into_iter().map(|source| source.script).collect()
}

/// Returns pairs of a command and an expected code. A map is an answer without a code and counts as OK.
fn shown(scripts: &[Script]) -> BTreeSet<(String, String)> {
    let mut shown = BTreeSet::new();
    for line in scripts.iter().flat_map(|script| &script.lines) {
        let Event::Command { words, expected, .. } = &line.event else { continue };
        let Argument::Bytes(name) = &words[0] else { continue };
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        let code = match &expected.pattern {
            Pattern::Map(..) | Pattern::Kept(_) => Some("OK".to_owned()),
            Pattern::Word(word) if word == b"OK" => Some("OK".to_owned()),
            pattern => pattern.code(),
        };
        shown.extend(code.map(|code| (name, code)));
    }
    shown
}

/// Returns the SCUR commands on accounts, and the commands that move accounts.
fn commands() -> impl Iterator<Item = &'static Spec> {
    let moving = |spec: &&Spec| {
        matches!(spec.id, CommandId::Image(ImageId::Dump) | CommandId::Image(ImageId::Load))
    };
    table::SCUR.iter().chain(table::STORE.iter().filter(moving))
}

/// Returns the codes that the table lists for a command.
fn listed(spec: &Spec) -> impl Iterator<Item = Code> {
    spec.codes.iter().copied().chain([Code::Ok])
}

#[test]
fn every_command_is_shown_with_every_code_that_it_can_answer() {
    let shown = shown(&all());
    let is_shown =
        |spec: &Spec, code: Code| shown.contains(&(spec.name.to_owned(), code.name().to_owned()));
    let mut missing = Vec::new();
    for spec in commands() {
        for code in listed(spec) {
            let excepted = COMMAND_CODES_NOT_SHOWN
                .iter()
                .any(|(name, other, _)| *name == spec.name && *other == code);
            if is_shown(spec, code) == excepted {
                missing.push(format!("{} {}", spec.name, code.name()));
            }
        }
    }
    assert!(missing.is_empty(), "not shown, or an exception without need: {missing:?}");
}

#[test]
fn no_command_is_shown_with_a_code_that_the_table_does_not_list() {
    let mut wrong = Vec::new();
    for (name, code) in shown(&all()) {
        let Some(spec) = commands().find(|spec| spec.name == name) else { continue };
        let of_ours = Code::ALL.iter().any(|known| known.name() == code);
        if of_ours && !listed(spec).any(|listed| listed.name() == code) {
            wrong.push(format!("{name} {code}"));
        }
    }
    assert!(wrong.is_empty(), "the table does not list them: {wrong:?}");
}

#[test]
fn every_code_is_shown() {
    let shown: BTreeSet<String> = shown(&all()).into_iter().map(|(_, code)| code).collect();
    for code in Code::ALL {
        let excepted = CODES_NOT_SHOWN.iter().any(|(other, _)| other == code);
        assert_ne!(shown.contains(code.name()), excepted, "{}", code.name());
    }
}

#[test]
fn every_section_of_the_rules_is_named_by_some_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ledger.md");
    let text = std::fs::read_to_string(&path).expect("docs/ledger.md");
    let heading = |line: &str| line.strip_prefix("## ")?.split(' ').next()?.parse::<u8>().ok();
    let sections: BTreeSet<u8> = text.lines().filter_map(heading).collect();
    assert!((3..=12).all(|section| sections.contains(&section)), "{sections:?}");
    let mut named = BTreeSet::new();
    for line in all().into_iter().flat_map(|script| script.lines) {
        if let Event::Rule(rule) = line.event
            && !rule.starts_with("RFC ")
        {
            let digits = rule.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            named.insert(digits.parse::<u8>().expect("the number of a section"));
        }
    }
    for section in &sections {
        let excepted = SECTIONS_NOT_SHOWN.iter().any(|(other, _)| other == section);
        assert_ne!(named.contains(section), excepted, "section {section}");
    }
    assert!(named.is_subset(&sections), "rules name sections that docs/ledger.md does not have");
}

#[test]
fn every_row_of_table_6_is_named() {
    let rows = [
        "Idle, CC initial request received and successfully processed",
        "Idle, CC initial request received and not successfully processed",
        "Idle, CC event request received and successfully processed",
        "Idle, CC event request received and not successfully processed",
        "Open, CC update request received and successfully processed",
        "Open, CC update request received and not successfully processed",
        "Open, CC termination request received and successfully processed",
        "Open, CC termination request received and not successfully processed",
        "Open, session supervision timer Tcc expired",
    ];
    let lines: Vec<Event> =
        all().into_iter().flat_map(|script| script.lines).map(|line| line.event).collect();
    for row in rows {
        let begins = format!("RFC 8506 table 6: {row}:");
        let named = lines
            .windows(2)
            .filter(|pair| matches!(&pair[0], Event::Rule(rule) if rule.starts_with(&begins)))
            .count();
        assert_eq!(named, 1, "{row}");
    }
}

#[test]
fn every_rule_is_followed_by_something_that_shows_it() {
    for script in all() {
        let mut open = None;
        for line in &script.lines {
            match &line.event {
                // Consecutive rules are shown by the same events.
                Event::Rule(_) => open = open.or(Some(line.number)),
                Event::Tick(_) | Event::Command { .. } => open = None,
                Event::At(_) | Event::Advance(_) => {}
            }
        }
        assert_eq!(open, None, "{}: a rule without an event", script.file);
        assert!(script.events() > 0, "{}: no event", script.file);
    }
}
