//! Errors of clients give one line in the log and not one line each time.

use crate::node::{forgetting, keeping};
use crate::support::Door;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

/// Repetitions of each error.
const TIMES: usize = 200;
/// Bound of polls for a log line.
const LOOKS_MAX: usize = 400;

/// Sends bytes on a new connection. Reads the answer if `waits` is true.
fn say(door: &Door, bytes: &[u8], waits: bool) {
    let mut stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out is set");
    // The door may close before it has read everything.
    let _ = stream.write_all(bytes);
    if waits {
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

/// Waits for log lines with this text and returns them.
pub(crate) fn lines(door: &Door, text: &str) -> Vec<String> {
    for _ in 0..LOOKS_MAX {
        let log = door.log();
        let lines: Vec<String> =
            log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect();
        if !lines.is_empty() {
            return lines;
        }
        thread::sleep(Duration::from_millis(50)); // tidy: allow (the door has to get there)
    }
    panic!("nothing says {text:?}: {}", door.log());
}

/// Repeats a bad request between requests of a healthy client, and checks that it is logged once.
fn is_told_once(door: &Door, request: &str, waits: bool, text: &str) {
    for time in 0..TIMES {
        say(door, request.as_bytes(), waits);
        if time % 50 == 0 {
            assert_eq!(door.get("/healthz").0, 200);
        }
    }
    let lines = lines(door, text);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("INFO") && lines[0].contains("client=127.0.0.1:"), "{lines:?}");
}

#[test]
fn each_kind_of_bad_request_is_told_once() {
    let nodes = keeping(1);
    let door = Door::before(&[nodes[0].address()], &["--max-value", "1kb"]);
    door.wait_until_ready(1);
    let close = "Host: localhost\r\nConnection: close\r\n";
    let put = format!("PUT /v0/entity?id=x HTTP/1.1\r\n{close}");
    let long = "y".repeat(2_000);
    let flood: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    for (request, text) in [
        (format!("{put}Content-Length: 2000\r\n\r\n{long}"), "status=413"),
        (format!("{put}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"), "status=400"),
        (format!("GET /v0/status HTTP/1.1\r\n{flood}{close}\r\n"), "the head of a request"),
        (format!("GET /v0/../v0/status HTTP/1.1\r\n{close}\r\n"), "status=404"),
        (format!("BREW /v0/entity?id=x HTTP/1.1\r\n{close}\r\n"), "status=405"),
        ("*1\r\n$4\r\nPING\r\n".to_owned(), "does not speak HTTP/1.1"),
    ] {
        is_told_once(&door, &request, true, text);
    }
    // A missing entity is not an error, and neither is a client that connects and disconnects.
    for number in 0..TIMES {
        assert_eq!(door.get(&format!("/v0/entity?id={number}")).0, 404);
        say(&door, b"", false);
    }
    // The line about the node that is ready may come before the door is open, and is then not among these.
    assert_eq!(lines(&door, "client=").len(), 6, "{}", door.log());
}

#[test]
fn who_goes_away_in_the_middle_is_told_once() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let head = "PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\n";
    is_told_once(&door, head, false, "a client went away");
    // A body that ends too early belongs to a request that is already being served.
    is_told_once(&door, &format!("{head}Content-Length: 100\r\n\r\nhalf"), false, "status=400");
}

#[test]
fn a_wrong_type_is_told_once() {
    let nodes = forgetting(1);
    let door = Door::charging(&nodes[0].address(), &[]);
    let request = "PUT /v1/accounts/alice HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                   Content-Type: image/png\r\nContent-Length: 2\r\n\r\n{}";
    is_told_once(&door, request, true, "status=415");
}
