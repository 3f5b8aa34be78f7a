//! Repeated requests are executed once: by Idempotency-Key, by request number, and with a store that does not answer,
//! dies and restarts.

use crate::charging::{create, open};
use crate::node::{keeping, threaded_at};
use crate::proxy::{Way, proxy_at};
use crate::store::Store;
use crate::support::{Door, Reply};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Address at which the ports of a store's threads are reached through proxies.
const ANNOUNCED: &str = "127.0.0.2";
const DEBIT: &str = r#"{"unit":"cent","amount":30}"#;
const DEBITS: &str = "POST /v1/accounts/alice/debits";

fn balance(door: &Door) -> i64 {
    let account = door.ask("GET /v1/accounts/alice", &[], "");
    account.body["buckets"][0]["available"].as_i64().expect("an amount")
}

fn is_replayed(reply: &Reply) -> bool {
    reply.header("Idempotency-Replayed") == "true"
}

#[test]
fn a_debit_that_is_sent_again_is_done_once() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let first = door.ask_once(DEBITS, "order-7", DEBIT);
    assert_eq!((first.status, is_replayed(&first)), (200, false));
    let second = door.ask_once(DEBITS, "order-7", DEBIT);
    assert_eq!((second.status, is_replayed(&second)), (200, true));
    assert_eq!(second.body["replayed"], true);
    for member in ["code", "version", "amount"] {
        assert_eq!(second.body[member], first.body[member]);
    }
    // The key in the quotes of a structured field.
    let quoted = door.ask_once(DEBITS, "\"order-7\"", DEBIT);
    assert!(is_replayed(&quoted));
    assert_eq!(balance(&door), 970);
}

#[test]
fn a_key_that_was_used_for_something_else_is_refused() {
    let (_nodes, door) = open();
    create(&door, "alice");
    assert_eq!(door.ask_once(DEBITS, "k", DEBIT).status, 200);
    let other = door.ask_once(DEBITS, "k", r#"{"unit":"cent","amount":31}"#);
    assert_eq!((other.status, &other.body["code"]), (422, &json!("REQUEST_MISMATCH")));
    let elsewhere =
        door.ask_once("POST /v1/accounts/alice/top-ups", "k", r#"{"bucket":"main","amount":30}"#);
    assert_eq!(elsewhere.status, 422);
    assert_eq!(balance(&door), 970);
}

#[test]
fn without_a_key_nothing_is_moved() {
    let (_nodes, door) = open();
    create(&door, "alice");
    for (request, body) in [
        (DEBITS, DEBIT),
        ("POST /v1/accounts/alice/top-ups", r#"{"bucket":"main","amount":30}"#),
        ("POST /v1/accounts/alice/adjustments", r#"{"bucket":"main","amount":30}"#),
        ("POST /v1/accounts/alice/refunds", r#"{"debit":"x"}"#),
        ("POST /v1/accounts/alice/counters/calls", r#"{"amount":1}"#),
        ("PATCH /v1/accounts/alice/buckets/main", r#"{"priority":1}"#),
        ("DELETE /v1/accounts/alice/buckets/main", ""),
    ] {
        let reply = door.ask(request, &[], body);
        assert_eq!(reply.status, 400, "{request}");
        assert_eq!(reply.body["errors"][0]["header"], "Idempotency-Key", "{request}");
    }
    let keys = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")];
    assert_eq!(door.ask(DEBITS, &keys, DEBIT).status, 400);
    assert_eq!(door.ask_once(DEBITS, &"x".repeat(256), DEBIT).status, 400);
    assert_eq!(balance(&door), 1000);
}

#[test]
fn a_denial_is_answered_again() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let body = r#"{"unit":"cent","amount":5000}"#;
    let first = door.ask_once(DEBITS, "big", body);
    assert_eq!((first.status, &first.body["code"]), (402, &json!("CREDIT_LIMIT_REACHED")));
    assert_eq!(first.header("Content-Type"), "application/problem+json");
    assert_eq!(first.body["amount"], 0);
    let reply =
        door.ask_once("POST /v1/accounts/alice/top-ups", "t", r#"{"bucket":"main","amount":9000}"#);
    assert_eq!(reply.status, 200);
    let second = door.ask_once(DEBITS, "big", body);
    assert_eq!((second.status, is_replayed(&second)), (402, true));
    assert_eq!(
        (&first.body["cause"], &second.body["cause"]),
        (&json!("balance"), &json!("balance"))
    );
    let unknown = door.ask_once(DEBITS, "euro", r#"{"unit":"EUR","amount":1}"#);
    assert_eq!((unknown.status, &unknown.body["cause"]), (402, &json!("no_bucket")));
    let said = unknown.body["detail"].as_str().expect("a sentence");
    assert!(said.starts_with("The account has no bucket of this unit"), "{said}");
    assert_eq!(balance(&door), 10_000);
}

#[test]
fn session_requests_are_told_apart_by_their_number() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let path = "POST /v1/accounts/alice/sessions/s";
    let reserve = r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":200}]}"#;
    let first = door.ask(path, &[], reserve);
    let again = door.ask(path, &[], reserve);
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((is_replayed(&first), is_replayed(&again)), (false, true));
    assert_eq!(first.body["items"], again.body["items"]);
    let other = r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":201}]}"#;
    assert_eq!(door.ask(path, &[], other).status, 422);
    let later = r#"{"request":1,"items":[{"key":1,"unit":"cent","requested":200}]}"#;
    assert_eq!(door.ask(path, &[], later).body["code"], "SESSION_EXISTS");

    let update =
        r#"{"request":1,"items":[{"key":1,"unit":"cent","used":150,"requested":5000,"min":5000}]}"#;
    let first = door.ask(&format!("{path}/update"), &[], update);
    // Nothing is granted, the reported use is debited, and the session is open.
    assert_eq!((first.status, &first.body["code"]), (402, &json!("CREDIT_LIMIT_REACHED")));
    assert_eq!(
        (&first.body["version"], &first.body["items"][0]["granted"]),
        (&json!(2), &json!(0))
    );
    let again = door.ask(&format!("{path}/update"), &[], update);
    assert_eq!((again.status, is_replayed(&again)), (402, true));
    for reply in [&first, &again] {
        assert_eq!(reply.body["items"][0]["cause"], "balance");
    }
    assert_eq!(balance(&door), 850);
    let end = r#"{"request":2,"items":[{"key":1,"unit":"cent","used":10}]}"#;
    for replayed in [false, true] {
        let reply = door.ask(&format!("{path}/terminate"), &[], end);
        assert_eq!((reply.status, is_replayed(&reply)), (200, replayed));
    }
    assert_eq!(balance(&door), 840);
}

#[test]
fn many_at_once_with_one_key_are_one() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let replayed: usize = thread::scope(|scope| {
        let send = || usize::from(is_replayed(&door.ask_once(DEBITS, "same", DEBIT)));
        let senders: Vec<_> = (0..16).map(|_| scope.spawn(send)).collect();
        senders.into_iter().map(|sender| sender.join().expect("an answer")).sum()
    });
    assert_eq!((replayed, balance(&door)), (15, 970));
}

#[test]
fn retry_after_says_when_there_is_room() {
    let directory = tempfile::tempdir().expect("a directory");
    let settings = directory.path().join("scurry.toml");
    std::fs::write(&settings, "[limits]\nsessions_max = 4\n").expect("a file");
    let store = Store::start(&["--config", settings.to_str().expect("UTF-8")]);
    let door = Door::charging(&format!("127.0.0.1:{}", store.port), &[]);
    create(&door, "alice");
    let reserve = |number: u32| {
        let path = format!("POST /v1/accounts/alice/sessions/s{number}");
        let body =
            r#"{"request":0,"tcc_ms":3600000,"items":[{"key":1,"unit":"cent","requested":1}]}"#;
        door.ask(&path, &[], body)
    };
    assert!((0..4).map(reserve).all(|reply| reply.status < 300));
    let reply = reserve(4);
    assert_eq!((reply.status, &reply.body["code"]), (503, &json!("BUSY")));
    let detail = reply.body["detail"].as_str().expect("text");
    assert!(detail.starts_with("sessions_max 4, the first goes in "), "{detail}");
    // Tcc of the first session, less the time since it opened.
    let seconds: u64 = reply.header("Retry-After").parse().expect("seconds");
    assert!((60..=3_600).contains(&seconds), "{seconds}");
    // Counters are never removed, so there is no time to wait for.
    let count = |number: u32| {
        let path = format!("POST /v1/accounts/alice/counters/c{number}");
        door.ask_once(&path, &format!("c{number}"), r#"{"amount":1}"#)
    };
    assert!((0..32).map(count).all(|reply| reply.status < 300));
    let reply = count(32);
    assert_eq!((reply.status, reply.header("Retry-After")), (503, ""));
    assert!(
        reply.body["detail"].as_str().is_some_and(|text| text.starts_with("counters_max 32: "))
    );
}

#[test]
fn an_unknown_outcome_is_said_and_sent_again_with_the_same_key() {
    let nodes = keeping(1);
    let door = Door::charging(&nodes[0].address(), &["--patience-ms", "2000"]);
    create(&door, "alice");
    nodes[0].pause();
    let reply = door.ask_once(DEBITS, "order-1", DEBIT);
    assert_eq!((reply.status, &reply.body["code"]), (504, &json!("OUTCOME_UNKNOWN")));
    let why = reply.body["detail"].as_str().expect("text");
    assert!(why.contains("the same Idempotency-Key"), "{why}");
    let reply = door.ask("GET /v1/accounts/alice", &[], "");
    assert_eq!(reply.status, 504);
    assert!(reply.body["detail"].as_str().expect("text").contains("nothing was changed"));
    nodes[0].go_on();
    let reply = until(|| door.ask_once(DEBITS, "order-1", DEBIT), 200);
    assert!(is_replayed(&reply), "the paused server has done it");
    assert_eq!(balance(&door), 970);
}

#[test]
fn what_has_no_id_is_sent_once_to_a_store_of_several_threads() {
    let node = threaded_at(2, ANNOUNCED);
    // Set before a request; the connection then ends in place of the reply to it.
    let is_set = Arc::new(AtomicBool::new(false));
    let is_sent = Arc::new(AtomicBool::new(false));
    for port in node.thread_ports(2) {
        let (is_set, is_sent) = (Arc::clone(&is_set), Arc::clone(&is_sent));
        proxy_at(&format!("{ANNOUNCED}:{port}"), format!("127.0.0.1:{port}"), move |_, _| {
            let (is_set, is_sent) = (Arc::clone(&is_set), Arc::clone(&is_sent));
            move |way, bytes: &[u8]| match way {
                Way::ToNode => {
                    let is_request = bytes.windows(5).any(|part| part == b"SCUR.");
                    if is_request && is_set.swap(false, Ordering::AcqRel) {
                        is_sent.store(true, Ordering::Release);
                    }
                    true
                }
                Way::ToDoor => !is_sent.swap(false, Ordering::AcqRel),
            }
        });
    }
    let door = Door::charging(&node.address(), &[]);
    let requests = [
        ("PUT /v1/accounts/bob", r#"{"buckets":[]}"#, "ACCOUNT_EXISTS"),
        ("PUT /v1/accounts/bob/status", r#"{"status":"closed"}"#, ""),
        ("DELETE /v1/accounts/bob?force=true", "", "UNKNOWN_ACCOUNT"),
    ];
    for (request, body, code) in requests {
        is_set.store(true, Ordering::Release);
        let reply = door.ask(request, &[], body);
        assert_eq!(reply.status, 504, "{request}: {}", reply.body);
        assert_eq!(reply.body["code"], "OUTCOME_UNKNOWN", "{request}");
        // It was carried out once, as the next one shows.
        let again = door.ask(request, &[], body);
        assert!(code.is_empty() || again.body["code"] == code, "{request}: {}", again.body);
    }
    // What has an id is sent again.
    create(&door, "carol");
    is_set.store(true, Ordering::Release);
    let debit = || door.ask_once("POST /v1/accounts/carol/debits", "order-1", DEBIT);
    let first = debit();
    assert_eq!((first.status, is_replayed(&first)), (200, true), "{}", first.body);
}

#[test]
fn a_store_that_dies_and_comes_back_has_done_it_once() {
    let mut nodes = keeping(1);
    let door = Door::charging(&nodes[0].address(), &[]);
    create(&door, "alice");
    assert_eq!(door.ask_once(DEBITS, "order-1", DEBIT).status, 200);
    nodes[0].kill();
    // The first request may find the broken connection.
    let reply = until(|| door.ask_once(DEBITS, "order-2", DEBIT), 503);
    assert_eq!(reply.body["code"], "STORE_UNAVAILABLE");
    assert_eq!(reply.header("Retry-After"), "1");
    assert_eq!(door.get("/readyz").0, 503);
    assert_eq!(door.get("/healthz").0, 200);
    nodes[0].start_again();
    for key in ["order-1", "order-2"] {
        until(|| door.ask_once(DEBITS, key, DEBIT), 200);
    }
    assert_eq!(balance(&door), 940);
}

#[test]
fn the_next_request_after_a_restart_is_answered() {
    let mut nodes = keeping(1);
    let door = Door::charging(&nodes[0].address(), &["--patience-ms", "20000"]);
    create(&door, "alice");
    for turn in 1..=3 {
        nodes[0].kill();
        nodes[0].start_again();
        assert_eq!(door.ask_once(DEBITS, &format!("after-{turn}"), DEBIT).status, 200);
        // Requests wait while the store starts.
        nodes[0].kill();
        let answered = thread::scope(|scope| {
            let asks = || door.ask_once(DEBITS, &format!("before-{turn}"), DEBIT).status;
            let answers = [(); 4].map(|()| scope.spawn(asks));
            nodes[0].start_again();
            answers.map(|answer| answer.join().expect("it is answered"))
        });
        assert_eq!(answered, [200; 4]);
    }
    assert_eq!(balance(&door), 1_000 - 6 * 30);
}

/// Repeats a request until it has this status.
fn until(ask: impl Fn() -> Reply, status: u16) -> Reply {
    for _ in 0..200 {
        let reply = ask();
        if reply.status == status {
            return reply;
        }
        thread::sleep(Duration::from_millis(50)); // tidy: allow (another process has to get there)
    }
    panic!("the status is never {status}");
}
