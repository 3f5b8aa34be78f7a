//! The peers of the door in the console, and the resource that the console reads.

use crate::browser::drive;
use crate::client::{Ask, Client, wants};
use crate::metrics::HTTP;
use crate::store::Process;
use scurry_diameter::ccr::RequestType::Initial;
use serde_json::{Value, json};

const PGW: &str = "pgw.example";
const GONE: &str = "gone.example";

/// Starts a server with two peers: one is connected and has charged, the other has gone.
fn with_peers() -> (Process, Client) {
    let store = Process::with_settings(HTTP);
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    drop(Client::connect(store.diameter, GONE));
    let mut client = Client::connect(store.diameter, PGW);
    let stranger = Ask { imsi: "999", ..Ask::data("s;2", Initial, 0) };
    for (ask, code) in [(Ask::data("s;1", Initial, 0), "2001 "), (stranger, "5030 ")] {
        let answer = client.services(ask, &[wants(1, 10)]);
        assert!(answer.starts_with(code), "{answer}");
    }
    store.metrics_when("both peers are counted", |page| {
        page.sum("scurry_diameter_peer_answers_total", &[("host", PGW)]) == 2.0
            && page.sum("scurry_diameter_peer_state", &[("host", GONE), ("state", "absent")]) == 1.0
    });
    (store, client)
}

#[test]
fn peers_are_a_resource_for_programs() {
    let (store, _client) = with_peers();
    let (status, body) = store.get("/v1/console/diameter");
    assert_eq!(status, 200, "{body}");
    let mut told: Value = serde_json::from_str(&body).expect("JSON");
    for peer in told["peers"].as_array_mut().expect("peers") {
        let since_ms = peer["since_ms"].take().as_u64().expect("a time");
        assert!(since_ms > 1_700_000_000_000, "{since_ms}");
        let address = peer["address"].take();
        assert!(address.as_str().is_some_and(|text| text.starts_with("127.0.0.1:")), "{address}");
    }
    let peer = |host, state, requests: Value, answers: Value, last_error: Value| {
        json!({
            "host": host, "realm": "example", "address": null, "tls": false, "state": state, "since_ms": null,
            "requests": requests, "answers": answers, "dropped_answers": 0, "own_requests": {}, "errors": {},
            "last_error": last_error,
        })
    };
    let gone = json!("the peer has closed the connection");
    let came = json!({"capabilities-exchange": 1});
    let charged = json!({"capabilities-exchange": 1, "credit-control": 2});
    let answers = json!({"2001": 1, "5030": 1});
    let expected = [
        peer(GONE, "absent", came, json!({}), gone),
        peer(PGW, "open", charged, answers, Value::Null),
    ];
    assert_eq!(told, json!({ "peers": expected }));
}

#[test]
fn peers_are_seen_on_the_page() {
    let (store, mut client) = with_peers();
    let url = format!("http://127.0.0.1:{}", store.http);
    // Requests go on, so that there are some in each second.
    let ends = std::sync::atomic::AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                client.watchdog();
                std::thread::sleep(std::time::Duration::from_millis(20)); // tidy: allow (a pace, not a wait for something)
            }
        });
        let want = json!({
            PGW: ["example", "open", "2001: 1, 5030: 1", "0", "none", "none", "–"],
            GONE: ["example", "absent", "none", "0", "none", "none", "the peer has closed the connection"],
        });
        let found = std::panic::catch_unwind(|| drive(&url, &["diameter", &want.to_string()]));
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        found
    });
    assert_eq!(found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))["peers"], 2);
}
