//! The effect of each technique, in counts of the server. In the guest counts are meaningful, times are not.

use crate::support::{Client, Server, device};
use std::collections::BTreeMap;
use std::fmt::Write;

const VALUE_LEN: usize = 100;
const LONG_LEN: usize = 200_000;

/// Settings that are compared, as values of --rdma-tuning.
const WAYS: [(&str, &str); 7] = [
    ("defaults", ""),
    ("`output=copied`", "output=copied"),
    ("`inline=0`", "inline=0"),
    ("`signal=1`", "signal=1"),
    ("`doorbells=each`", "doorbells=each"),
    ("`windows=1`", "windows=1"),
    ("all off", OFF),
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

/// One request after another, with a short answer.
fn alone(client: &mut Client) {
    for number in 1..=1_000 {
        client.ask("INCR alone", &format!(":{number}"));
    }
}

/// SET and GET in turn, 16 at a time.
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

/// Writes the values that the last load reads, and removes keys of an earlier one.
pub(crate) fn fill(client: &mut Client) {
    let bytes = "l".repeat(LONG_LEN);
    client.send(format!("*3\r\n$3\r\nSET\r\n$4\r\nlong\r\n${LONG_LEN}\r\n{bytes}\r\n"));
    assert_eq!(client.line(), "+OK");
    // The first load counts from 1.
    client.send("DEL alone\r\n");
    client.line();
}

/// Prints a table in Markdown, which docs/results keeps and the documents show.
pub(crate) fn print_table(
    title: &str,
    columns: impl Iterator<Item = String>,
    rows: &[Vec<String>],
) {
    let columns: Vec<String> = columns.collect();
    println!(
        "\n**{title}**\n\n| | {} |\n|---{}|",
        columns.join(" | "),
        "|---".repeat(columns.len())
    );
    rows.iter().for_each(|row| println!("| {} |", row.join(" | ")));
}

/// Formats a number with a comma at each thousand.
pub(crate) fn grouped(number: u64) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{},{rest:03}", grouped(thousands)),
    }
}

/// Returns the server's counts during a load, including the INFO that was asked before.
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
    for (load, _) in LOADS {
        // A column without any count is left out.
        let mut columns = COLUMNS.to_vec();
        columns.retain(|column| WAYS.iter().any(|(way, _)| all[&(load, *way)][*column] > 0));
        let rows = WAYS.map(|(way, _)| {
            let values = columns.iter().map(|column| grouped(all[&(load, way)][*column]));
            [way.to_owned()].into_iter().chain(values).collect()
        });
        let named = columns.iter().map(|column| column.replace('_', " "));
        print_table(load, named, &rows);
    }
    let [(alone, _), (together, _), (long, _)] = LOADS;
    let of = |load, way, count: &str| all[&(load, way)][count];
    let usual = |load, count| of(load, "defaults", count);
    for (load, _) in LOADS {
        assert_eq!(usual(load, "copied_out_bytes"), 0, "{load}");
    }
    assert!(of(long, "`output=copied`", "copied_out_bytes") > 20 * LONG_LEN as u64);
    assert!(usual(alone, "inline_writes") >= 1_000);
    assert_eq!(of(alone, "`inline=0`", "inline_writes"), 0);
    assert!(8 * usual(alone, "signalled") < of(alone, "`signal=1`", "signalled"));
    assert!(usual(alone, "completions") < of(alone, "`signal=1`", "completions"));
    // A long reply that is copied takes several writes; one that is not takes one.
    assert!(usual(long, "writes") < of(long, "`output=copied`", "writes"));
    assert!(of(long, "`output=copied`", "doorbells") < of(long, "all off", "doorbells"));
    assert!(usual(together, "announcements") > 0);
    assert_eq!(usual(together, "stalls_in"), 0);
    assert!(of(together, "`windows=1`", "stalls_in") > 0);
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
