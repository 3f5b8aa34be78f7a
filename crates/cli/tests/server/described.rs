//! Descriptions of commands, compared with a real Valkey: COMMAND, from which clients learn where keys are and how to
//! spread a command over a cluster, and COMMAND DOCS, from which `valkey-cli` shows hints.

use crate::support::{Client, Server, tool};
use crate::valkey::Valkey;
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// A reply of RESP2.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reply {
    Text(String),
    Number(i64),
    List(Vec<Reply>),
}

impl Reply {
    fn read<S: Read + Write>(client: &mut Client<S>) -> Reply {
        let head = client.line();
        let (kind, rest) = head.split_at(1);
        let len = || rest.parse::<usize>().unwrap_or(0);
        match kind {
            ":" => Reply::Number(rest.parse().expect("a number")),
            "*" => Reply::List((0..len()).map(|_| Reply::read(client)).collect()),
            "$" => {
                let bytes = client.bytes(len() + 2);
                Reply::Text(String::from_utf8_lossy(&bytes[..len()]).into_owned())
            }
            _ => Reply::Text(rest.to_owned()),
        }
    }

    fn list(&self) -> &[Reply] {
        match self {
            Reply::List(list) => list,
            other => panic!("no list: {other:?}"),
        }
    }

    fn text(&self) -> &str {
        match self {
            Reply::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    /// Returns the reply with sets sorted and without texts for people.
    fn in_order(&self) -> Reply {
        let Reply::List(list) = self else { return self.clone() };
        let is_map = list.first() == Some(&Reply::Text("notes".into()));
        let list = if is_map { &list[2..] } else { &list[..] };
        let mut list: Vec<Reply> = list.iter().map(Reply::in_order).collect();
        if list.iter().all(|item| matches!(item, Reply::Text(_))) {
            list.sort_by(|one, other| one.text().cmp(other.text()));
        }
        Reply::List(list)
    }
}

const FIELDS: [&str; 9] =
    ["name", "arity", "flags", "first", "last", "step", "categories", "tips", "keys"];

/// Returns each command and subcommand by name.
fn described<S: Read + Write>(client: &mut Client<S>) -> BTreeMap<String, Reply> {
    client.send("COMMAND\r\n");
    let all = Reply::read(client);
    let mut found = BTreeMap::new();
    for spec in all.list() {
        for one in std::iter::once(spec).chain(spec.list()[9].list()) {
            found.insert(one.list()[0].text().to_owned(), one.clone());
        }
    }
    found
}

/// Intended differences from Valkey, with reasons.
const DIFFERENT: [(&str, &str, &str); 4] = [
    (
        "slowlog|get",
        "tips",
        "each port shows those of all threads: asking every port would show them again",
    ),
    ("latency|latest", "tips", "the same"),
    ("latency|history", "tips", "the same"),
    ("latency|doctor", "tips", "the same"),
];

#[test]
fn commands_are_described_as_valkey_describes_them() {
    let (server, valkey) = (Server::start(&[]), Valkey::start_9("described"));
    let ours = described(&mut server.connect());
    let theirs = described(&mut Client::over(valkey.connect()));
    let mut compared = 0;
    let mut differences = Vec::new();
    for (name, own) in &ours {
        let Some(their) = theirs.get(name) else { continue };
        compared += 1;
        for (index, field) in FIELDS.iter().enumerate() {
            let (own, their) = (own.list()[index].in_order(), their.list()[index].in_order());
            let is_known = DIFFERENT.iter().any(|(at, of, _)| at == name && of == field);
            assert!(!is_known || own != their, "{name} {field} does not differ any more");
            if own != their && !is_known {
                differences.push(format!("{name} {field}\n  ours:  {own:?}\n  theirs: {their:?}"));
            }
        }
    }
    assert!(compared > 100, "{compared} commands that both have");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns the hint that `valkey-cli` shows after a line.
fn hint(port: &str, socket: Option<&str>, line: &str) -> String {
    let place = socket.map_or(["-p", port], |socket| ["-s", socket]);
    let output = tool("valkey-cli", &[&place[..], &["--test_hint", line]].concat());
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Removes the names of arguments from a hint, because ours differ.
fn shape(hint: &str) -> String {
    let mut shape = String::new();
    for sign in hint.chars() {
        match sign {
            'a'..='z' | '-' if shape.ends_with('_') => {}
            'a'..='z' => shape.push('_'),
            _ => shape.push(sign),
        }
    }
    shape
}

#[test]
fn valkey_cli_shows_what_is_still_to_be_typed_as_beside_valkey() {
    let (server, valkey) = (Server::start(&[]), Valkey::start_9("hints"));
    let (port, socket) = (server.port.to_string(), valkey.socket());
    for line in [
        "GET ",
        "GET k ",
        "SET ",
        "SET k ",
        "SET k v ",
        "SET k v NX ",
        "SET k v EX ",
        "SET k v EX 5 ",
        "MGET ",
        "MGET a ",
        "MSET a ",
        "MSET a 1 b ",
        "INCRBY k ",
        "GETEX k ",
        "GETRANGE k 0 ",
        "SCAN ",
        "SCAN 0 MATCH ",
        "SCAN 0 MATCH * COUNT 5 ",
        "TTL ",
        "DEL a ",
        "WATCH ",
        "OBJECT ENCODING ",
        "CLIENT SETINFO ",
        "CONFIG GET ",
    ] {
        let theirs = hint("", Some(&socket), line);
        let ours = hint(&port, None, line);
        assert_eq!(shape(&ours), shape(&theirs), "{line}: {ours} and {theirs}");
    }
    for (line, shown) in [
        ("SCUR.DEBIT a ", "txn unit amount|ITEM key unit amount"),
        ("SCUR.RESERVE a ", "session request [VALIDITY duration] [TCC duration]"),
        ("SCUR.RESERVE a s 0 TCC ", "duration [VALIDITY duration]"),
        ("INCREX k ", "[BYINT n] [LBOUND n]"),
    ] {
        let ours = hint(&port, None, line);
        assert!(ours.starts_with(shown), "{line}: {ours}");
    }
}
