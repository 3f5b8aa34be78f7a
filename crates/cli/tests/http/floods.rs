//! Slow, numerous and broken clients, next to a healthy one that must not notice.

use crate::client_errors::lines;
use crate::node::keeping;
use crate::store::{PATIENCE, Store, command, say};
use crate::support::Door;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Timeout of a healthy request, whatever other clients do.
const HEALTHY: Duration = Duration::from_secs(5);

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
    stream
}

#[expect(clippy::disallowed_methods, reason = "how long a healthy client waits is what is tested")]
fn healthy(store: &Store) {
    let began = Instant::now();
    let (status, body) = store.get("/metrics");
    assert_eq!(status, 200, "{body}");
    assert!(began.elapsed() < HEALTHY, "{:?}", began.elapsed());
}

/// Returns the limit of open files.
fn open_files_max() -> u64 {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("it is raised");
    hard
}

#[test]
fn five_thousand_connections_wait_and_the_healthy_one_is_served() {
    let wanted = 5_000;
    assert!(open_files_max() > wanted + 500, "raise the hard limit of open files (ulimit -Hn)");
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let mut idle: Vec<TcpStream> = (0..wanted).map(|_| connect(door.port())).collect();
    // Some have sent part of a request.
    for stream in idle.iter_mut().step_by(3) {
        stream
            .write_all(b"PUT /v0/entity?id=x HTTP/1.1\r\nHost: localhost\r\nContent-")
            .expect("it is sent");
    }
    assert_eq!(door.put("/v0/entity?id=healthy", b"v").0, 201);
    assert_eq!(door.get("/v0/entity?id=healthy"), (200, b"v".to_vec()));
    let page = String::from_utf8(door.get("/metrics").1).expect("text");
    let count = page.lines().find_map(|line| line.strip_prefix("scurry_http_connections "));
    let count: u64 = count.and_then(|digits| digits.parse().ok()).expect("a number");
    assert!((wanted..wanted + 10).contains(&count), "{count} connections");
    drop(idle);
    assert_eq!(door.get("/v0/entity?id=healthy").0, 200);
    assert_eq!(lines(&door, "a client went away").len(), 1, "a third of them have said a half");
}

#[test]
fn a_full_door_beside_a_store_closes_who_comes_and_says_so_once() {
    let directory = TempDir::new().expect("a directory");
    let command = command(&directory, &["--http-max-clients", "10"]);
    let store = Store::run(command, directory);
    // The healthy client already has its connection.
    healthy(&store);
    let mut more: Vec<TcpStream> = (0..500).map(|_| connect(store.http_port)).collect();
    let mut closed = 0;
    for stream in &mut more[20..] {
        closed += usize::from(matches!(stream.read(&mut [0]), Ok(0)))
    }
    assert_eq!(closed, 480);
    healthy(&store);
    let mut client = store.connect();
    let pong: String = redis::cmd("PING").query(&mut client).expect("RESP is served");
    assert_eq!(pong, "PONG");
    assert!(store.metrics().sum("scurry_http_connections_refused_total", &[]) >= 480.0);
    drop(more);
    let (_, log) = store.stop();
    assert_eq!(log.matches("there are too many").count(), 1, "{log}");
}

#[test]
fn slow_clients_hold_nobody_up() {
    let store = Store::start(&[]);
    let mut slow: Vec<TcpStream> = (0..50).map(|_| connect(store.http_port)).collect();
    for turn in 0..20 {
        for (number, stream) in slow.iter_mut().enumerate() {
            // A head that arrives byte by byte, and a body that was not asked for.
            let begin: &[u8] = match number % 2 {
                0 => b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: aaaaaaaaaaaaaaaaaaaa",
                _ => b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\naaaaaaa",
            };
            let _ = stream.write_all(&begin[turn..=turn]);
        }
        healthy(&store);
    }
}

/// The body of a PUT has 30 seconds to arrive.
#[test]
fn a_body_that_does_not_come_is_given_up() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let mut slow: Vec<TcpStream> = (0..20).map(|_| connect(door.port())).collect();
    let head =
        "PUT /v0/entity?id=slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf";
    for slow in &mut slow {
        slow.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out is set");
        slow.write_all(head.as_bytes()).expect("it is sent");
    }
    assert_eq!(door.put("/v0/entity?id=healthy", b"v").0, 201);
    for slow in &mut slow {
        let mut answer = [0; 12];
        slow.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 408");
    }
    assert_eq!(lines(&door, "status=408").len(), 1);
    assert_eq!(door.get("/v0/entity?id=slow").0, 404);
    assert_eq!(door.get("/v0/entity?id=healthy").0, 200);
}

#[test]
fn who_does_not_read_keeps_no_more_than_its_own_place() {
    let store = Store::start(&[]);
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2_000);
    let deaf: Vec<TcpStream> = (0..5)
        .map(|_| {
            let mut stream = connect(store.http_port);
            stream.set_write_timeout(Some(Duration::from_millis(500))).expect("a time-out is set");
            // At some point the door reads no more, because its answers are not read.
            let outcome = stream.write_all(&request);
            assert!(outcome.is_ok() || outcome.is_err_and(|it| it.kind() == ErrorKind::WouldBlock));
            stream
        })
        .collect();
    let before = store.metrics().sum("process_resident_memory_bytes", &[]);
    healthy(&store);
    let grown = store.metrics().sum("process_resident_memory_bytes", &[]) - before;
    assert!(grown < 8_000_000.0, "{grown} bytes for five clients that read nothing");
    drop(deaf);
}

#[test]
fn floods_of_headers_bad_chunks_and_odd_paths_are_refused_one_by_one() {
    let store = Store::start(&[]);
    let close = "Host: localhost\r\nConnection: close\r\n";
    let many: String = (0..5_000).map(|number| format!("X-{number}: y\r\n")).collect();
    let long = format!("X-Long: {}\r\n", "y".repeat(1 << 20));
    let post = "POST /metrics HTTP/1.1\r\n";
    let cases: Vec<(String, &[&str])> = vec![
        (format!("GET /metrics HTTP/1.1\r\n{many}{close}\r\n"), &["431"]),
        (format!("GET /metrics HTTP/1.1\r\n{long}{close}\r\n"), &["431"]),
        (format!("GET /{} HTTP/1.1\r\n{close}\r\n", "a/".repeat(100_000)), &["414", "431", "404"]),
        (
            format!("{post}{close}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
            &["400", "405"],
        ),
        (
            format!(
                "{post}{close}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"
            ),
            &["400", "405"],
        ),
        (format!("{post}{close}Content-Type: text/\u{1}\r\n\r\n"), &["400"]),
        (format!("{post}{close}Content-Type: image/png\r\nContent-Length: 3\r\n\r\nabc"), &["405"]),
        (format!("GET /metrics/../healthz HTTP/1.1\r\n{close}\r\n"), &["404"]),
        (format!("GET /%2e%2e/metrics HTTP/1.1\r\n{close}\r\n"), &["404"]),
        (format!("GET //metrics HTTP/1.1\r\n{close}\r\n"), &["404"]),
        (format!("GET /metrics%00 HTTP/1.1\r\n{close}\r\n"), &["404"]),
        (format!("GET /metrics/ HTTP/1.1\r\n{close}\r\n"), &["404"]),
        (format!("GET metrics HTTP/1.1\r\n{close}\r\n"), &["400", "404"]),
        (format!("GET /metrics HTTP/9.9\r\n{close}\r\n"), &["400", "505"]),
        (format!("GET /v1/console/account HTTP/1.1\r\n{close}\r\n"), &["400"]),
        (format!("GET /v1/console/account?id= HTTP/1.1\r\n{close}\r\n"), &["400"]),
        (format!("GET /v1/console/account?id=a&id=b HTTP/1.1\r\n{close}\r\n"), &["400"]),
        (format!("GET /v1/console/account?od=a HTTP/1.1\r\n{close}\r\n"), &["400"]),
        (
            format!("GET /v1/console/account?id=%00%ff%0d%0aX HTTP/1.1\r\n{close}\r\n"),
            &["400", "404"],
        ),
        (
            format!("GET /v1/console/account?id={} HTTP/1.1\r\n{close}\r\n", "x".repeat(20_000)),
            &["400", "414"],
        ),
    ];
    for (request, statuses) in cases {
        let answer = say(store.http_port, request.as_bytes());
        let shown: String = request.chars().take(70).collect();
        let status = answer.strip_prefix("HTTP/1.1 ").or(answer.strip_prefix("HTTP/1.0 "));
        let status = status.and_then(|rest| rest.get(..3)).unwrap_or_default();
        assert!(statuses.contains(&status), "{shown:?}: {answer}");
        healthy(&store);
    }
    let (_, log) = store.stop();
    assert_eq!(log, "", "what clients do wrong is no news");
}
