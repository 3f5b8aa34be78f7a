//! What is wrong is said where it is wrong, with the code of the one table, and changes nothing.

use crate::charging::{create, open};
use serde_json::json;

#[test]
fn a_wrong_body_names_the_field() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let session = "POST /v1/accounts/alice/sessions/s";
    let debits = "POST /v1/accounts/alice/debits";
    for (request, body, pointer) in [
        (
            session,
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":"x"}]}"#,
            "/items/0/requested",
        ),
        (
            session,
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":0}]}"#,
            "/items/0/requested",
        ),
        (
            session,
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1.5}]}"#,
            "/items/0/requested",
        ),
        (
            session,
            r#"{"request":0,"items":[{"key":1,"unit":"a b","requested":1}]}"#,
            "/items/0/unit",
        ),
        (session, r#"{"request":0,"items":[{"key":1,"unit":"cent"}]}"#, "/items/0/requested"),
        (
            session,
            r#"{"request":0,"items":[{"key":4294967296,"unit":"cent","requested":1}]}"#,
            "/items/0/key",
        ),
        (
            session,
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1,"used":2}]}"#,
            "/items/0/used",
        ),
        (session, r#"{"request":-1,"items":[]}"#, "/request"),
        (session, r#"{"items":[]}"#, "/request"),
        (session, r#"{"request":0,"items":[],"data":"?"}"#, "/data"),
        (session, r#"{"request":0,"items":[],"overrun":"never"}"#, "/overrun"),
        (session, r#"{"request":0,"items":[]}"#, "/items"),
        ("PATCH /v1/accounts/alice/buckets/main", "{}", ""),
        ("PATCH /v1/accounts/alice/buckets/main", r#"{"floor":1}"#, "/floor"),
        (debits, r#"{"unit":"cent","amount":9223372036854775808}"#, "/amount"),
        (debits, r#"{"unit":"cent","amount":"007"}"#, "/amount"),
        (debits, r#"{"unit":"cent","amount":1,"Amount":1}"#, "/Amount"),
        (debits, r#"{"unit":"","amount":1}"#, "/unit"),
        (debits, r#"{"unit":"cent","unit":"cent","amount":1}"#, "/unit"),
        (debits, r#"[]"#, ""),
        (debits, r#"{"unit":"cent","amount":1"#, ""),
        (debits, "\u{feff}{}", ""),
        (
            "PUT /v1/accounts/bob",
            r#"{"buckets":[{"bucket":"m","unit":"cent","amount":-1}]}"#,
            "/buckets/0/amount",
        ),
        ("PUT /v1/accounts/bob", r#"{"identities":{"msisdn":""}}"#, "/identities/msisdn"),
        ("PUT /v1/accounts/bob", r#"{"status":"closed"}"#, "/status"),
        ("PUT /v1/accounts/alice/status", r#"{"status":"asleep"}"#, "/status"),
    ] {
        let reply = door.ask_once(request, "k", body);
        assert_eq!(reply.status, 400, "{body}: {}", reply.body);
        assert_eq!(reply.header("Content-Type"), "application/problem+json");
        assert_eq!(reply.body["code"], "INVALID", "{body}");
        assert_eq!(reply.body["errors"][0]["pointer"], pointer, "{body}: {}", reply.body);
    }
    let deep = "[".repeat(100_000);
    assert_eq!(door.ask_once(debits, "k", &deep).status, 400);
    let account = door.ask("GET /v1/accounts/alice", &[], "").body;
    assert_eq!(account["version"], 1, "nothing was changed");
    assert_eq!(door.ask("GET /v1/accounts/bob", &[], "").status, 404);
}

#[test]
fn what_only_the_ledger_sees_is_its_refusal() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let session = "POST /v1/accounts/alice/sessions/s";
    for (body, words) in [
        (r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1,"min":2}]}"#, "MIN"),
        (
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1},{"key":1,"unit":"cent","requested":1}]}"#,
            "twice",
        ),
        (
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1}],"validity_ms":0}"#,
            "VALIDITY",
        ),
    ] {
        let reply = door.ask(session, &[], body);
        assert_eq!((reply.status, &reply.body["code"]), (400, &json!("INVALID")), "{body}");
        let why = reply.body["detail"].as_str().expect("text");
        assert!(why.contains(words), "{body}: {why}");
    }
}

#[test]
fn codes_have_the_statuses_of_the_table() {
    let (nodes, door) = open();
    create(&door, "alice");
    nodes[0].ask(&["SET", "plain", "value"]);
    let debit = r#"{"unit":"cent","amount":1}"#;
    let refund = r#"{"debit":"none"}"#;
    let update = r#"{"request":1}"#;
    for (request, body, status, code) in [
        ("POST /v1/accounts/nobody/debits", debit, 404, "UNKNOWN_ACCOUNT"),
        ("POST /v1/accounts/alice/refunds", refund, 404, "UNKNOWN_TRANSACTION"),
        ("POST /v1/accounts/alice/top-ups", r#"{"bucket":"x","amount":1}"#, 404, "UNKNOWN_BUCKET"),
        ("POST /v1/accounts/alice/sessions/s/update", update, 404, "UNKNOWN_SESSION"),
        ("GET /v1/accounts/alice/sessions/s", "", 404, "UNKNOWN_SESSION"),
        ("DELETE /v1/accounts/alice", "", 409, "NOT_EMPTY"),
        ("GET /v1/accounts/plain", "", 409, "WRONG_TYPE"),
        ("GET /v1/accounts/a%20b", "", 400, "INVALID"),
        ("GET /v1/accounts/%ff", "", 400, "BAD_REQUEST"),
        ("GET /v1/accounts/alice/check?unit=cent", "", 400, "INVALID"),
        ("GET /v1/accounts/alice/check?unit=cent&amount=1&x=1", "", 400, "BAD_REQUEST"),
        ("GET /v1/accounts/alice?x=1", "", 400, "BAD_REQUEST"),
        ("GET /v1/nothing", "", 404, "NOT_FOUND"),
        ("BREW /v1/accounts/alice", "", 405, "METHOD_NOT_ALLOWED"),
        ("POST /v1/accounts/alice", "{}", 405, "METHOD_NOT_ALLOWED"),
    ] {
        let reply = door.ask_once(request, "k", body);
        assert_eq!(reply.status, status, "{request}: {}", reply.body);
        assert_eq!(reply.body["code"], code, "{request}");
        assert_eq!(reply.body["status"], status, "{request}");
        assert_eq!(reply.header("Content-Type"), "application/problem+json", "{request}");
        for member in ["type", "title", "detail"] {
            assert!(reply.body[member].is_string(), "{request}: {}", reply.body);
        }
    }
    let reply = door.ask("PUT /v1/accounts/alice/status", &[], r#"{"status":"suspended"}"#);
    assert_eq!(reply.status, 200);
    let reply = door.ask_once("POST /v1/accounts/alice/debits", "k2", debit);
    assert_eq!((reply.status, &reply.body["code"]), (403, &json!("SERVICE_DENIED")));
}

#[test]
fn a_body_must_say_that_it_is_json() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let body = r#"{"unit":"cent","amount":1}"#;
    for (kind, status) in [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/jsonx", 415),
    ] {
        let headers = [("Content-Type", kind), ("Idempotency-Key", "k")];
        let reply = door.ask("POST /v1/accounts/alice/debits", &headers, body);
        assert_eq!(reply.status, status, "{kind}");
    }
}

#[test]
fn amounts_of_64_bits_arrive_and_come_back() {
    let (_nodes, door) = open();
    for (name, amount, shown) in [
        ("exact", "9007199254740991", json!(9_007_199_254_740_991i64)),
        ("beyond", "9007199254740992", json!("9007199254740992")),
        ("text", "\"9223372036854775807\"", json!("9223372036854775807")),
        ("most", "9223372036854775807", json!("9223372036854775807")),
    ] {
        let body = format!(r#"{{"buckets":[{{"bucket":"m","unit":"wei","amount":{amount}}}]}}"#);
        assert_eq!(door.ask(&format!("PUT /v1/accounts/{name}"), &[], &body).status, 201);
        let account = door.ask(&format!("GET /v1/accounts/{name}"), &[], "").body;
        assert_eq!(account["buckets"][0]["available"], shown, "{name}");
    }
}

#[test]
fn ids_are_what_the_url_means() {
    let (nodes, door) = open();
    for (path, id) in
        [("a%2Fb", "a/b"), ("%25", "%"), ("a+b", "a+b"), ("..%2F..", "../.."), ("a%3Fb", "a?b")]
    {
        create(&door, path);
        nodes[0].ask(&["SCUR.GET", id]);
    }
}

#[test]
fn the_door_does_not_hide_that_the_store_refuses_it() {
    let (nodes, _) = open();
    let wrong = crate::support::Door::charging(&nodes[0].address(), &["--password", "x"]);
    let reply = wrong.ask("GET /v1/accounts/alice", &[], "");
    assert_eq!((reply.status, &reply.body["code"]), (503, &json!("STORE_UNAVAILABLE")));
    let why = reply.body["detail"].as_str().expect("text").to_lowercase();
    assert!(why.contains("password") || why.contains("auth"), "{why}");
}
