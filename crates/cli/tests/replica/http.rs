//! The HTTP doors of three nodes: each serves everything, whichever node leads, so a load balancer in front of them is
//! enough. Requests are sent as such a balancer sends them: repeated with their id to the next door.

use crate::nodes::Nodes;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

const JSON: &str = "application/json";

/// Returns status, head and body of the answer of a node's door. None without an answer.
pub(crate) fn ask(
    nodes: &Nodes,
    node: usize,
    line: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let mut stream = TcpStream::connect(nodes.http_address(node)).ok()?;
    let len = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Type: {JSON}\r\n\
         Content-Length: {len}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

#[derive(Debug)]
pub(crate) struct Answer {
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("it is JSON: {self:?}"))
    }
}

/// Sends a request to these nodes in turn until an answer is neither 503 nor 504.
fn until_answered(nodes: &Nodes, by: &[usize], line: &str, headers: &str, body: &str) -> Answer {
    let mut turn = by.iter().cycle();
    nodes.until("a request is answered", || {
        let node = *turn.next()?;
        ask(nodes, node, line, headers, body).filter(|answer| !matches!(answer.status, 503 | 504))
    })
}

fn debit(nodes: &Nodes, node: usize, number: usize) -> Answer {
    let key = format!("Idempotency-Key: debit-{number}\r\n");
    let body = r#"{"unit":"cent","amount":1}"#;
    until_answered(nodes, &[node], "POST /v1/accounts/purse/debits", &key, body)
}

fn ready(nodes: &Nodes, node: usize) -> Option<Answer> {
    ask(nodes, node, "GET /readyz", "", "")
}

/// Returns the available amount of the account's bucket `main`.
fn left(nodes: &Nodes, node: usize) -> i64 {
    let shown = until_answered(nodes, &[node], "GET /v1/accounts/purse", "", "").json();
    shown["buckets"][0]["available"].as_i64().unwrap_or_else(|| panic!("{shown}"))
}

fn create(nodes: &Nodes) {
    let body = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":10000}]}"#;
    let key = "Idempotency-Key: create-1\r\n";
    let made = until_answered(nodes, &[0, 1, 2], "PUT /v1/accounts/purse", key, body);
    assert_eq!(made.status, 201, "{made:?}");
}

#[test]
fn every_door_charges_and_shows_the_group_whichever_node_leads() {
    let mut nodes = Nodes::start_with_doors(3, 2, Vec::new());
    create(&nodes);
    for node in 0..3 {
        nodes.until("the door is ready", || ready(&nodes, node).filter(|said| said.status == 200));
        let answer = debit(&nodes, node, node);
        assert_eq!(answer.status, 200, "{answer:?}");
        // Another door returns the stored answer.
        let again = debit(&nodes, (node + 1) % 3, node);
        assert!(again.status == 200 && again.head.contains("idempotency-replayed"), "{again:?}");
        let page = ask(&nodes, node, "GET /metrics", "", "").expect("it answers").body;
        assert!(page.contains("scurry_group_members 3"), "the console's page: {page}");
        let account = "GET /v1/console/account?id=purse";
        let shown = until_answered(&nodes, &[node], account, "", "").json();
        let left = (9_999 - node).to_string();
        assert_eq!(shown["buckets"][0]["available"], left, "{shown}");
        let statement = "GET /v1/accounts/purse/statement?newest_first=true";
        let shown = until_answered(&nodes, &[node], statement, "", "").json();
        assert!(shown["entries"].is_array(), "{shown}");
    }
    let leader = nodes.leader();
    let others: Vec<usize> = (0..3).filter(|node| *node != leader).collect();
    let session = "POST /v1/accounts/purse/sessions/call";
    let item = r#""key":1,"unit":"cent""#;
    let body = format!(r#"{{"request":0,"items":[{{{item},"requested":100}}]}}"#);
    let opened = until_answered(&nodes, &others[..1], session, "", &body);
    assert_eq!(opened.status, 201, "{opened:?}");
    nodes.signal(leader, Signal::SIGKILL);
    let update = format!("{session}/update");
    for (request, node) in (1..20).zip(others.iter().cycle()) {
        let body =
            format!(r#"{{"request":{request},"items":[{{{item},"used":10,"requested":100}}]}}"#);
        let updated = until_answered(&nodes, &[*node], &update, "", &body);
        assert_eq!(updated.status, 200, "{updated:?}");
        let granted = &updated.json()["items"][0]["granted"];
        assert_eq!(*granted, 100, "{updated:?}");
    }
    let body = format!(r#"{{"request":20,"items":[{{{item},"used":7}}]}}"#);
    let ended = until_answered(&nodes, &others, &format!("{session}/terminate"), "", &body);
    assert_eq!(ended.status, 200, "{ended:?}");
    let expected = 10_000 - 3 - 19 * 10 - 7;
    for node in &others {
        assert_eq!(left(&nodes, *node), expected);
        nodes.until("the door is ready", || ready(&nodes, *node).filter(|said| said.status == 200));
    }
    nodes.start_again(leader);
    nodes.wait_for_all();
    assert_eq!(left(&nodes, leader), expected);
}

#[test]
fn doors_say_in_words_that_nobody_leads_and_lose_nothing() {
    let mut nodes = Nodes::start_with_doors(3, 1, Vec::new());
    create(&nodes);
    let leader = nodes.leader();
    let (one, other) = ((leader + 1) % 3, (leader + 2) % 3);
    let answer = debit(&nodes, one, 1);
    assert_eq!(answer.status, 200, "{answer:?}");
    nodes.signal(leader, Signal::SIGKILL);
    nodes.signal(other, Signal::SIGKILL);
    let said = nodes
        .until("the door is not ready", || ready(&nodes, one).filter(|said| said.status == 503));
    let words = |said: &Answer| said.body.contains("no node of the group leads");
    let said = if words(&said) {
        said
    } else {
        // The node had not yet noticed that the leader is gone.
        nodes.until("the door says why", || ready(&nodes, one).filter(words))
    };
    assert!(said.head.to_ascii_lowercase().contains("retry-after: 1"), "{said:?}");
    let alive = ask(&nodes, one, "GET /healthz", "", "").expect("it answers");
    assert_eq!(alive.status, 200, "{alive:?}");
    let key = "Idempotency-Key: debit-2\r\n";
    let body = r#"{"unit":"cent","amount":1}"#;
    let refused = ask(&nodes, one, "POST /v1/accounts/purse/debits", key, body);
    let refused = refused.expect("it answers");
    assert!(matches!(refused.status, 503 | 504), "{refused:?}");
    nodes.start_again(leader);
    nodes.start_again(other);
    nodes.wait_for_all();
    let answer = debit(&nodes, one, 2);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(left(&nodes, other), 9_998);
}

/// Returns a token and its hash, made by the binary.
fn token() -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry")).arg("make-token").output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, token, _, hash] = words[..] else { panic!("{text}") };
    (format!("Authorization: Bearer {token}\r\n"), hash.to_owned())
}

#[test]
fn users_may_do_at_every_door_what_they_may_do_at_the_one_of_the_leader() {
    let mut nodes = Nodes::start_with_doors(3, 1, Vec::new());
    create(&nodes);
    let (reader, charger) = (token(), token());
    let entry = |name: &str, hash: &str, role: &str| {
        format!("[[users]]\nname = \"{name}\"\ntoken_hash = \"{hash}\"\nroles = [\"{role}\"]\n")
    };
    let users = entry("reader", &reader.1, "read") + &entry("charger", &charger.1, "charge");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("scurry.toml");
    std::fs::write(&file, users).expect("it is written");
    let file = file.to_str().expect("text").to_owned();
    nodes.set_options(vec!["--config".to_owned(), file]);
    (0..3).for_each(|node| nodes.start_again(node));
    for node in 0..3 {
        nodes.until("the door is ready", || ready(&nodes, node).filter(|said| said.status == 200));
        let debit = |who: &str| {
            let key = format!("Idempotency-Key: debit-{node}\r\n{who}");
            let body = r#"{"unit":"cent","amount":1}"#;
            until_answered(&nodes, &[node], "POST /v1/accounts/purse/debits", &key, body).status
        };
        let show =
            |who: &str| until_answered(&nodes, &[node], "GET /v1/accounts/purse", who, "").status;
        assert_eq!((debit(""), debit(&reader.0), debit(&charger.0)), (401, 403, 200), "{node}");
        assert_eq!((show(""), show(&reader.0), show(&charger.0)), (401, 200, 403), "{node}");
        let said = nodes.until("the main port answers", || nodes.try_execute(&["GET", "key"]));
        assert!(said.starts_with("-NOAUTH"), "{said}");
    }
    let shown = until_answered(&nodes, &[0], "GET /v1/accounts/purse", &reader.0, "").json();
    assert_eq!(shown["buckets"][0]["available"], 9_997, "{shown}");
}
