//! Finding accounts on several threads: a list goes from thread to thread.

use super::slots;
use crate::support::{Client, Server};

/// Elements of the array that comes.
fn elements(client: &mut Client) -> usize {
    let head = client.line();
    let len = head.strip_prefix('*').and_then(|len| len.parse().ok());
    len.unwrap_or_else(|| panic!("no array: {head}"))
}

/// The accounts of a whole list, sorted, and the steps that it took.
fn listed(client: &mut Client, options: &str) -> (Vec<String>, usize) {
    let (mut accounts, mut cursor, mut steps) = (Vec::new(), "0".to_owned(), 0);
    loop {
        client.send(format!("SCUR.LIST {cursor} {options}\r\n"));
        assert_eq!(elements(client), 2);
        cursor = client.bulk();
        for _ in 0..elements(client) {
            assert_eq!(elements(client), 3);
            let (account, status) = (client.bulk(), client.bulk());
            accounts.push(format!("{account} {status} {}", client.line()));
        }
        steps += 1;
        if cursor == "0" {
            accounts.sort_unstable();
            return (accounts, steps);
        }
    }
}

#[test]
fn a_list_shows_the_accounts_of_every_thread_once() {
    let server = Server::start(&["--threads", "3"]);
    let mut client = server.connect();
    let mut all = Vec::new();
    for number in 0..200 {
        client.ask(&format!("SCUR.CREATE account{number}"), "*2\r\n+OK\r\n:1\r\n");
        client.ask(&format!("SET plain{number} 1"), "+OK\r\n");
        if number % 4 == 0 {
            let line = format!("SCUR.STATUS account{number} suspended");
            client.ask(&line, "*2\r\n+OK\r\n:2\r\n");
        }
        let state = if number % 4 == 0 { "suspended :2" } else { "active :1" };
        all.push(format!("account{number} {state}"));
    }
    all.sort_unstable();
    let (accounts, steps) = listed(&mut client, "COUNT 20");
    assert_eq!(accounts, all);
    assert!((20..=30).contains(&steps), "{steps} steps");
    let (suspended, _) = listed(&mut client, "COUNT 1000 STATUS suspended PREFIX account1");
    let expected = all.iter().filter(|row| row.starts_with("account1") && row.contains("susp"));
    assert_eq!(suspended, expected.cloned().collect::<Vec<_>>());
    // The port of a thread lists the accounts of that thread.
    let mut parts = Vec::new();
    for (.., port) in slots(&mut client) {
        let (part, _) = listed(&mut server.connect_to(port), "");
        assert!(part.len() > 30, "{} of a thread", part.len());
        parts.extend(part);
    }
    parts.sort_unstable();
    assert_eq!(parts, all);
}
