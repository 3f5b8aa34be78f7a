//! Finding accounts with several threads: a list goes from thread to thread.

use super::slots;
use crate::support::{Client, Server, array, serve};

/// Reads the head of an array and returns its length.
fn elements(client: &mut Client) -> usize {
    let head = client.line();
    let len = head.strip_prefix('*').and_then(|len| len.parse().ok());
    len.unwrap_or_else(|| panic!("no array: {head}"))
}

/// Reads a whole list. Returns the accounts, sorted, and the number of steps.
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
    // The port of a thread lists only that thread's accounts.
    let mut parts = Vec::new();
    for (.., port) in slots(&mut client) {
        let (part, _) = listed(&mut server.connect_to(port), "");
        assert!(part.len() > 30, "{} of a thread", part.len());
        parts.extend(part);
    }
    parts.sort_unstable();
    assert_eq!(parts, all);
}

/// Returns the accounts with an identity, sorted, and whether there are more.
fn found(client: &mut Client, kind: &str, value: &str) -> (Vec<String>, bool) {
    client.send(format!("SCUR.FIND {kind} {value}\r\n"));
    assert_eq!(elements(client), 2);
    let more = client.line() == ":1";
    let mut accounts: Vec<String> = (0..elements(client)).map(|_| client.bulk()).collect();
    accounts.sort_unstable();
    (accounts, more)
}

#[test]
fn accounts_of_every_thread_are_found_by_identity() {
    let server = Server::start(&["--threads", "3"]);
    let mut client = server.connect();
    for number in 0..20 {
        let line =
            format!("SCUR.CREATE a{number} IDENTITY n {number} IDENTITY team {}", number / 10);
        client.ask(&line, "*2\r\n+OK\r\n:1\r\n");
    }
    for number in 0..20 {
        let expected = (vec![format!("a{number}")], false);
        assert_eq!(found(&mut client, "n", &number.to_string()), expected);
    }
    let (team, more) = found(&mut client, "team", "1");
    assert_eq!((team.len(), more), (10, false));
    assert_eq!(found(&mut client, "team", "2"), (vec![], false));
    for number in 10..20 {
        let line = format!("SCUR.STATUS a{number} active IDENTITY team 0");
        client.ask(&line, "*2\r\n+OK\r\n:2\r\n");
    }
    let (team, more) = found(&mut client, "team", "0");
    assert_eq!((team.len(), more), (16, true), "so many are listed at most");
    // The port of a thread finds only that thread's accounts.
    let ports = slots(&mut client);
    let parts = ports.iter().map(|(.., port)| found(&mut server.connect_to(*port), "team", "0"));
    assert_eq!(parts.map(|(part, _)| part.len()).sum::<usize>(), 20);
    client.ask(
        "SCUR.FIND n",
        "-ERR wrong number of arguments for 'scur.find' command: SCUR.FIND kind value [SESSION session]\r\n",
    );
    let wrong =
        "-INVALID 10 identity value must be 1 to 255 printable ASCII characters without space\r\n";
    client.send(array(&[b"SCUR.FIND", b"n", b""]));
    client.expect(wrong);
}

/// Returns the account of a session by a number, with what it is to both, and whether it gave the number up.
fn account_of(client: &mut Client, session: &str) -> String {
    client.send(format!("SCUR.FIND msisdn 417 SESSION {session}\r\n"));
    let len = elements(client);
    assert_eq!(client.line(), ":0");
    if elements(client) == 0 {
        assert_eq!(len, 2);
        return "none".to_owned();
    }
    assert_eq!(len, 4);
    let (account, standing, time) = (client.bulk(), client.line(), client.line());
    format!("{account} {} {}", &standing[1..], if time == "$-1" { "has it" } else { "gave it up" })
}

/// The keys `b` and `c` belong to two threads; the connection to a third one.
#[test]
fn a_session_is_found_on_the_thread_of_its_account_when_the_number_has_moved() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = directory.path().join("store");
    let dir = ["--dir", store.to_str().expect("UTF-8"), "--threads", "3"];
    let server = Server::start(&dir);
    let mut client = server.connect();
    let ok = |version: u32| format!("*2\r\n+OK\r\n:{version}\r\n");
    let granted = "*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:10\r\n:0\r\n:0\r\n";
    client.ask("SCUR.CREATE b IDENTITY msisdn 417 BUCKET main cent 100", &ok(1));
    client.ask("SCUR.CREATE c BUCKET main cent 100", &ok(1));
    let owner = |key: &str| {
        let has = |port: u16| {
            let mut thread = server.connect_to(port);
            thread.send(format!("SCUR.GET {key}\r\n"));
            !thread.line().starts_with('-')
        };
        slots(&mut server.connect()).into_iter().position(|(.., port)| has(port))
    };
    assert!(owner("b").is_some() && owner("b") != owner("c"), "two threads");
    assert_eq!(account_of(&mut client, "s"), "b present has it");
    client.ask("SCUR.RESERVE b s 0 ITEM 1 cent REQUESTED 10", granted);
    client.send(array(&[b"SCUR.STATUS", b"b", b"active", b"IDENTITY", b"msisdn", b""]));
    client.expect(&ok(3));
    client.ask("SCUR.STATUS c active IDENTITY msisdn 417", &ok(2));
    assert_eq!(found(&mut client, "msisdn", "417"), (vec!["c".to_owned()], false));
    client.ask("SCUR.RESERVE c t 0 ITEM 1 cent REQUESTED 10", granted);
    let all = [("s", "b open gave it up"), ("t", "c open has it"), ("u", "b former gave it up")];
    for (session, account) in all {
        assert_eq!(account_of(&mut client, session), account);
    }
    client.ask("SCUR.RELEASE b s", "*4\r\n+OK\r\n:0\r\n:0\r\n*0\r\n");
    assert_eq!(account_of(&mut client, "s"), "b ended gave it up");
    // The index is made from the log when the server starts again.
    drop(server);
    let server = Server::start(&dir);
    let mut client = server.connect();
    let all = [("s", "b ended gave it up"), ("t", "c open has it"), ("u", "b former gave it up")];
    for (session, account) in all {
        assert_eq!(account_of(&mut client, session), account);
    }
}

#[test]
fn a_session_that_is_forgotten_belongs_to_the_holder_when_the_former_identity_is_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("scurry.toml");
    std::fs::write(&path, "[limits]\ntombstone_ms = 1\ntransaction_ms = 1\n").expect("written");
    let config = path.to_str().expect("UTF-8");
    let server = Server::start(&["--threads", "3", "--config", config]);
    let mut client = server.connect();
    let ok = |version: u32| format!("*2\r\n+OK\r\n:{version}\r\n");
    client.ask("SCUR.CREATE b IDENTITY msisdn 417", &ok(1));
    client.ask("SCUR.CREATE c", &ok(1));
    client.ask("SCUR.RESERVE b s 0", "*4\r\n+OK\r\n:0\r\n:1\r\n*0\r\n");
    client.send(array(&[b"SCUR.STATUS", b"b", b"active", b"IDENTITY", b"msisdn", b""]));
    client.expect(&ok(3));
    client.ask("SCUR.STATUS c active IDENTITY msisdn 417", &ok(2));
    assert_eq!(account_of(&mut client, "s"), "b open gave it up", "however often it was due");
    client.ask("SCUR.RELEASE b s", "*4\r\n+OK\r\n:0\r\n:0\r\n*0\r\n");
    // Both are forgotten within some milliseconds.
    let mut is_forgotten = || account_of(&mut client, "s") == "c present has it";
    assert!((0..100_000).any(|_| is_forgotten()), "the session is still found");
}

const EXISTS: &str =
    "-IDENTITY_EXISTS 22 another account has this identity: find it with SCUR.FIND\r\n";

/// The keys `b`, `c` and `foo` belong to three threads.
#[test]
fn an_identity_of_a_unique_kind_is_had_once_over_all_threads_and_behind_a_crash() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = directory.path().join("store");
    let options = ["--dir", store.to_str().expect("UTF-8"), "--threads", "3"];
    let unique = [&options[..], &["--unique-identities", "msisdn,imsi"]].concat();
    let server = Server::start(&unique);
    let mut client = server.connect();
    let ok = |version: u32| format!("*2\r\n+OK\r\n:{version}\r\n");
    client.ask("SCUR.CREATE b IDENTITY msisdn 4179 IDENTITY team x", &ok(1));
    client.ask("SCUR.CREATE c IDENTITY msisdn 4179", EXISTS);
    client.ask("SCUR.CREATE c IDENTITY msisdn 4178 IDENTITY team x", &ok(1));
    client.ask(
        "SCUR.CREATE c IDENTITY msisdn 4179",
        "-ACCOUNT_EXISTS 21 an account with this id exists: read it with SCUR.GET\r\n",
    );
    client.ask("SCUR.CREATE foo IDENTITY imsi 1 IDENTITY msisdn 4178", EXISTS);
    // The refused command changed nothing.
    client.ask("SCUR.CREATE foo IDENTITY imsi 1", &ok(1));
    client.ask("SCUR.STATUS foo active IDENTITY msisdn 4179", EXISTS);
    client.ask("SCUR.STATUS b active IDENTITY msisdn 4179", &ok(2));
    client.ask(
        "CONFIG GET unique-identities",
        "*2\r\n$17\r\nunique-identities\r\n$11\r\nmsisdn,imsi\r\n",
    );
    // The server is killed, and started with another number of threads.
    drop(server);
    let again = [&unique[..3], &["2"], &unique[4..]].concat();
    let server = Server::start(&again);
    let mut client = server.connect();
    assert_eq!(found(&mut client, "msisdn", "4179"), (vec!["b".to_owned()], false));
    assert_eq!(found(&mut client, "team", "x").0, ["b", "c"]);
    client.ask("SCUR.STATUS foo active IDENTITY msisdn 4179", EXISTS);
    client.send(array(&[b"SCUR.STATUS", b"b", b"active", b"IDENTITY", b"msisdn", b""]));
    client.expect(&ok(3));
    // The loss of the identity is durable when it is acknowledged, and the claim ends then.
    for attempt in 0.. {
        client.send("SCUR.STATUS foo active IDENTITY msisdn 4179\r\n");
        let line = client.line();
        if line == "*2" {
            client.expect("+OK\r\n:2\r\n");
            break;
        }
        assert_eq!(format!("{line}\r\n"), EXISTS, "attempt {attempt}");
        assert!(attempt < 100_000, "the claim does not end");
    }
    assert_eq!(found(&mut client, "msisdn", "4179").0, ["foo"]);
    let refused = serve(&["--unique-identities", "a kind"]).output().expect("it runs");
    let log = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && log.contains("--unique-identities"), "{log}");
}
