//! Accounts, debits and sessions over HTTP, end to end.

use crate::node::{Node, forgetting};
use crate::support::Door;
use serde_json::json;

/// Opens a store and a door before it.
pub(crate) fn open() -> (Vec<Node>, Door) {
    let nodes = forgetting(1);
    let door = Door::charging(&nodes[0].address(), &[]);
    (nodes, door)
}

#[test]
fn a_bucket_is_refilled_as_it_is_told_and_an_account_created_once() {
    let (_nodes, door) = open();
    let body = r#"{"buckets":[{"bucket":"day","unit":"cent","amount":5,
        "allowance":{"period":"day","offset_minutes":60,"amount":50}}]}"#;
    let first = door.ask_once("PUT /v1/accounts/alice", "c1", body);
    let again = door.ask_once("PUT /v1/accounts/alice", "c1", body);
    let done = |replayed: bool, version: u64| json!({"code": "OK", "replayed": replayed, "version": version});
    assert_eq!((first.status, first.body), (201, done(false, 1)));
    assert_eq!((again.status, again.body), (201, done(true, 1)));
    let conflict = door.ask("PUT /v1/accounts/alice", &[], body);
    assert_eq!(conflict.status, 409);
    let allowance =
        || door.ask("GET /v1/accounts/alice", &[], "").body["buckets"][0]["allowance"].clone();
    let mut seen = allowance();
    let next = seen["refills_at_ms"].take();
    // One hour before midnight UTC.
    assert_eq!((next.as_i64().expect("a time") + 3_600_000) % 86_400_000, 0);
    let expected =
        json!({"period": "day", "offset_minutes": 60, "amount": 50, "refills_at_ms": null});
    assert_eq!(seen, expected);
    let patch = "PATCH /v1/accounts/alice/buckets/day";
    let reply = door.ask_once(patch, "b1", r#"{"allowance":{"period":"month"}}"#);
    assert_eq!((reply.status, &reply.body["amount"]), (200, &json!(5)));
    let seen = allowance();
    assert_eq!((&seen["period"], &seen["amount"]), (&json!("month"), &json!(50)));
    assert_eq!(door.ask_once(patch, "b2", r#"{"allowance":null}"#).status, 200);
    assert!(allowance().is_null());
    let suspended =
        door.ask_once("PUT /v1/accounts/alice/status", "s1", r#"{"status":"suspended"}"#);
    assert_eq!((suspended.status, suspended.body), (200, done(false, 4)));
    let active = door.ask("PUT /v1/accounts/alice/status", &[], r#"{"status":"active"}"#);
    assert_eq!(active.body, done(false, 5));
    let late = door.ask_once("PUT /v1/accounts/alice/status", "s1", r#"{"status":"suspended"}"#);
    assert_eq!((late.status, late.body), (200, done(true, 4)));
    assert_eq!(door.ask("GET /v1/accounts/alice", &[], "").body["status"], "active");
}

#[test]
fn items_are_debited_and_refunded_at_once() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let debits = "POST /v1/accounts/alice/debits";
    let items = r#"{"items":[{"key":1,"unit":"cent","amount":30},{"key":"gpt-x","unit":"octet","amount":500}]}"#;
    let reply = door.ask_once(debits, "d1", items);
    assert_eq!((reply.status, &reply.body["amount"]), (200, &json!(530)));
    assert_eq!(door.ask_once(debits, "d2", items).status, 402);
    let refunds = "POST /v1/accounts/alice/refunds";
    let back = r#"{"debit":"d1","items":[{"key":"gpt-x","unit":"octet","amount":20}]}"#;
    assert_eq!(door.ask_once(refunds, "r1", back).body["amount"], json!(20));
    assert_eq!(door.ask_once(refunds, "r2", r#"{"debit":"d1"}"#).body["amount"], json!(510));
    for wrong in
        [r#"{"items":[]}"#, r#"{"unit":"cent"}"#, r#"{"unit":"cent","amount":1,"items":[]}"#]
    {
        assert_eq!(door.ask_once(debits, "d3", wrong).status, 400, "{wrong}");
    }
}

/// Creates an account with 1000 cents and 500 octets.
pub(crate) fn create(door: &Door, account: &str) {
    let body = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":1000},
        {"bucket":"data","unit":"octet","amount":500,"priority":1}]}"#;
    let reply = door.ask(&format!("PUT /v1/accounts/{account}"), &[], body);
    assert_eq!(reply.status, 201, "{}", reply.body);
}

#[test]
fn an_account_is_made_filled_debited_and_refunded() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let reply =
        door.ask_once("POST /v1/accounts/alice/debits", "d1", r#"{"unit":"cent","amount":30}"#);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body, json!({"code": "OK", "replayed": false, "version": 2, "amount": 30}));
    let reply =
        door.ask_once("POST /v1/accounts/alice/refunds", "r1", r#"{"debit":"d1","amount":10}"#);
    assert_eq!((reply.status, &reply.body["amount"]), (200, &json!(10)));
    let reply = door.ask_once(
        "POST /v1/accounts/alice/top-ups",
        "t1",
        r#"{"bucket":"gift","unit":"cent","amount":5,"priority":-1,"valid_to_ms":null}"#,
    );
    assert_eq!((reply.status, &reply.body["amount"]), (200, &json!(5)));
    let reply = door.ask_once(
        "POST /v1/accounts/alice/adjustments",
        "a1",
        r#"{"bucket":"main","amount":-80}"#,
    );
    assert_eq!((reply.status, &reply.body["amount"]), (200, &json!(900)));
    let reply = door.ask_once(
        "POST /v1/accounts/alice/counters/calls",
        "c1",
        r#"{"amount":2,"period":"day"}"#,
    );
    assert_eq!((reply.status, &reply.body["amount"]), (200, &json!(2)));
    let reply = door.ask_once(
        "PATCH /v1/accounts/alice/buckets/main",
        "b1",
        r#"{"floor":-100,"priority":7,"mark":950}"#,
    );
    assert_eq!(reply.status, 200);
    let reply = door.ask("GET /v1/accounts/alice/check?unit=cent&amount=1006", &[], "");
    let expected = json!({"code": "CREDIT_LIMIT_REACHED", "amount": 1005, "cause": "balance"});
    assert_eq!((reply.status, reply.body), (200, expected));

    let account = door.ask("GET /v1/accounts/alice", &[], "").body;
    assert_eq!(account["status"], "active");
    let main = json!({"bucket": "main", "unit": "cent", "available": 900, "held": 0, "floor": -100,
        "priority": 7, "valid_from_ms": 0, "valid_to_ms": null, "mark": 950});
    assert!(account["buckets"].as_array().expect("a list").contains(&main), "{account}");
    assert_eq!(account["counters"][0]["value"], 2);
    let audit = door.ask("GET /v1/accounts/alice/audit", &[], "").body;
    assert_eq!(audit["ok"], true);
    let main = audit["buckets"].as_array().expect("a list").iter().find(|b| b["bucket"] == "main");
    let main = main.expect("it is there");
    let totals =
        ["credited", "refunded", "consumed", "voided", "overdrawn"].map(|name| &main[name]);
    assert_eq!(json!(totals), json!([1000, 10, 30, 80, 0]));
}

#[test]
fn a_session_is_opened_updated_and_ended() {
    let (_nodes, door) = open();
    create(&door, "bob");
    let path = "/v1/accounts/bob/sessions/call-1";
    let reply = door.ask(
        &format!("POST {path}"),
        &[],
        r#"{"request":0,"validity_ms":60000,"data":"AAH/","items":[
            {"key":1,"unit":"cent","requested":200,"min":50},{"key":2,"unit":"octet","requested":800}]}"#,
    );
    assert_eq!(reply.status, 201, "{}", reply.body);
    let items = json!([
        {"key": 1, "code": "OK", "granted": 200, "final": false, "uncollected": 0},
        {"key": 2, "code": "OK", "granted": 500, "final": true, "uncollected": 0}]);
    assert_eq!(reply.body, json!({"code": "OK", "replayed": false, "version": 1, "items": items}));

    let reply = door.ask(
        &format!("POST {path}/update"),
        &[],
        r#"{"request":1,"if_version":1,"items":[{"key":1,"unit":"cent","used":150,"requested":100}]}"#,
    );
    assert_eq!((reply.status, &reply.body["items"][0]["granted"]), (200, &json!(100)));
    let shown = door.ask(&format!("GET {path}"), &[], "").body;
    assert_eq!(shown["session"], "call-1");
    assert_eq!((&shown["tcc_ms"], &shown["data"]), (&json!(120_000), &json!("AAH/")));
    assert_eq!(
        (&shown["items"][0]["used"], &shown["items"][0]["outstanding"]),
        (&json!(150), &json!(100))
    );
    assert_eq!(shown["account"]["buckets"][0]["held"], 100);
    let listed = door.ask("GET /v1/accounts/bob/sessions", &[], "").body;
    assert_eq!(listed["sessions"][0]["session"], "call-1");

    let reply = door.ask(
        &format!("POST {path}/terminate"),
        &[],
        r#"{"request":2,"items":[{"key":1,"unit":"cent","used":80}]}"#,
    );
    assert_eq!((reply.status, &reply.body["version"]), (200, &json!(0)));
    let account = door.ask("GET /v1/accounts/bob", &[], "").body;
    assert_eq!(account["buckets"][0]["available"], 770);
    assert_eq!(account["buckets"][1]["available"], 500);
    assert_eq!(account["sessions"], json!([]));
    assert_eq!(door.ask(&format!("GET {path}"), &[], "").status, 404);
}

#[test]
fn an_account_ends() {
    let (_nodes, door) = open();
    let body = r#"{"status":"suspended","identities":{"msisdn":"491700000001"}}"#;
    assert_eq!(door.ask("PUT /v1/accounts/carol", &[], body).status, 201);
    let reply = door.ask("PUT /v1/accounts/carol", &[], body);
    assert_eq!((reply.status, &reply.body["code"]), (409, &json!("ACCOUNT_EXISTS")));
    let body = r#"{"status":"active","identities":{"msisdn":null,"imsi":"262010000000001"}}"#;
    assert_eq!(door.ask("PUT /v1/accounts/carol/status", &[], body).status, 200);
    let account = door.ask("GET /v1/accounts/carol", &[], "").body;
    assert_eq!(account["identities"], json!({"imsi": "262010000000001"}));
    let top_up = r#"{"bucket":"main","unit":"cent","amount":1}"#;
    assert_eq!(door.ask_once("POST /v1/accounts/carol/top-ups", "t", top_up).status, 200);
    let void = r#"{"bucket":"main","amount":-1}"#;
    assert_eq!(door.ask_once("POST /v1/accounts/carol/adjustments", "v", void).status, 200);
    let removed = door.ask_once("DELETE /v1/accounts/carol/buckets/main", "r", "");
    assert_eq!(removed.status, 200, "{}", removed.body);
    let closed = door.ask("PUT /v1/accounts/carol/status", &[], r#"{"status":"closed"}"#);
    assert_eq!(closed.status, 200);
    let reply = door.ask("DELETE /v1/accounts/carol", &[], "");
    assert_eq!((reply.status, &reply.body["code"]), (409, &json!("NOT_EMPTY")));
    assert_eq!(door.ask("DELETE /v1/accounts/carol?force=true", &[], "").status, 200);
    let reply = door.ask("GET /v1/accounts/carol", &[], "");
    assert_eq!((reply.status, &reply.body["code"]), (404, &json!("UNKNOWN_ACCOUNT")));
}

#[test]
fn an_operator_releases_a_session() {
    let (_nodes, door) = open();
    create(&door, "dave");
    let body = r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":200}]}"#;
    assert_eq!(door.ask("POST /v1/accounts/dave/sessions/s", &[], body).status, 201);
    assert_eq!(door.ask("DELETE /v1/accounts/dave/sessions/s", &[], "").status, 200);
    let again = door.ask("DELETE /v1/accounts/dave/sessions/s", &[], "");
    assert_eq!((again.status, again.header("Idempotency-Replayed")), (200, "true"));
    let account = door.ask("GET /v1/accounts/dave", &[], "").body;
    assert_eq!(account["buckets"][0]["available"], 1000);
}

#[test]
fn a_store_of_several_threads_is_a_cluster_to_the_door() {
    let nodes = crate::node::threaded(2);
    let door = Door::charging(&nodes.address(), &[]);
    for number in 0..20 {
        let account = format!("account-{number}");
        create(&door, &account);
        let path = format!("POST /v1/accounts/{account}/debits");
        assert_eq!(door.ask_once(&path, "d", r#"{"unit":"cent","amount":1}"#).status, 200);
    }
}

#[test]
fn what_is_not_served_says_how_it_would_be() {
    let (nodes, door) = open();
    let reply = door.ask("GET /v0/entity?id=x", &[], "");
    assert_eq!((reply.status, &reply.body["code"]), (404, &json!("NOT_FOUND")));
    assert!(reply.body["detail"].as_str().expect("text").contains("--nodes"), "{}", reply.body);
    let entities = Door::open(&nodes);
    let reply = entities.ask("GET /v1/accounts/alice", &[], "");
    assert_eq!(reply.status, 404);
    assert!(reply.body["detail"].as_str().expect("text").contains("--store"), "{}", reply.body);
    assert_eq!(door.get("/readyz").0, 200);
}
