//! Malformed requests: each gets an answer or ends its connection, and other clients are served meanwhile.

use crate::node::keeping;
use crate::support::Door;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Sends bytes and returns everything received until the end of the connection.
fn say(door: &Door, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out is set");
    // The door may close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_value_that_is_too_long_is_refused() {
    let nodes = keeping(1);
    let address = [nodes[0].address()];
    let door = Door::before(&address, &["--max-value", "1kb"]);
    door.wait_until_ready(1);
    assert_eq!(door.put("/v0/entity?id=x", &[0; 1_024]).0, 201);
    assert_eq!(door.put("/v0/entity?id=x", &[0; 1_025]).0, 413);
    let head = "PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n800\r\n{}", "x".repeat(2_048));
    let answer = say(&door, chunked.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let (status, body) = door.get("/v0/entity?id=x");
    assert_eq!((status, body.len()), (200, 1_024));
}

#[test]
fn an_answer_before_the_end_of_a_body_says_that_the_connection_closes() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    // The rest of the body is never sent.
    let body = "Transfer-Encoding: chunked\r\n\r\n5\r\nab";
    for (request, status) in [("PUT /v0/entity?id=x", 501), ("PUT /v0/none", 404)] {
        let head = format!("{request} HTTP/1.1\r\nHost: localhost\r\nIf-Match: *\r\n");
        let answer = say(&door, format!("{head}{body}").as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
        assert!(answer.contains("connection: close\r\n"), "{request}: {answer}");
    }
    let put = "PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab";
    let get = "GET /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answers = say(&door, format!("{put}{get}").as_bytes());
    assert_eq!(answers.matches("HTTP/1.1 20").count(), 2, "a body that was read ends nothing");
}

#[test]
fn what_is_no_request_is_refused() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let close = "Host: localhost\r\nConnection: close\r\n";
    let put = format!("PUT /v0/entity?id=x HTTP/1.1\r\n{close}");
    let headers: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    for (request, status) in [
        ("\0\x01\x02\r\n\r\n".to_owned(), "400"),
        ("*1\r\n$4\r\nPING\r\n".to_owned(), "400"),
        (format!("{put}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"), "400"),
        (format!("{put}Content-Length: -1\r\n\r\n"), "400"),
        (format!("{put}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "400"),
        (format!("GET /v0/status HTTP/1.1\r\n{headers}{close}\r\n"), "431"),
        (format!("GET /v0/status?{} HTTP/1.1\r\n{close}\r\n", "x".repeat(1 << 20)), "4"),
        (format!("GET /v0/../v0/status HTTP/1.1\r\n{close}\r\n"), "404"),
        (format!("GET /v0/%73tatus HTTP/1.1\r\n{close}\r\n"), "404"),
        (format!("GET //v0/status HTTP/1.1\r\n{close}\r\n"), "404"),
        (format!("BREW /v0/entity?id=x HTTP/1.1\r\n{close}\r\n"), "405"),
    ] {
        let answer = say(&door, request.as_bytes());
        let shown: String = request.chars().take(60).collect();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{shown:?}: {answer}");
        assert_eq!(door.get("/healthz").0, 200);
    }
}

#[test]
fn what_the_library_refuses_has_a_status_and_no_body() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let head = "PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    for (headers, status) in [
        ("Content-Length: 1\r\nContent-Length: 2\r\n", "400"),
        ("Content-Length: x\r\n", "400"),
        ("Transfer-Encoding: gzip\r\n", "400"),
        (&many, "431"),
    ] {
        let answer = say(&door, format!("{head}{headers}\r\n").as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers:?}: {answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{headers:?}: {answer}");
        assert!(answer.contains("content-length: 0"), "{headers:?}: {answer}");
    }
}

#[test]
fn who_goes_away_in_the_middle_harms_nobody() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let head = "PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf";
    for end in [10, 40, head.len()] {
        for _ in 0..50 {
            let mut stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
            stream.write_all(&head.as_bytes()[..end]).expect("it is sent");
        }
    }
    assert_eq!(door.get("/v0/entity?id=x").0, 404);
    assert_eq!(door.put("/v0/entity?id=x", b"whole").0, 201);
    assert_eq!(door.get("/v0/entity?id=x"), (200, b"whole".to_vec()));
}

#[test]
fn who_closes_the_writing_side_gets_the_answer_and_then_the_end() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let put = "PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nblue";
    let half = put.strip_suffix("ue").expect("a part");
    for (request, status) in [(put, "HTTP/1.1 201"), (half, "")] {
        let mut stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out is set");
        stream.write_all(request.as_bytes()).expect("it is sent");
        stream.shutdown(Shutdown::Write).expect("it is closed");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the door ends it");
        assert!(answer.starts_with(status), "{answer}");
    }
    assert_eq!(door.get("/v0/entity?id=x"), (200, b"blue".to_vec()));
}

#[test]
fn more_connections_than_are_allowed_are_closed_and_others_served() {
    let nodes = keeping(1);
    let address = [nodes[0].address()];
    let door = Door::before(&address, &["--max-clients", "8"]);
    door.wait_until_ready(1);
    let mut idle: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(("127.0.0.1", door.port())).expect("it listens"))
        .collect();
    let mut closed = 0;
    for stream in &mut idle {
        stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out is set");
        closed += usize::from(matches!(stream.read(&mut [0]), Ok(0)));
    }
    // The client of this test holds one connection too.
    assert!((32..=33).contains(&closed), "{closed} of 40 were closed");
    assert_eq!(door.get("/healthz").0, 200);
    drop(idle);
    door.wait_until_ready(1);
}

#[test]
fn what_no_request_may_be_like_is_refused_at_every_path() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let close = "Connection: close\r\n";
    for path in ["/v0/entity?id=x", "/healthz", "/v0/status", "/", "/nowhere"] {
        let put = |header: &str| {
            let head = format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\n{close}{header}\r\n\r\n");
            format!("{head}1\r\nx\r\n0\r\n\r\n")
        };
        for (request, status) in [
            (format!("GET {path} HTTP/1.1\r\n{close}\r\n"), "400"),
            (format!("GET {path} HTTP/1.1\r\nHost: x\r\nHost: x\r\n{close}\r\n"), "400"),
            (format!("GET {path} HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n"), "400"),
            (format!("GET {path}%zz HTTP/1.1\r\nHost: localhost\r\n{close}\r\n"), "400"),
            (format!("GET {path}%2 HTTP/1.1\r\nHost: localhost\r\n{close}\r\n"), "400"),
            (format!("GET {path}?%zz HTTP/1.1\r\nHost: localhost\r\n{close}\r\n"), "400"),
            (
                format!(
                    "PUT {path} HTTP/1.1\r\nHost: localhost\r\n{close}Content-Encoding: gzip\r\n\
                     Content-Length: 1\r\n\r\nx"
                ),
                "415",
            ),
            (put("Transfer-Encoding: gzip, chunked"), "501"),
            (put("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"), "501"),
            (put("Transfer-Encoding: chunked, chunked"), "501"),
            (put("Content-Range: bytes 0-0/1\r\nTransfer-Encoding: chunked"), "400"),
        ] {
            let answer = say(&door, request.as_bytes());
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}"))
                    || answer.starts_with(&format!("HTTP/1.0 {status}")),
                "{request:?}: {answer}"
            );
            assert!(answer.contains("application/problem+json"), "{answer}");
            if status == "415" {
                assert!(answer.contains("accept-encoding: identity"), "{answer}");
            }
        }
    }
    let host = "Host: localhost\r\nConnection: close\r\n";
    // A client of HTTP/1.0 sends no host, and a body with the identity coding is accepted.
    let answer = say(&door, b"GET /healthz HTTP/1.0\r\n\r\n");
    assert!(answer.contains(" 200 OK"), "{answer}");
    let plain = "Content-Encoding: identity\r\nContent-Length: 1\r\n";
    let answer =
        say(&door, format!("PUT /v0/entity?id=x HTTP/1.1\r\n{host}{plain}\r\nx").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let chunked = "Transfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let answer = say(&door, format!("PUT /v0/entity?id=x HTTP/1.1\r\n{host}{chunked}").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn who_asks_before_he_sends_too_much_is_told_at_once() {
    let nodes = keeping(1);
    let door = Door::before(&[nodes[0].address()], &["--max-value", "1kb"]);
    door.wait_until_ready(1);
    let head = "PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n";
    // The body is not sent.
    let answer = say(&door, format!("{head}Content-Length: 1025\r\n\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let answer = say(&door, format!("{head}Content-Length: 2\r\n\r\nok").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201"), "{answer}");
}
