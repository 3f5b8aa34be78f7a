//! The command table as JSON, for programs: clients in other languages are generated from it, so that a build is enough
//! to add a new command to them.

use crate::table::{ENTITY, SCUR, STORE, Spec};
use scurry_ledger::{Code, CodeKind};
use std::fmt::Write;

/// Returns `docs/commands.json`: the result codes in order of precedence, and the SCUR, entity and store commands in
/// the order of the reference page, one per line.
pub fn table_json() -> String {
    let codes: Vec<String> = Code::ALL.iter().map(|code| code_object(*code)).collect();
    let specs = SCUR.iter().chain(ENTITY).chain(STORE);
    let commands: Vec<String> = specs.map(command_object).collect();
    format!(
        "{{\"codes\": [\n{}\n], \"commands\": [\n{}\n]}}\n",
        codes.join(",\n"),
        commands.join(",\n")
    )
}

fn code_object(code: Code) -> String {
    let kind = match code.kind() {
        CodeKind::Success => "success",
        CodeKind::Denial => "denial",
        CodeKind::Reject => "reject",
    };
    format!(
        "{{\"name\": {}, \"number\": {}, \"kind\": {}, \"http\": {}, \"meaning\": {}}}",
        quoted(code.name()),
        code as u8,
        quoted(kind),
        code.http(),
        quoted(code.meaning())
    )
}

fn command_object(spec: &Spec) -> String {
    let codes: Vec<String> = spec.codes.iter().map(|code| quoted(code.name())).collect();
    let (first_key, _, _) = spec.keys;
    format!(
        "{{\"name\": {}, \"group\": {}, \"role\": {}, \"arity\": {}, \"first_key\": {first_key}, \"summary\": {}, \
         \"grammar\": {}, \"reply\": {}, \"codes\": [{}], \"since\": {}, \"example\": {}, \"notes\": {}}}",
        quoted(spec.name),
        quoted(spec.group),
        quoted(spec.role.name()),
        spec.arity,
        quoted(spec.summary),
        quoted(spec.grammar),
        quoted(spec.reply),
        codes.join(", "),
        quoted(spec.since),
        quoted(spec.example),
        quoted(spec.notes)
    )
}

/// Returns a JSON string (RFC 8259 section 7).
fn quoted(text: &str) -> String {
    let mut string = String::from("\"");
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '"' | '\\' => write!(string, "\\{c}"),
            '\n' => write!(string, "\\n"),
            c if c < ' ' => write!(string, "\\u{:04x}", u32::from(c)),
            c => write!(string, "{c}"),
        };
    }
    string.push('"');
    string
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_reserves_is_escaped() {
        assert_eq!(quoted("a \"b\" \\ c\nd\u{1}é"), "\"a \\\"b\\\" \\\\ c\\nd\\u0001é\"");
    }

    #[test]
    fn every_command_and_code_has_one_line() {
        let json = table_json();
        let lines = |start: &str| json.lines().filter(|line| line.starts_with(start)).count();
        let commands = SCUR.len() + ENTITY.len() + STORE.len();
        assert_eq!(lines("{\"name\": "), Code::ALL.len() + commands);
        assert!(json.contains("{\"name\": \"BUSY\", \"number\": 50, \"kind\": \"reject\", "));
        assert!(json.contains("\"grammar\": \"account [FORCE] [IFTXN txn]\""));
    }
}
