//! What `/metrics` shows of the door, in `scurry serve` and in `scurry diameter`.

use crate::client::{Ask, Client, text, wants};
use crate::page::Page;
use crate::store::Process;
use nix::sys::signal::Signal;
use scurry_diameter::ccr::RequestType::Initial;
use std::io::Write;
use std::process::Command;

/// Settings of a server with an HTTP port.
pub(crate) const HTTP: &str = "http_listen = '127.0.0.1:0'\n";
const PGW: &str = "pgw.example";

/// A metric, its labels and its value.
type Expected<'a> = (&'a str, &'a [(&'a str, &'a str)], f64);

/// Asserts the values of metrics.
#[track_caller]
fn are(page: &Page, expected: &[Expected<'_>]) {
    for (name, labels, value) in expected {
        assert_eq!(page.sum(name, labels), *value, "{name} {labels:?}: {}", page.0);
    }
}

/// Charges over the door, and checks what the page of the process says of it.
#[track_caller]
fn requests_are_counted(store: &Process, door: &Process) {
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let mut client = Client::connect(door.diameter, PGW);
    let stranger = Ask { imsi: "999", ..Ask::data("s;2", Initial, 0) };
    for (ask, code) in [(Ask::data("s;1", Initial, 0), "2001 "), (stranger, "5030 ")] {
        let answer = client.services(ask, &[wants(1, 10)]);
        assert!(answer.starts_with(code), "{answer}");
    }
    let mut elsewhere = client.request(Ask::data("s;3", Initial, 0), |_| {});
    let at = elsewhere.windows(11).position(|part| part == b"localdomain").expect("a realm");
    elsewhere[at..at + 11].copy_from_slice(b"otherdomain");
    client.send(&elsewhere);
    assert!(text(&client.receive().expect("an answer")).contains("Result-Code=3003"));
    client.watchdog();
    let watchdogs = [("host", PGW), ("command", "device-watchdog")];
    let page = door.metrics_when("the watchdog is counted", |page| {
        page.sum("scurry_diameter_peer_requests_total", &watchdogs) == 1.0
    });
    page.lint();
    let host = ("host", PGW);
    let charged = ("command", "credit-control");
    are(
        &page,
        &[
            ("scurry_diameter_connections", &[("state", "open")], 1.0),
            ("scurry_diameter_connections", &[], 1.0),
            ("scurry_diameter_connections_accepted_total", &[], 1.0),
            ("scurry_diameter_connection_faults_total", &[], 0.0),
            ("scurry_diameter_answers_total", &[charged, ("code", "2001")], 1.0),
            ("scurry_diameter_answers_total", &[charged, ("code", "5030")], 1.0),
            ("scurry_diameter_answers_total", &[charged, ("code", "3003")], 1.0),
            ("scurry_diameter_answers_total", &[], 3.0),
            // What the store was asked for.
            ("scurry_diameter_request_duration_seconds_count", &[], 2.0),
            ("scurry_diameter_peers", &[], 1.0),
            ("scurry_diameter_peer_state", &[host, ("state", "open")], 1.0),
            ("scurry_diameter_peer_state", &[host], 1.0),
            ("scurry_diameter_peer_requests_total", &[host, charged], 3.0),
            ("scurry_diameter_peer_requests_total", &[host], 5.0),
            ("scurry_diameter_peer_answers_total", &[host, ("code", "3003")], 1.0),
            ("scurry_diameter_peer_answers_total", &[host], 3.0),
            ("scurry_diameter_peer_dropped_answers_total", &[host], 0.0),
            ("scurry_diameter_peer_errors_total", &[host], 0.0),
        ],
    );
    assert!(page.sum("scurry_diameter_request_duration_seconds_sum", &[]) > 0.0);
    let since_s = page.sum("scurry_diameter_peer_state_since_timestamp_seconds", &[host]);
    assert!(since_s > 1.7e9, "{since_s}");
    drop(client);
    let page = door.metrics_when("the peer is absent", |page| {
        page.sum("scurry_diameter_peer_state", &[host, ("state", "absent")]) == 1.0
    });
    page.lint();
    let closed = [host, ("why", "the peer has closed the connection")];
    are(
        &page,
        &[
            ("scurry_diameter_peer_last_error", &closed, 1.0),
            ("scurry_diameter_connections", &[], 0.0),
            // Counts outlive the connection.
            ("scurry_diameter_peer_requests_total", &[host], 5.0),
            ("scurry_diameter_peer_answers_total", &[host], 3.0),
        ],
    );
}

#[test]
fn requests_are_counted_by_a_server() {
    let store = Process::with_settings(HTTP);
    requests_are_counted(&store, &store);
}

#[test]
fn requests_are_counted_by_a_door_alone_which_is_ready_as_its_store_is() {
    let store = Process::with_settings("");
    let address = format!("127.0.0.1:{}", store.port);
    let words = ["diameter", "--store", &address, "--http-listen", "127.0.0.1:0"];
    let door = Process::try_start(&words, "").expect("it starts");
    requests_are_counted(&store, &door);
    assert_eq!(door.get("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(door.get("/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(door.get("/v1/accounts/imsi-001010000000001").0, 404, "it has no charging");
    drop(store);
    let page = door.metrics_when("not ready", |page| page.sum("scurry_http_ready", &[]) == 0.0);
    page.lint();
    assert!(door.get("/readyz").0 >= 500);
    assert_eq!(door.get("/healthz").0, 200);
}

/// Returns a token and an entry of the settings for a user who may read.
fn reader() -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry")).arg("make-token").output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let words: Vec<&str> = text.split_whitespace().collect();
    let hash = words[3];
    let entry = format!("[[users]]\nname = 'r'\ntoken_hash = '{hash}'\nroles = ['read']\n");
    (format!("Bearer {}", words[1]), entry)
}

#[test]
fn the_port_of_a_door_has_the_users_of_the_settings_and_takes_them_again() {
    let (token, entry) = reader();
    let without_users = "requirepass = 'x'\n";
    let words = ["diameter", "--store", "127.0.0.1:1", "--http-listen", "127.0.0.1:0"];
    let door = Process::try_start(&words, without_users).expect("it starts");
    for path in ["/metrics", "/v1/console/diameter", "/v1/console/past"] {
        assert_eq!(door.get(path).0, 401, "{path}");
        assert_eq!(door.get_as(Some(&token), path).0, 401, "{path}");
    }
    assert_eq!(door.get("/healthz").0, 200);
    std::fs::write(door.files.path().join("scurry.toml"), without_users.to_owned() + &entry)
        .expect("a file");
    door.signal(Signal::SIGHUP);
    door.logged("the users in");
    for path in ["/metrics", "/v1/console/diameter", "/v1/console/past"] {
        assert_eq!(door.get(path).0, 401, "{path}");
        assert_eq!(door.get_as(Some(&token), path).0, 200, "{path}");
    }
}

/// Prometheus gives up after some seconds, long before a request of a patient door does.
#[test]
fn the_page_of_a_door_does_not_wait_for_its_store() {
    let store = Process::with_settings("");
    let address = format!("127.0.0.1:{}", store.port);
    let patience = ["--patience-ms", "600000", "--http-listen", "127.0.0.1:0"];
    let words = [&["diameter", "--store", &address][..], &patience].concat();
    let door = Process::try_start(&words, "").expect("it starts");
    store.signal(Signal::SIGSTOP);
    let page = door.metrics_when("a page", |page| page.has("scurry_diameter_peers"));
    assert_eq!(page.sum("scurry_http_ready", &[]), 0.0);
    let (status, body) = door.get("/readyz");
    assert!(status == 503 && body.contains("has not answered within a second"), "{body}");
}

/// Starts a door before a store that is not there: nothing here is charged.
fn door(settings: &str) -> Process {
    let words = ["diameter", "--store", "127.0.0.1:1", "--http-listen", "127.0.0.1:0"];
    Process::try_start(&words, settings).expect("it starts")
}

/// Each bound of connections has its counter on the page.
#[test]
fn each_bound_moves_its_counter_and_no_other() {
    let silent = |door: &Process| Client::open(door.diameter, PGW);
    let refused = |door: &Process, host: &str, code: &str| {
        let (_, answer) = Client::try_connect(door.diameter, host);
        assert!(answer.contains(&format!("Result-Code={code} ")), "{answer}");
    };
    let cut = |client: &mut Client| assert_eq!(client.receive(), None);
    let many: &dyn Fn(&Process) = &|door| {
        let _first = Client::connect(door.diameter, PGW);
        cut(&mut silent(door));
    };
    let many_silent: &dyn Fn(&Process) = &|door| {
        let _first = silent(door);
        cut(&mut silent(door));
    };
    let late: &dyn Fn(&Process) = &|door| cut(&mut silent(door));
    let early: &dyn Fn(&Process) = &|door| {
        let mut client = silent(door);
        let request = client.request(Ask::data("s;1", Initial, 0), |_| {});
        client.send(&request);
        cut(&mut client);
    };
    let unknown: &dyn Fn(&Process) = &|door| refused(door, "stranger.example", "3010");
    let without_tls: &dyn Fn(&Process) = &|door| refused(door, PGW, "5017");
    let twice: &dyn Fn(&Process) = &|door| {
        let _first = Client::connect(door.diameter, PGW);
        refused(door, PGW, "4003");
    };
    let no_message: &dyn Fn(&Process) = &|door| {
        let mut client = silent(door);
        client.send(b"GET / HTTP/1.1\r\n\r\n");
        cut(&mut client);
    };
    let half: &dyn Fn(&Process) = &|door| {
        let mut client = Client::connect(door.diameter, PGW);
        let request = client.request(Ask::data("s;1", Initial, 0), |_| {});
        client.send(&request[..request.len() / 2]);
        cut(&mut client);
    };
    let never_reads: &dyn Fn(&Process) = &|door| {
        let mut client = Client::connect(door.diameter, PGW);
        let watchdogs = client.watchdog_request().repeat(1_000);
        // The sockets take some megabytes, then the door stops reading.
        while client.stream().write_all(&watchdogs).is_ok() {}
    };
    for (fault, settings, provoke) in [
        ("too_many", "connections_max = 1", many),
        ("too_many_unidentified", "unidentified_max = 1", many_silent),
        ("no_capabilities", "capabilities_ms = 50", late),
        ("before_capabilities", "", early),
        ("unknown_peer", "unknown_peers = 'refuse'", unknown),
        ("refused", "[[diameter.peers]]\nhost = 'pgw.example'\nneeds_tls = true", without_tls),
        ("election_lost", "", twice),
        ("frame", "", no_message),
        ("slow_message", "message_ms = 50", half),
        ("write_timeout", "write_ms = 200\noutput_len_max = 16384", never_reads),
    ] {
        let door = door(&format!("[diameter]\n{settings}\n"));
        provoke(&door);
        let name = "scurry_diameter_connection_faults_total";
        let page = door.metrics_when(fault, |page| page.sum(name, &[("fault", fault)]) >= 1.0);
        assert!(page.has(name), "{}", page.0);
        are(&page, &[(name, &[("fault", fault)], 1.0), (name, &[], 1.0)]);
    }
}
