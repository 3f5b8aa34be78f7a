//! What each technique changes, in counts of the server. In the guest they mean something; times do not.

use crate::support::{Client, Server, device};
use std::collections::BTreeMap;
use std::fmt::Write;

const VALUE_LEN: usize = 100;
const LONG_LEN: usize = 200_000;

/// One way to do it, by the words of --rdma-tuning.
const WAYS: [(&str, &str); 7] = [
    ("as it comes", ""),
    ("output copied", "output=copied"),
    ("nothing inline", "inline=0"),
    ("all signalled", "signal=1"),
    ("a doorbell each", "doorbells=each"),
    ("one window", "windows=1"),
    ("all of it off", OFF),
];
pub(crate) const OFF: &str = "output=copied,inline=0,signal=1,doorbells=each,windows=1,spin=0";

const COLUMNS: [&str; 13] = [
    "copies_in",
    "copied_in_bytes",
    "copies_out",
    "copied_out_bytes",
    "writes",
    "immediates",
    "inline_writes",
    "signalled",
    "doorbells",
    "receive_doorbells",
    "completions",
    "announcements",
    "stalls_in",
];

/// One request after the other, with a short answer.
fn alone(client: &mut Client) {
    for number in 1..=1_000 {
        client.ask("INCR alone", &format!(":{number}"));
    }
}

/// SET and GET by turns, 16 together.
fn together(client: &mut Client) {
    let value = "v".repeat(VALUE_LEN);
    for round in 0..250 {
        let mut text = String::new();
        for number in 0..8 {
            let key = (round * 8 + number) % 100;
            let _ = write!(text, "SET key:{key} {value}\r\nGET key:{key}\r\n");
        }
        client.send(&text);
        for _ in 0..8 {
            assert_eq!(client.line(), "+OK");
            assert_eq!(client.line(), format!("${VALUE_LEN}"));
            assert_eq!(client.line(), value);
        }
    }
}

/// Replies that take several windows of the client.
fn long(client: &mut Client) {
    for _ in 0..20 {
        client.send("GET long\r\n");
        assert_eq!(client.line(), format!("${LONG_LEN}"));
        client.bytes(LONG_LEN + 2);
    }
}

pub(crate) type Load = (&'static str, fn(&mut Client));
pub(crate) const LOADS: [Load; 3] = [
    ("1,000 requests, one after the other", alone),
    ("4,000 requests, 16 together", together),
    ("20 replies of 200,000 bytes", long),
];

/// Puts what the last load reads, and takes away what one before has left.
pub(crate) fn fill(client: &mut Client) {
    let bytes = "l".repeat(LONG_LEN);
    client.send(format!("*3\r\n$3\r\nSET\r\n$4\r\nlong\r\n${LONG_LEN}\r\n{bytes}\r\n"));
    assert_eq!(client.line(), "+OK");
    // The first counts from 1 on.
    client.send("DEL alone\r\n");
    client.line();
}

/// Counts of the server meanwhile. The INFO that asks before is in it.
fn counted(client: &mut Client, load: fn(&mut Client)) -> BTreeMap<String, u64> {
    let before = client.counts();
    load(client);
    let grown = |(name, value): (String, u64)| {
        let grown = value.saturating_sub(before.get(&name).copied().unwrap_or(0));
        (name, grown)
    };
    client.counts().into_iter().map(grown).collect()
}

#[test]
fn each_technique_saves_what_it_is_for() {
    let Some(address) = device() else { return };
    let mut all = BTreeMap::new();
    for (way, tuning) in WAYS {
        let server = Server::start(address, &["--rdma-window", "64kb", "--rdma-tuning", tuning]);
        let mut client = server.connect();
        fill(&mut client);
        for (name, load) in LOADS {
            all.insert((name, way), counted(&mut client, load));
        }
    }
    for (name, _) in LOADS {
        println!("\n{name} | {}", COLUMNS.join(" | "));
        for (way, _) in WAYS {
            let of = &all[&(name, way)];
            let values = COLUMNS.map(|column| of[column].to_string());
            println!("{way} | {}", values.join(" | "));
        }
    }
    let [(alone, _), (together, _), (long, _)] = LOADS;
    let of = |load, way, count: &str| all[&(load, way)][count];
    let usual = |load, count| of(load, "as it comes", count);
    for (load, _) in LOADS {
        assert_eq!(usual(load, "copied_out_bytes"), 0, "{load}");
    }
    assert!(of(long, "output copied", "copied_out_bytes") > 20 * LONG_LEN as u64);
    assert!(usual(alone, "inline_writes") >= 1_000);
    assert_eq!(of(alone, "nothing inline", "inline_writes"), 0);
    assert!(8 * usual(alone, "signalled") < of(alone, "all signalled", "signalled"));
    assert!(usual(alone, "completions") < of(alone, "all signalled", "completions"));
    // A long reply that is copied takes several writes, and one that is not takes one.
    assert!(usual(long, "writes") < of(long, "output copied", "writes"));
    assert!(of(long, "output copied", "doorbells") < of(long, "all of it off", "doorbells"));
    assert!(usual(together, "announcements") > 0);
    assert_eq!(usual(together, "stalls_in"), 0);
    assert!(of(together, "one window", "stalls_in") > 0);
}

#[test]
fn requests_and_replies_longer_than_all_windows_go_through() {
    let Some(address) = device() else { return };
    let server = Server::start(address, &["--rdma-window", "64kb"]);
    let mut client = server.connect();
    let value: Vec<u8> = (0..1_000_000u32).map(|number| (number % 251) as u8).collect();
    let mut request = format!("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n${}\r\n", value.len()).into_bytes();
    request.extend_from_slice(&value);
    request.extend_from_slice(b"\r\n");
    client.send(request);
    assert_eq!(client.line(), "+OK");
    client.send("GET big\r\n");
    assert_eq!(client.line(), format!("${}", value.len()));
    assert_eq!(client.bytes(value.len()), value);
    assert_eq!(client.line(), "");
    client.ask("PING", "+PONG");
}
