//! Totals of a store over HTTP: of one server, of several threads, and in the process of the store.

use crate::charging::{create, open};
use crate::node::threaded;
use crate::store::Store;
use crate::support::Door;
use serde_json::{Value, json};

fn totals(door: &Door) -> Value {
    let reply = door.ask("GET /v1/totals", &[], "");
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

#[test]
fn what_moves_shows_in_the_totals_and_is_conserved() {
    let (_nodes, door) = open();
    assert_eq!(totals(&door), json!({"ok": true, "accounts": 0, "sessions": 0, "units": []}));
    create(&door, "alice");
    create(&door, "bob");
    for (request, key, body) in [
        ("POST /v1/accounts/alice/debits", "d", r#"{"unit":"cent","amount":30}"#),
        ("POST /v1/accounts/alice/refunds", "r", r#"{"debit":"d","amount":10}"#),
        ("POST /v1/accounts/bob/adjustments", "a", r#"{"bucket":"main","amount":-5}"#),
    ] {
        assert_eq!(door.ask_once(request, key, body).status, 200, "{request}");
    }
    let session = r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":100}]}"#;
    assert_eq!(door.ask("POST /v1/accounts/bob/sessions/s", &[], session).status, 201);
    let cent = json!({"unit": "cent", "available": 1875, "held": 100, "credited": 2000,
        "refunded": 10, "consumed": 30, "expired": 0, "voided": 5, "overdrawn": 0,
        "uncollected": 0, "in_transit": 0, "error": 0});
    let octet = json!({"unit": "octet", "available": 1000, "held": 0, "credited": 1000,
        "refunded": 0, "consumed": 0, "expired": 0, "voided": 0, "overdrawn": 0,
        "uncollected": 0, "in_transit": 0, "error": 0});
    let expected = json!({"ok": true, "accounts": 2, "sessions": 1, "units": [cent, octet]});
    assert_eq!(totals(&door), expected);
    assert_eq!(door.ask("GET /v1/totals?unit=cent", &[], "").status, 400);
}

/// The door treats it as a cluster, and each of its ports answers for its own thread.
#[test]
fn a_store_of_several_threads_counts_once() {
    let node = threaded(3);
    let door = Door::charging(&node.address(), &[]);
    for number in 0..20 {
        create(&door, &format!("account-{number}"));
    }
    let totals = totals(&door);
    assert_eq!((&totals["accounts"], &totals["ok"]), (&json!(20), &json!(true)));
    assert_eq!(totals["units"][0]["credited"], 20_000);
}

#[test]
fn a_door_beside_the_engine_has_them_too() {
    let store = Store::start(&["--threads", "2"]);
    let mut client = store.connect();
    for account in ["a", "b", "c"] {
        let mut create = redis::cmd("SCUR.CREATE");
        create.arg(account).arg("BUCKET").arg("main").arg("cent").arg("9223372036854775807");
        create.query::<redis::Value>(&mut client).expect("it is made");
    }
    let (status, body) = store.get("/v1/totals");
    let totals: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((status, &totals["accounts"], &totals["ok"]), (200, &json!(3), &json!(true)));
    assert_eq!(totals["units"][0]["credited"], "27670116110564327421");
}
