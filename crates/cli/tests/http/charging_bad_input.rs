//! Malformed requests to charging: each gets an answer or ends its connection, other clients are served meanwhile, and
//! no account changes.

use crate::charging::{create, open};
use crate::node::forgetting;
use crate::support::Door;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Connections that idle while other clients are served.
const IDLE: usize = 5_000;

fn connect(door: &Door) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out is set");
    stream
}

/// Sends bytes and returns everything received until the end of the connection.
fn say(door: &Door, bytes: &[u8]) -> String {
    let mut stream = connect(door);
    // The door may close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn what_is_no_request_changes_nothing() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let close = "Host: localhost\r\nConnection: close\r\n";
    let json = "Content-Type: application/json\r\nIdempotency-Key: k\r\n";
    let post = format!("POST /v1/accounts/alice/debits HTTP/1.1\r\n{close}{json}");
    let nchf = format!("POST /nchf-convergedcharging/v3/chargingdata HTTP/1.1\r\n{close}{json}");
    let body = r#"{"unit":"cent","amount":1}"#;
    let flood: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    let long = "x".repeat(300 * 1024);
    for (request, status) in [
        (format!("{post}Content-Length: {}\r\n\r\n{long}", long.len()), "413"),
        (format!("{nchf}Content-Length: {}\r\n\r\n{long}", long.len()), "413"),
        (
            format!(
                "{post}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
                long.len()
            ),
            "413",
        ),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{body}"), "400"),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\n-1\r\n{body}"), "400"),
        (format!("{post}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{body}"), "400"),
        (format!("{post}{flood}Content-Length: {}\r\n\r\n{body}", body.len()), "431"),
        (format!("{post}X: {}\r\n\r\n", "y".repeat(200 * 1024)), "431"),
        (format!("{post}Content-Length: 0\r\n\r\n"), "400"),
        (format!("GET /v1/accounts/../accounts/alice HTTP/1.1\r\n{close}\r\n"), "404"),
        (format!("GET /v1//accounts/alice HTTP/1.1\r\n{close}\r\n"), "404"),
        (format!("GET /v1/accounts/alice/ HTTP/1.1\r\n{close}\r\n"), "404"),
        (format!("GET /v1/accounts/{} HTTP/1.1\r\n{close}\r\n", "a".repeat(129)), "400"),
        (format!("GET /v1/accounts/a%00b HTTP/1.1\r\n{close}\r\n"), "400"),
        (format!("GET /v1/accounts/a%0d%0aSCUR.DELETE HTTP/1.1\r\n{close}\r\n"), "400"),
    ] {
        let answer = say(&door, request.as_bytes());
        let shown: String = request.chars().take(200).collect();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{shown:?}: {answer}");
        assert_eq!(door.ask("GET /v1/accounts/alice", &[], "").body["version"], 1);
    }
}

#[test]
fn a_client_that_disappears_has_debited_nothing_or_once() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let body = r#"{"unit":"cent","amount":1}"#;
    let head = format!(
        "POST /v1/accounts/alice/debits HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Idempotency-Key: gone\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for end in [10, 60, head.len() - 1, head.len()] {
        for _ in 0..50 {
            connect(&door).write_all(&head.as_bytes()[..end]).expect("it is sent");
        }
    }
    let reply = door.ask_once("POST /v1/accounts/alice/debits", "gone", body);
    assert_eq!(reply.status, 200);
    let account = door.ask("GET /v1/accounts/alice", &[], "").body;
    assert_eq!(account["buckets"][0]["available"], 999);
}

#[test]
fn thousands_of_connections_that_say_half_a_request_hold_up_nobody() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    let wanted = 2 * u64::try_from(IDLE).expect("a number") + 1_000;
    assert!(hard >= wanted, "this test opens {wanted} files: ulimit -Hn is {hard}");
    // The door inherits this limit.
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).expect("within the hard limit");
    let nodes = forgetting(1);
    let door = Door::charging(&nodes[0].address(), &["--max-clients", "6000"]);
    create(&door, "alice");
    let mut idle: Vec<TcpStream> = (0..IDLE).map(|_| connect(&door)).collect();
    for (number, stream) in idle.iter_mut().enumerate() {
        let half = [
            "",
            "POST /v1/acc",
            "PUT /v1/accounts/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
        ];
        stream.write_all(half[number % 3].as_bytes()).expect("it is sent");
    }
    #[expect(clippy::disallowed_methods, reason = "a test's own stop-watch")]
    let begin = Instant::now();
    for number in 0..100 {
        let body = r#"{"unit":"cent","amount":1}"#;
        let reply = door.ask_once("POST /v1/accounts/alice/debits", &number.to_string(), body);
        assert_eq!(reply.status, 200);
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    drop(idle);
    let account = door.ask("GET /v1/accounts/alice", &[], "").body;
    assert_eq!(account["buckets"][0]["available"], 900);
}
