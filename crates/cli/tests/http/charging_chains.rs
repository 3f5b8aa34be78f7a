//! Chains over HTTP: several accounts in one request, all or none, and errors with their location.

use crate::charging::open;
use crate::support::Door;
use serde_json::{Value, json};

const CHAINS: &str = "POST /v1/chains";

fn create(door: &Door, account: &str, amount: i64) {
    let body = json!({"buckets": [{"bucket": "main", "unit": "cent", "amount": amount}]});
    let reply = door.ask(&format!("PUT /v1/accounts/{account}"), &[], &body.to_string());
    assert_eq!(reply.status, 201, "{}", reply.body);
}

fn transfer(id: &str, amount: i64) -> Value {
    json!({"commands": [
        {"account": "{b}1", "operation": "debit", "transaction": id, "unit": "cent", "amount": amount},
        {"account": "{b}2", "operation": "top_up", "transaction": id, "bucket": "main", "amount": amount},
    ]})
}

#[test]
fn all_of_a_chain_is_done_once_or_nothing() {
    let (_nodes, door) = open();
    create(&door, "%7Bb%7D1", 100);
    create(&door, "%7Bb%7D2", 100);
    let body = transfer("t1", 30).to_string();
    let reply = door.ask(CHAINS, &[], &body);
    let answers = |replayed: bool| {
        json!([{"code": "OK", "replayed": replayed, "version": 2, "amount": 30},
            {"code": "OK", "replayed": replayed, "version": 2, "amount": 130}])
    };
    let done = json!({"code": "OK", "replayed": false, "denied": null, "answers": answers(false)});
    assert_eq!((reply.status, reply.body), (200, done));
    let reply = door.ask(CHAINS, &[], &body);
    assert_eq!((reply.status, &reply.body["answers"]), (200, &answers(true)));
    assert_eq!(reply.header("idempotency-replayed"), "true");

    let reply = door.ask(CHAINS, &[], &transfer("t2", 71).to_string());
    assert_eq!(reply.status, 402, "{}", reply.body);
    assert_eq!(
        (&reply.body["code"], &reply.body["denied"]),
        (&json!("CREDIT_LIMIT_REACHED"), &json!(1))
    );
    let denied = &reply.body["answers"][1];
    assert_eq!((&denied["code"], &denied["cause"]), (&json!("CHAIN_DENIED"), &json!("chain")));
    let open = json!({"commands": [
        {"account": "{b}1", "operation": "reserve", "session": "s", "request": 0,
            "items": [{"key": 1, "unit": "cent", "requested": 10}]},
        {"account": "{b}2", "operation": "reserve", "session": "s", "request": 0,
            "items": [{"key": 1, "unit": "cent", "requested": 10}]},
    ]});
    let reply = door.ask(CHAINS, &[], &open.to_string());
    assert_eq!((reply.status, &reply.body["answers"][1]["items"][0]["granted"]), (200, &json!(10)));
}

#[test]
fn a_wrong_chain_names_the_command_and_the_field() {
    let (_nodes, door) = open();
    create(&door, "%7Bb%7D1", 100);
    create(&door, "%7Bb%7D2", 100);
    let debit = |account: &str| json!({"account": account, "operation": "debit", "transaction": "t", "unit": "cent", "amount": 1});
    let with = |name: &str, value: Value| {
        let mut second = debit("{b}2");
        second[name] = value;
        second
    };
    for (second, pointer) in [
        (with("operation", json!("adjust")), "/commands/1/operation"),
        (with("operation", json!(1)), "/commands/1/operation"),
        (with("account", json!("a b")), "/commands/1/account"),
        (with("transaction", json!("")), "/commands/1/transaction"),
        (with("amount", json!(0)), "/commands/1/amount"),
        (with("amount", json!(1.5)), "/commands/1/amount"),
        (with("more", json!(1)), "/commands/1/more"),
        (
            json!({"account": "{b}2", "operation": "reserve", "session": "s", "request": 0,
            "items": [{"key": 1, "unit": "cent", "requested": "x"}]}),
            "/commands/1/items/0/requested",
        ),
        (json!([]), "/commands/1"),
        (debit("{b}1"), "/commands/1"),
    ] {
        let body = json!({"commands": [debit("{b}1"), second]}).to_string();
        let reply = door.ask(CHAINS, &[], &body);
        assert_eq!((reply.status, &reply.body["code"]), (400, &json!("INVALID")), "{}", reply.body);
        assert_eq!(reply.body["errors"][0]["pointer"], pointer, "{body}: {}", reply.body);
    }
    for (body, status) in [
        (json!({"commands": []}), 400),
        (json!({"commands": [debit("{b}1"), debit("{c}1")]}), 400),
        (json!({"commands": [debit("{b}1"), debit("{b}3")]}), 404),
    ] {
        let reply = door.ask(CHAINS, &[], &body.to_string());
        assert_eq!(reply.status, status, "{}", reply.body);
    }
    let reply = door.ask("GET /v1/accounts/%7Bb%7D1", &[], "");
    assert_eq!(reply.body["version"], 1, "{}", reply.body);
}
