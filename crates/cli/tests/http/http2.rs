//! HTTP/2 at real doors, with clients that others wrote: curl, nghttp and the library `h2`. `crates/http/src/http2/tests`
//! has the bounds of a connection.

use crate::charging::{create, open};
use crate::client_errors::lines;
use crate::node::keeping;
use crate::page::Page;
use crate::store::{Store, say};
use crate::support::Door;
use h2::client::SendRequest;
use h2::{Ping, PingPong};
use nix::sys::signal::Signal;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Runs curl with this option of a version. Returns version and status, the headers without Date, sorted, and the body.
pub(crate) fn curl(version: &str, url: &str, more: &[&str]) -> (String, Vec<String>, String) {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--include", "--max-time", "60", version]);
    let output = command
        .args(more)
        .arg(url)
        .output()
        .expect("curl is missing: scripts/install-tools.sh tests");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl {version} {url} {more:?}: {said}");
    let answer = String::from_utf8(output.stdout).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let mut lines = head.split("\r\n").map(str::to_lowercase);
    let first = lines.next().expect("a status");
    let hidden = |line: &String| !line.starts_with("date:") && !line.starts_with("connection:");
    let mut headers: Vec<String> = lines.filter(hidden).collect();
    headers.sort_unstable();
    let status = first.split(' ').take(2).collect::<Vec<_>>().join(" ");
    (status, headers, body.to_owned())
}

pub(crate) const HTTP1: &str = "--http1.1";
const HTTP2: &str = "--http2-prior-knowledge";
const JSON: [&str; 2] = ["--header", "Content-Type: application/json"];

/// Returns the options of curl for a method and a body.
fn sending<'a>(method: &'a str, body: &'a str) -> Vec<&'a str> {
    [&["--request", method, "--data-binary", body][..], &JSON].concat()
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(test);
}

async fn in_time<T>(step: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), step).await.expect("in time")
}

/// Connects with prior knowledge.
async fn connect(port: u16) -> (SendRequest<&'static [u8]>, PingPong) {
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
    let (client, mut connection) =
        h2::client::Builder::new().handshake(stream).await.expect("it begins");
    let pings = connection.ping_pong().expect("the only one");
    tokio::spawn(connection);
    (client, pings)
}

fn request(method: &str, port: u16, path: &str) -> http::Request<()> {
    let uri = format!("http://127.0.0.1:{port}{path}");
    http::Request::builder().method(method).uri(uri).body(()).expect("a request")
}

#[test]
fn a_request_has_the_same_answer_over_both_versions() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let debit = |amount: &str| format!(r#"{{"unit":"cent","amount":{amount}}}"#);
    let (one, bad) = (debit("1"), debit("\"x\""));
    let keyed = ["--header", "Idempotency-Key: once"];
    assert_eq!(door.ask_once("POST /v1/accounts/alice/debits", "once", &one).status, 200);
    let nchf = "/nchf-convergedcharging/v3/chargingdata";
    let foreign = ["--header", "Origin: http://evil.example"];
    for (path, more, status) in [
        ("/healthz", vec![], 200),
        ("/readyz", vec!["--request", "OPTIONS"], 200),
        ("/", vec![], 200),
        ("/", vec!["--head"], 200),
        ("/v1/openapi.json", vec![], 200),
        ("/v1/accounts/alice", vec![], 200),
        ("/v1/accounts/%61lice", vec![], 200),
        ("/v1/accounts/none", vec![], 404),
        ("/v1/accounts/alice", sending("PUT", r#"{"buckets":[]}"#), 409),
        ("/v1/accounts/alice?more=1", vec![], 400),
        ("/v1/accounts/%zz", vec![], 400),
        // The fast path, and the router's.
        ("/v1/accounts/alice/debits", [sending("POST", &one), keyed.to_vec()].concat(), 200),
        ("/v1/accounts/%61lice/debits", [sending("POST", &one), keyed.to_vec()].concat(), 200),
        ("/v1/accounts/alice/debits", [sending("POST", &bad), keyed.to_vec()].concat(), 400),
        ("/v1/accounts/alice", vec!["--request", "BREW"], 405),
        ("/v1/accounts/alice", vec!["--header", "Host: evil.example"], 421),
        ("/v1/accounts/%61lice", vec!["--header", "Host: evil.example"], 421),
        ("/v1/accounts/alice", foreign.to_vec(), 403),
        ("/v1/accounts/alice", vec!["--header", "Authorization: Bearer x"], 401),
        (nchf, sending("POST", "{}"), 400),
        ("/nowhere", vec![], 404),
        ("/nowhere", vec!["--request-target", "*", "--request", "OPTIONS"], 204),
    ] {
        let (first, first_headers, first_body) = curl(HTTP1, &door.url(path), &more);
        let (second, second_headers, second_body) = curl(HTTP2, &door.url(path), &more);
        assert_eq!(
            (first, second),
            (format!("http/1.1 {status}"), format!("http/2 {status}")),
            "{path}"
        );
        assert_eq!((first_headers, first_body), (second_headers, second_body), "{path} {more:?}");
    }
}

#[test]
fn a_session_of_5g_and_an_entity_live_over_http2() {
    let (_nodes, door) = open();
    let subscriber = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":5000000}]}"#;
    let account = door.url("/v1/accounts/imsi-001010000000001");
    assert_eq!(curl(HTTP2, &account, &sending("PUT", subscriber)).0, "http/2 201");
    let body = |number: u32, usage: &str| {
        format!(
            r#"{{"subscriberIdentifier":"imsi-001010000000001",
            "nfConsumerIdentification":{{"nodeFunctionality":"SMF","nFName":"smf-1"}},
            "invocationTimeStamp":"2026-01-01T12:0{number}:00Z","invocationSequenceNumber":{number},
            "chargingId":4711,"multipleUnitUsage":[{{"ratingGroup":10{usage}}}]}}"#
        )
    };
    let wants = r#","requestedUnit":{"totalVolume":1000000}"#;
    let used = r#","usedUnitContainer":[{"localSequenceNumber":1,"totalVolume":900}]"#;
    let resources = door.url("/nchf-convergedcharging/v3/chargingdata");
    let (status, headers, told) = curl(HTTP2, &resources, &sending("POST", &body(0, wants)));
    assert_eq!(status, "http/2 201", "{told}");
    let location =
        headers.iter().find_map(|line| line.strip_prefix("location: ")).expect("a place");
    let update = sending_to(&door, location, "update", &body(1, &format!("{wants}{used}")));
    assert_eq!(update.0, "http/2 200", "{}", update.2);
    assert!(update.2.contains("1000000"), "{}", update.2);
    assert_eq!(sending_to(&door, location, "release", &body(2, used)).0, "http/2 204");
    assert!(curl(HTTP2, &account, &[]).2.contains("4998200"), "twice 900 were used");

    let nodes = keeping(1);
    let entities = Door::open(&nodes);
    let entity = entities.url("/v0/entity?id=x");
    let put = ["--request", "PUT", "--data-binary", "blue"];
    assert_eq!(curl(HTTP2, &entity, &put).0, "http/2 201");
    assert_eq!(curl(HTTP2, &entity, &[]).2, "blue");
    assert_eq!(curl(HTTP2, &entities.url("/v0/entities?start="), &[]).2, "x\nblue");
    assert_eq!(curl(HTTP2, &entity, &["--request", "DELETE"]).0, "http/2 202");
}

fn sending_to(
    door: &Door,
    location: &str,
    what: &str,
    body: &str,
) -> (String, Vec<String>, String) {
    curl(HTTP2, &door.url(&format!("{location}/{what}")), &sending("POST", body))
}

/// A page of others can choose neither `:authority` nor Origin.
#[test]
fn names_and_users_are_checked_by_the_authority() {
    let store = Store::start(&[]);
    run(in_time(async {
        let (client, _) = connect(store.http_port).await;
        for (authority, host, status) in [
            ("localhost", None, 200),
            ("evil.example", None, 421),
            ("localhost@evil.example", None, 421),
            ("localhost", Some("localhost"), 200),
            ("LocalHost", Some("localhost"), 200),
            ("localhost", Some("evil.example"), 400),
            ("evil.example", Some("localhost"), 400),
        ] {
            let uri = format!("http://{authority}/metrics");
            let mut request = http::Request::builder().uri(uri);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            let mut client = client.clone().ready().await.expect("it is open");
            let request = request.body(()).expect("a request");
            let (answer, _) = client.send_request(request, true).expect("it is sent");
            let told = answer.await.expect("an answer").status();
            assert_eq!(told, status, "{authority} {host:?}");
        }
    }));
    let (store, token) = Store::with_reader();
    let token = format!("Authorization: Bearer {token}");
    assert_eq!(curl(HTTP2, &store.url("/metrics"), &["--header", &token]).0, "http/2 200");
    assert_eq!(curl(HTTP2, &store.url("/metrics"), &[]).0, "http/2 401");
}

#[test]
fn versions_are_counted_and_errors_of_clients_are_told() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let before = page(&door);
    for _ in 0..3 {
        assert_eq!(curl(HTTP2, &door.url("/v1/accounts/alice"), &[]).0, "http/2 200");
    }
    assert_eq!(curl(HTTP2, &door.url("/nowhere"), &[]).0, "http/2 404");
    let after = page(&door);
    after.lint();
    let grown =
        |name: &str, labels: &[(&str, &str)]| after.sum(name, labels) - before.sum(name, labels);
    assert_eq!(grown("scurry_http_version_requests_total", &[("version", "2")]), 4.0);
    assert_eq!(grown("scurry_http_version_connections_total", &[("version", "2")]), 4.0);
    // The page itself.
    assert_eq!(grown("scurry_http_version_requests_total", &[("version", "1.1")]), 1.0);
    let route = [("route", "/v1/accounts/{account}"), ("method", "GET"), ("status", "200")];
    assert_eq!(grown("scurry_http_requests_total", &route), 3.0);
    assert_eq!(lines(&door, "status=404").len(), 1);
    // A frame of SETTINGS for a stream is a fault of the connection.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\x01";
    for _ in 0..10 {
        say(door.port(), preface);
    }
    let told = lines(&door, "broke the rules of HTTP/2");
    assert!(told.len() == 1 && told[0].contains("client=127.0.0.1:"), "{told:?}");
    // Clients that leave while a body is on its way. For some the end of the body may be noticed first.
    for _ in 0..10 {
        run(in_time(async {
            let (client, _) = connect(door.port()).await;
            let mut client = client.ready().await.expect("it is open");
            let put = request("PUT", door.port(), "/v1/accounts/bob");
            let (_answer, _body) = client.send_request(put, false).expect("it is sent");
            // Answered, so the door has taken in the other one.
            let health = request("GET", door.port(), "/healthz");
            let (answer, _) = client.send_request(health, true).expect("it is sent");
            assert_eq!(answer.await.expect("an answer").status(), 200);
        }));
    }
    assert_eq!(lines(&door, "a client went away").len(), 1);
}

fn page(door: &Door) -> Page {
    Page(String::from_utf8(door.get("/metrics").1).expect("text"))
}

#[test]
fn pings_are_answered_while_a_request_waits_for_the_store() {
    let (nodes, door) = open();
    create(&door, "alice");
    run(in_time(async {
        let (client, mut pings) = connect(door.port()).await;
        let mut client = client.ready().await.expect("it is open");
        nodes[0].pause();
        let ask = request("GET", door.port(), "/v1/accounts/alice");
        let (answer, _) = client.send_request(ask, true).expect("it is sent");
        for _ in 0..5 {
            pings.ping(Ping::opaque()).await.expect("the answer to a PING");
        }
        nodes[0].go_on();
        assert_eq!(answer.await.expect("an answer").status(), 200);
    }));
}

#[test]
fn a_door_that_stops_answers_what_has_begun() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let port = door.port();
    run(in_time(async {
        let (client, _) = connect(port).await;
        let mut client = client.ready().await.expect("it is open");
        let (answer, mut body) = client
            .send_request(request("PUT", port, "/v0/entity?id=x"), false)
            .expect("it is sent");
        // Answered, so the door has taken in the other one.
        let (health, _) =
            client.send_request(request("GET", port, "/healthz"), true).expect("it is sent");
        assert_eq!(health.await.expect("an answer").status(), 200);
        door.signal(Signal::SIGTERM);
        // GOAWAY: the client opens no more streams on this connection.
        while client.clone().ready().await.is_ok() {
            tokio::task::yield_now().await;
        }
        body.send_data(b"blue", true).expect("it is sent");
        assert_eq!(answer.await.expect("an answer").status(), 201);
    }));
    let door = Door::open(&nodes);
    assert_eq!(door.get("/v0/entity?id=x"), (200, b"blue".to_vec()));
}

#[test]
fn nghttp_is_served_many_requests_on_one_connection() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let before = page(&door).sum("scurry_http_version_connections_total", &[("version", "2")]);
    let urls: Vec<String> = ["/healthz", "/v1/accounts/alice", "/", "/v1/openapi.json"]
        .map(|path| door.url(path))
        .to_vec();
    let output = Command::new("nghttp")
        .args(["--verbose", "--null-out", "--multiply=10", "--timeout=60"])
        .args(urls)
        .output()
        .expect("nghttp is missing: scripts/install-tools.sh tests");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches(":status: 200").count(), 40, "{said}");
    let after = page(&door).sum("scurry_http_version_connections_total", &[("version", "2")]);
    assert_eq!(after - before, 1.0);
}

/// Too long a body is refused by its announced length, and not read: the stream ends without an error (RFC 9113 clause
/// 8.1). curl 7.88 takes that for one, so nghttp sends it.
#[test]
fn too_long_a_body_is_refused_and_not_read() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("long");
    std::fs::write(&file, vec![b'x'; 256 * 1024 + 1]).expect("a file");
    // The fast path, and the router's.
    for account in ["alice", "%61lice"] {
        let output = Command::new("nghttp")
            .args([
                "--verbose",
                "--header=content-type: application/json",
                "--header=idempotency-key: k",
            ])
            .arg(format!("--data={}", file.to_str().expect("UTF-8")))
            .arg(door.url(&format!("/v1/accounts/{account}/debits")))
            .output()
            .expect("nghttp is missing: scripts/install-tools.sh tests");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(":status: 413"), "{said}");
        let reset = said.split("recv RST_STREAM").nth(1).expect("the stream is reset");
        assert!(reset.contains("error_code=NO_ERROR") && !said.contains("recv GOAWAY"), "{said}");
    }
}

#[test]
fn an_upgrade_from_http_1_1_is_not_followed() {
    let store = Store::start(&[]);
    let upgrade = "Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n";
    let answer = say(
        store.http_port,
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\n").as_bytes(),
    );
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok\n"), "{answer}");
    assert_eq!(curl("--http2", &store.url("/healthz"), &[]).0, "http/1.1 200");
    // A preface that is none is no request of HTTP/1.1 either.
    assert!(!say(store.http_port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r.").contains("200"));
}
