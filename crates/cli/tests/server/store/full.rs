//! A full disk, simulated by the limit on the size of files: a write beyond it fails like one to a full disk, it can be
//! set for one process, and it can be lifted again.

use super::{kill, place, start, under};
use crate::support::{Client, Server, array, tool};
use std::io::ErrorKind;
use std::time::Duration;

/// Limit that prevents another segment, while the open one can be written to its end.
const NO_MORE_SEGMENTS: &str = "67108863";
/// More values than fit the preallocated segments.
const VALUES_MAX: usize = 200;
/// Bound of repeated requests: each is a round trip, so this ends.
const TRIES_MAX: usize = 1_000_000;

/// Writes values until one is refused. Returns how many were accepted.
fn fill(client: &mut Client) -> usize {
    let value = vec![b'x'; 1_000_000];
    for taken in 0..VALUES_MAX {
        client.send(array(&[b"SET", format!("k{taken}").as_bytes(), &value]));
        let reply = client.line();
        if reply != "+OK" {
            assert!(reply.starts_with("-MISCONF the disk is full"), "{reply}");
            return taken;
        }
    }
    panic!("everything was taken, and there is no room");
}

/// Returns a line of INFO persistence.
fn info(client: &mut Client, name: &str) -> String {
    client.send("INFO persistence\r\n");
    let text = client.bulk();
    let mut found = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.next().unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
}

/// Repeats a request until it is accepted.
fn until_taken(client: &mut Client, request: &str) {
    for _ in 0..TRIES_MAX {
        client.send(format!("{request}\r\n"));
        let reply = client.line();
        if reply == "+OK" {
            return;
        }
        assert!(reply.starts_with("-MISCONF the disk is full"), "{reply}");
    }
    panic!("there is room, and it is not seen");
}

/// Returns the committed available and held amounts.
fn totals(client: &mut Client) -> [String; 2] {
    client.send("SCUR.TOTALS\r\n");
    let lines: Vec<String> = (0..23).map(|_| client.line()).collect();
    assert_eq!(lines[7], "$5", "{lines:?}");
    [lines[13].clone(), lines[14].clone()]
}

#[test]
fn a_log_without_room_for_more_refuses_writes_and_goes_on_with_the_rest() {
    for mode in ["write", "fsync"] {
        let directory = place(&format!("full-soft-{mode}"));
        let server = start(&directory, mode);
        let mut client = server.connect();
        client.ask("SCUR.CREATE a BUCKET b cent 100", "*2\r\n+OK\r\n:1\r\n");
        client.send("SCUR.RESERVE a s 0 TCC 60000 VALIDITY 50ms ITEM 1 cent REQUESTED 60\r\n");
        assert_eq!((0..11).map(|_| client.line()).last().as_deref(), Some(":0"));
        limit(&server, NO_MORE_SEGMENTS);
        let taken = fill(&mut client);
        assert!(taken > 20, "{mode}: the open segment takes more than {taken} values");
        // No request waits: accepted changes are in the log.
        client.ask("GET k0x", "$-1\r\n");
        client.send("SCUR.DEBIT a t cent 30\r\n");
        let refusal = client.line();
        assert!(refusal.starts_with("-MISCONF the disk is full"), "{refusal}");
        assert!(refusal.contains("make room"), "{refusal}");
        client.ask("EXISTS k0", ":1\r\n");
        client.send("SCUR.AUDIT a\r\nPING\r\n");
        assert!(client.until("+PONG\r\n").contains("cent"));
        assert_eq!(info(&mut client, "log_status"), "full");
        let sequence = info(&mut client, "log_sequence");
        assert_eq!(info(&mut client, "log_sequence_durable"), sequence);
        limit(&server, "unlimited");
        until_taken(&mut client, "SET k after");
        assert_eq!(info(&mut client, "log_status"), "ok");
        client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:0\r\n:3\r\n:30\r\n");
        kill(server);
        let server = start(&directory, mode);
        let mut client = server.connect();
        client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:1\r\n:3\r\n:30\r\n");
        client.ask("GET k", "$5\r\nafter\r\n");
        client.ask("DBSIZE", &format!(":{}\r\n", taken + 2));
    }
}

#[test]
fn what_is_due_waits_for_room() {
    let directory = place("full-due");
    let server = start(&directory, "write");
    let mut client = server.connect();
    client.ask("SCUR.CREATE a BUCKET b cent 100", "*2\r\n+OK\r\n:1\r\n");
    limit(&server, NO_MORE_SEGMENTS);
    let value = vec![b'x'; 1_000_000];
    for _ in 0..100 {
        client.send(array(&[b"SET", b"k", &value]));
        client.expect("+OK\r\n");
    }
    client.send("SCUR.RESERVE a s 0 TCC 3000 VALIDITY 50ms ITEM 1 cent REQUESTED 60\r\n");
    assert_eq!((0..11).map(|_| client.line()).last().as_deref(), Some(":0"));
    fill(&mut client);
    let held = [":40", ":60"].map(str::to_owned);
    assert_eq!(totals(&mut client), held);
    // Reads show the session as if it had been released, although nothing was committed.
    let mut shown = (0..TRIES_MAX).map(|_| {
        client.send("SCUR.CHECK a cent 100\r\n");
        let head = client.line();
        let count: usize = head.trim_start_matches('*').parse().expect("an array");
        // The code, the amount, and for a denial its cause.
        let reply: Vec<String> = (0..count).map(|_| client.line()).collect();
        reply[1] == ":100"
    });
    assert!(shown.any(|is_shown| is_shown), "the session is over");
    assert!(is_silent(&mut client));
    assert_eq!(totals(&mut client), held);
    limit(&server, "unlimited");
    let free = [":100", ":0"].map(str::to_owned);
    assert!((0..TRIES_MAX).any(|_| totals(&mut client) == free), "{:?}", totals(&mut client));
}

#[test]
fn a_server_starts_without_room_and_says_so() {
    for mode in ["write", "fsync"] {
        let directory = place(&format!("full-start-{mode}"));
        // Without a handler, the signal of this limit would end the process.
        let limited = ["sh", "-c", r#"ulimit -S -f 2000; exec "$0" "$@""#];
        let server = Server::run(&mut under(&limited, &directory, mode));
        let mut client = server.connect();
        client.send("SET k refused\r\n");
        assert!(client.line().starts_with("-MISCONF the disk is full"));
        client.ask("GET k", "$-1\r\n");
        assert_eq!(info(&mut client, "log_status"), "full");
        limit(&server, "unlimited");
        until_taken(&mut client, "SET k taken");
        kill(server);
        start(&directory, mode).connect().ask("GET k", "$5\r\ntaken\r\n");
    }
}

/// Limits the size of a server's files, in bytes or "unlimited".
fn limit(server: &Server, size: &str) {
    let pid = server.pid().to_string();
    let output = tool("prlimit", &["--pid", &pid, &format!("--fsize={size}:unlimited")]);
    assert!(output.status.success(), "{output:?}");
}

/// Reports whether no reply arrives for a while.
fn is_silent(client: &mut Client) -> bool {
    let timeout = client.stream().read_timeout().expect("it has one");
    client.stream().set_read_timeout(Some(Duration::from_millis(300))).expect("it is set");
    let mut byte = [0];
    let seen = client.stream().peek(&mut byte);
    client.stream().set_read_timeout(timeout).expect("it is set");
    let silence = [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted];
    matches!(seen, Err(error) if silence.contains(&error.kind()))
}

#[test]
fn what_is_committed_on_a_full_disk_is_answered_when_there_is_room() {
    for mode in ["write", "fsync"] {
        // On a stalled machine there may be space again before the server has read everything, so this is tried again.
        let is_on_time = (0..10).any(|_| waits_for_room(mode));
        assert!(is_on_time, "a write is done while the disk is full");
    }
}

/// Returns false if a later write was accepted: the server had not noticed that the disk is full.
fn waits_for_room(mode: &str) -> bool {
    let directory = place(&format!("full-{mode}"));
    let server = start(&directory, mode);
    let mut writer = server.connect();
    writer.ask("SCUR.CREATE a BUCKET b cent 100", "*2\r\n+OK\r\n:1\r\n");
    writer.ask("SET k before", "+OK\r\n");
    limit(&server, "100");
    // It is executed but cannot be written, so its reply is held back.
    writer.send("SCUR.DEBIT a t cent 30\r\n");
    assert!(is_silent(&mut writer), "a change was answered that is not in the log");
    // Later writes are refused before they change anything.
    let mut client = server.connect();
    client.send("SET k refused\r\nSCUR.DEBIT a u cent 1\r\nGET k\r\nSCUR.GET a\r\n");
    // A reply that shows the change waits too.
    let mut reader = server.connect();
    reader.send("SCUR.AUDIT a\r\n");
    assert!(is_silent(&mut reader), "a change was shown that is not in the log");
    limit(&server, "unlimited");
    writer.expect("*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n");
    for _ in 0..2 {
        let refusal = client.line();
        if refusal == "+OK" || refusal.starts_with('*') {
            return false;
        }
        assert!(refusal.starts_with("-MISCONF the disk is full"), "{refusal}");
        assert!(refusal.contains("make room"), "{refusal}");
    }
    client.expect("$6\r\nbefore\r\n");
    writer.ask("SET k after", "+OK\r\n");
    kill(server);
    let server = start(&directory, mode);
    let mut client = server.connect();
    client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:1\r\n:2\r\n:30\r\n");
    client.ask("GET k", "$5\r\nafter\r\n");
    true
}

#[test]
fn what_a_full_disk_never_took_is_not_there_after_a_crash() {
    let directory = place("full-crash");
    let server = start(&directory, "fsync");
    let mut client = server.connect();
    client.ask("SCUR.CREATE a BUCKET b cent 100", "*2\r\n+OK\r\n:1\r\n");
    limit(&server, "100");
    client.send("SCUR.DEBIT a t cent 30\r\n");
    assert!(is_silent(&mut client), "a change was answered that is not in the log");
    kill(server);
    let server = start(&directory, "fsync");
    let mut client = server.connect();
    client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n");
}
