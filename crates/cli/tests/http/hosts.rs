//! Protects a door on loopback without users against foreign web pages: neither a name of theirs that resolves to this
//! host (DNS rebinding) nor a cross-site request gets anything.

use crate::charging::{create, open};
use crate::node::keeping;
use crate::store::{Store, command, say};
use crate::support::Door;
use std::process::Command;
use tempfile::TempDir;

/// Sends a request with these headers and returns status and body.
fn ask(port: u16, request: &str, headers: &str, body: &str) -> (u16, String) {
    let head = format!("{request} HTTP/1.1\r\n{headers}Connection: close\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let answer = say(port, request.as_bytes());
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (status.unwrap_or_else(|| panic!("no status: {answer}")), body.to_owned())
}

#[test]
fn a_name_that_a_page_made_up_is_refused_and_probes_are_answered() {
    let store = Store::start(&[]);
    let (_nodes, charging) = open();
    let nodes = keeping(1);
    let entities = Door::open(&nodes);
    for (port, path) in [
        (store.http_port, "/metrics"),
        (store.http_port, "/v1/totals"),
        (store.http_port, "/v1/console/account?id=x"),
        (charging.port(), "/v1/totals"),
        (charging.port(), "/metrics"),
        (entities.port(), "/v0/entity?id=x"),
        (entities.port(), "/v0/status"),
    ] {
        let get = format!("GET {path}");
        for host in ["localhost", "127.0.0.1", "[::1]", "10.1.2.3", "LOCALHOST."] {
            let status = ask(port, &get, &format!("Host: {host}:{port}\r\n"), "").0;
            assert!(status == 200 || status == 404, "{path} for {host}: {status}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example"] {
            let (status, body) = ask(port, &get, &format!("Host: {host}:{port}\r\n"), "");
            assert_eq!(status, 421, "{path} for {host}: {body}");
            assert!(body.contains("\"MISDIRECTED_REQUEST\"") && body.contains("-hosts"), "{body}");
        }
        // The name in the target counts, whatever Host says.
        let absolute = format!("GET http://evil.example:{port}{path}");
        assert_eq!(ask(port, &absolute, "Host: localhost\r\n", "").0, 421, "{path}");
        for origin in ["null", "http://evil.example", "http://localhost:1"] {
            let headers = format!("Host: localhost:{port}\r\nOrigin: {origin}\r\n");
            let (status, body) = ask(port, &get, &headers, "");
            assert_eq!(status, 403, "{path} from {origin}: {body}");
            assert!(body.contains(origin) && body.contains("-hosts"), "{body}");
        }
        let own = format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n");
        let status = ask(port, &get, &own, "").0;
        assert!(status == 200 || status == 404, "{path} from its own page: {status}");
        // A health check needs no valid name, and a page learns nothing from it.
        let mut open = vec!["GET /healthz", "GET /readyz", "GET /"];
        if port != entities.port() {
            open.extend(["GET /v1/openapi.json", "GET /v1/problems"]);
        }
        for probe in open {
            let headers = "Host: balancer.example\r\nOrigin: http://evil.example\r\n";
            assert_eq!(ask(port, probe, headers, "").0, 200, "{probe}");
        }
        let old = format!("GET {path} HTTP/1.0\r\n\r\n");
        assert!(!say(port, old.as_bytes()).contains(" 421 "), "{path} of HTTP/1.0");
    }
}

#[test]
fn no_page_of_others_moves_value() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let port = door.port();
    let debit = r#"{"unit":"cent","amount":100}"#;
    let json = "Content-Type: application/json\r\nIdempotency-Key: k\r\n";
    let local = format!("Host: localhost:{port}\r\n");
    for (headers, statuses) in [
        (format!("Host: evil.example\r\n{json}"), &[421][..]),
        (format!("Host: evil.example\r\nOrigin: http://evil.example\r\n{json}"), &[421]),
        (format!("{local}Origin: http://evil.example\r\n{json}"), &[403]),
        (format!("{local}Origin: null\r\n{json}"), &[403]),
        // Requests that a form or a page can send without a preflight.
        (format!("{local}Content-Type: text/plain\r\nIdempotency-Key: k\r\n"), &[415]),
        (
            format!(
                "{local}Content-Type: application/x-www-form-urlencoded\r\nIdempotency-Key: k\r\n"
            ),
            &[415],
        ),
        (
            format!(
                "{local}Content-Type: multipart/form-data; boundary=x\r\nIdempotency-Key: k\r\n"
            ),
            &[415],
        ),
        (format!("{local}Idempotency-Key: k\r\n"), &[415]),
    ] {
        for path in [
            "/v1/accounts/alice/debits",
            "/v1/accounts/alice/adjustments",
            "/v1/accounts/alice/sessions/s",
            "/nchf-convergedcharging/v3/chargingdata",
        ] {
            let (status, body) = ask(port, &format!("POST {path}"), &headers, debit);
            assert!(statuses.contains(&status), "{path} with {headers:?}: {status} {body}");
        }
    }
    // A preflight is refused: no header would let a page continue.
    let preflight =
        format!("{local}Origin: http://evil.example\r\nAccess-Control-Request-Method: PUT\r\n");
    let answer = say(
        port,
        format!("OPTIONS /v1/accounts/alice HTTP/1.1\r\n{preflight}Connection: close\r\n\r\n")
            .as_bytes(),
    );
    assert!(!answer.to_ascii_lowercase().contains("access-control-allow"), "{answer}");
    let account = door.ask("GET /v1/accounts/alice", &[], "").body;
    assert_eq!(
        (&account["version"], &account["buckets"][0]["available"]),
        (&1.into(), &1000.into())
    );
}

#[test]
fn a_host_that_is_named_is_answered_to_and_so_are_its_pages() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("scurry.toml");
    std::fs::write(&file, "http_hosts = [\"scurry.lan\"]\n").expect("a file");
    let arguments = ["--config", file.to_str().expect("UTF-8")];
    let command = command(&directory, &arguments);
    let by_file = Store::run(command, directory);
    let nodes = keeping(1);
    let by_option = Door::before(&[nodes[0].address()], &["--hosts", "other.example,scurry.lan"]);
    for port in [by_file.http_port, by_option.port()] {
        let get = "GET /metrics";
        assert_eq!(ask(port, get, "Host: Scurry.Lan\r\nOrigin: https://scurry.lan\r\n", "").0, 200);
        assert_eq!(ask(port, get, "Host: 127.0.0.1\r\nOrigin: https://scurry.lan\r\n", "").0, 200);
        assert_eq!(ask(port, get, "Host: scurry.lan.evil.example\r\n", "").0, 421);
        assert_eq!(
            ask(port, get, "Host: scurry.lan\r\nOrigin: http://evil.example\r\n", "").0,
            403
        );
    }
    let wrong = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["http", "--listen", "127.0.0.1:0", "--nodes", "127.0.0.1:1", "--hosts", "a.b:80"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(!wrong.status.success() && said.contains("--hosts names at most"), "{said}");
}

/// A page cannot send a token or a password.
#[test]
fn who_says_who_it_is_may_ask_by_any_name() {
    let (store, token) = Store::with_reader();
    let (port, token) = (store.http_port, format!("Authorization: Bearer {token}\r\n"));
    let get = "GET /metrics";
    assert_eq!(ask(port, get, &format!("Host: balancer.example\r\n{token}"), "").0, 200);
    // A browser may add saved credentials, so foreign pages are refused all the same.
    let page = format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n{token}");
    assert_eq!(ask(port, get, &page, "").0, 403);
    assert_eq!(ask(port, get, "Host: balancer.example\r\n", "").0, 401);
}
