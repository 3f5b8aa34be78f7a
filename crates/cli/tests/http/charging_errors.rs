//! Errors name the location of the mistake and a code of the table, and change nothing.

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
        (
            "POST /v1/accounts/alice/sessions/s/update",
            r#"{"request":0,"overrun":"clamp"}"#,
            "/overrun",
        ),
        (session, r#"{"request":0,"keep_open":true,"close_on_denial":true}"#, "/keep_open"),
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
fn what_no_member_alone_shows_is_refused_too() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let session = "POST /v1/accounts/alice/sessions/s";
    for (body, place) in [
        (
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1,"min":2}]}"#,
            "/items/0/min",
        ),
        (
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1},{"key":1,"unit":"cent","requested":1}]}"#,
            "/items/1/key",
        ),
        (
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":1}],"validity_ms":0}"#,
            "/validity_ms",
        ),
    ] {
        let reply = door.ask(session, &[], body);
        assert_eq!((reply.status, &reply.body["code"]), (400, &json!("INVALID")), "{body}");
        assert_eq!(reply.body["errors"][0]["pointer"], place, "{body}: {}", reply.body);
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
    assert_eq!(reply.body["cause"], "status");
    // Without items the cause stands at the top level of the answer.
    let reply = door.ask("POST /v1/accounts/alice/sessions/s", &[], r#"{"request":0}"#);
    assert_eq!((reply.status, &reply.body["code"]), (403, &json!("SERVICE_DENIED")));
    assert_eq!((&reply.body["items"], &reply.body["cause"]), (&json!([]), &json!("status")));
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

/// An array in place of an object, and an object in place of a word, are refused at any depth.
#[test]
fn a_body_is_an_object_and_so_is_what_is_in_it() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let session = "POST /v1/accounts/alice/sessions/s";
    let nchf = "POST /nchf-convergedcharging/v3/chargingdata";
    let consumer = r#"{"nodeFunctionality":"SMF","nFName":"smf-1"}"#;
    let rest = r#""invocationTimeStamp":"2026-01-01T12:00:00Z","invocationSequenceNumber":0,"chargingId":1,"subscriberIdentifier":"alice""#;
    let in_nchf = [
        format!(
            r#"{{"nfConsumerIdentification":["SMF","x",null,null,null],{rest},"multipleUnitUsage":[]}}"#
        ),
        format!(
            r#"{{"nfConsumerIdentification":{consumer},{rest},"multipleUnitUsage":[[10,null,[]]]}}"#
        ),
        format!(
            r#"{{"nfConsumerIdentification":{consumer},{rest},"multipleUnitUsage":[{{"ratingGroup":1,"requestedUnit":[null,5,null,null,null]}}]}}"#
        ),
    ];
    let mut cases = vec![
        ("POST /v1/accounts/alice/debits", r#"["cent",100]"#, ""),
        ("POST /v1/accounts/alice/debits", r#"{"unit":"cent","amount":[100]}"#, "/amount"),
        ("POST /v1/accounts/alice/refunds", r#"["k",null]"#, ""),
        ("POST /v1/accounts/alice/top-ups", r#"["main",100,null,null,null,null,null]"#, ""),
        ("POST /v1/accounts/alice/adjustments", r#"["main",100]"#, ""),
        ("POST /v1/accounts/alice/counters/c", r#"[1,null,null]"#, ""),
        ("POST /v1/accounts/alice/counters/c", r#"{"amount":1,"period":{"day":null}}"#, "/period"),
        ("PATCH /v1/accounts/alice/buckets/main", r#"[1,null,null,null]"#, ""),
        ("PUT /v1/accounts/alice/status", r#"["suspended",{}]"#, ""),
        ("PUT /v1/accounts/alice/status", r#"{"status":{"suspended":null}}"#, "/status"),
        ("PUT /v1/accounts/bob", r#"["active",{},[]]"#, ""),
        (
            "PUT /v1/accounts/bob",
            r#"{"buckets":[["main","cent",1,null,null,null,null]]}"#,
            "/buckets/0",
        ),
        (session, r#"[0,[],null,null,null,false,null]"#, ""),
        (session, r#"{"request":0,"items":[[1,"cent",10,null]]}"#, "/items/0"),
        (nchf, "[]", ""),
    ];
    for (body, pointer) in in_nchf.iter().zip([
        "/nfConsumerIdentification",
        "/multipleUnitUsage/0",
        "/multipleUnitUsage/0/requestedUnit",
    ]) {
        cases.push((nchf, body, pointer));
    }
    for (request, body, pointer) in cases {
        let reply = door.ask_once(request, "k", body);
        assert_eq!(reply.status, 400, "{request} {body}: {}", reply.body);
        assert_eq!(reply.body["errors"][0]["pointer"], pointer, "{request} {body}: {}", reply.body);
    }
    let account = door.ask("GET /v1/accounts/alice", &[], "").body;
    assert_eq!((&account["version"], &account["status"]), (&json!(1), &json!("active")));
    assert_eq!(door.ask("GET /v1/accounts/bob", &[], "").status, 404);
}

/// Every problem under /v1 has a type listed at /v1/problems, and its text has no words of RESP or Rust.
#[test]
fn problems_have_types_of_the_table_and_speak_of_http() {
    let (_nodes, door) = open();
    create(&door, "alice");
    create(&door, "open");
    let soon = r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":9,"min":1}]}"#;
    assert_eq!(door.ask("POST /v1/accounts/open/sessions/s", &[], soon).status, 201);
    let closed = door.ask("PUT /v1/accounts/open/status", &[], r#"{"status":"suspended"}"#);
    assert_eq!(closed.status, 200);
    let table = door.ask("GET /v1/problems", &[], "").body;
    let codes: Vec<&str> =
        table.as_array().expect("a list").iter().filter_map(|row| row["code"].as_str()).collect();
    let (debits, session) =
        ("POST /v1/accounts/alice/debits", "POST /v1/accounts/alice/sessions/s");
    for (request, body, status, place) in [
        ("GET /v1/nowhere", "", 404, ""),
        ("GET /v1/accounts/", "", 404, ""),
        ("GET /nchf-convergedcharging/v3/nowhere", "", 404, ""),
        ("DELETE /v1/totals", "", 405, ""),
        ("TRACE /v1/accounts/alice", "", 405, ""),
        ("GET /v1/accounts/alice?x=1", "", 400, "x"),
        ("GET /v1/accounts/alice/check?unit=cent&unit=cent&amount=1", "", 400, "unit"),
        ("GET /v1/accounts/alice/check?unit=cent", "", 400, "amount"),
        ("DELETE /v1/accounts/alice?force=yes", "", 400, "force"),
        ("GET /v1/accounts/nobody", "", 404, ""),
        ("PUT /v1/accounts/alice", "{}", 409, ""),
        ("DELETE /v1/accounts/alice", "", 409, ""),
        ("POST /v1/accounts/alice/sessions/none/update", r#"{"request":1}"#, 404, ""),
        ("POST /v1/accounts/alice/top-ups", r#"{"bucket":"none","amount":1}"#, 404, ""),
        (
            "POST /v1/accounts/alice/top-ups",
            r#"{"bucket":"main","amount":1,"unit":"cent","floor":-1}"#,
            400,
            "/floor",
        ),
        (
            "POST /v1/accounts/alice/top-ups",
            r#"{"bucket":"main","amount":1,"mark":1}"#,
            400,
            "/mark",
        ),
        (
            "POST /v1/accounts/alice/top-ups",
            r#"{"bucket":"main","amount":1,"unit":"octet"}"#,
            400,
            "/unit",
        ),
        (
            "POST /v1/accounts/alice/top-ups",
            r#"{"bucket":"main","amount":1,"valid_to_ms":1}"#,
            400,
            "/valid_to_ms",
        ),
        ("POST /v1/accounts/alice/refunds", r#"{"debit":"none"}"#, 404, ""),
        ("DELETE /v1/accounts/alice/buckets/main", "", 409, ""),
        ("POST /v1/accounts/alice/adjustments", r#"{"bucket":"main","amount":0}"#, 400, "/amount"),
        (
            "POST /v1/accounts/alice/adjustments",
            r#"{"bucket":"main","amount":"-9223372036854775808"}"#,
            400,
            "/amount",
        ),
        (
            "PUT /v1/accounts/bob",
            r#"{"buckets":[{"bucket":"a","unit":"b","amount":1},{"bucket":"a","unit":"b","amount":1}]}"#,
            400,
            "/buckets/1/bucket",
        ),
        (
            "PUT /v1/accounts/bob",
            r#"{"buckets":[{"bucket":"a","unit":"b","amount":1,"valid_from_ms":9,"valid_to_ms":9}]}"#,
            400,
            "/buckets/0/valid_to_ms",
        ),
        (
            "PUT /v1/accounts/bob",
            r#"{"buckets":[{"bucket":"a","unit":"b","amount":1,"valid_to_ms":9}]}"#,
            400,
            "/buckets/0/valid_to_ms",
        ),
        (
            "PATCH /v1/accounts/alice/buckets/main",
            r#"{"valid_from_ms":5,"valid_to_ms":5}"#,
            400,
            "/valid_to_ms",
        ),
        (debits, "5", 400, ""),
        (debits, r#"{"unit":5,"amount":1}"#, 400, "/unit"),
        (debits, r#"{"unit":{},"amount":1}"#, 400, "/unit"),
        ("PUT /v1/accounts/alice/status", r#"{"status":5}"#, 400, "/status"),
        (session, r#"{"request":"x","items":[]}"#, 400, "/request"),
        (
            session,
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":5,"min":6}]}"#,
            400,
            "/items/0/min",
        ),
        (
            session,
            r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":5},{"key":1,"unit":"cent","requested":5}]}"#,
            400,
            "/items/1/key",
        ),
        (
            session,
            r#"{"request":0,"tcc_ms":99999999999999,"items":[{"key":1,"unit":"cent","requested":5}]}"#,
            400,
            "/tcc_ms",
        ),
        (
            "POST /v1/accounts/open/sessions/s/update",
            r#"{"request":1,"items":[{"key":1,"unit":"cent"}]}"#,
            400,
            "/items/0",
        ),
        (
            "POST /v1/accounts/open/sessions/s/update",
            r#"{"request":1,"if_version":7,"items":[]}"#,
            412,
            "",
        ),
    ] {
        let reply = door.ask_once(request, "words", body);
        let text = reply.body.to_string();
        assert_eq!(reply.status, status, "{request} {body}: {text}");
        let code = reply.body["code"].as_str().expect("a code");
        assert!(codes.contains(&code), "{request}: {text}");
        assert_eq!(reply.body["type"], format!("/v1/problems#{code}"), "{request}");
        for word in
            ["SCUR.", "scur.", "struct", "u32", "i64", "sequence", "FROM", "IFVERSION", "variant"]
        {
            assert!(!text.contains(word), "{request} {body}: {text}");
        }
        if !place.is_empty() {
            let error = &reply.body["errors"][0];
            let told = error.get("pointer").or_else(|| error.get("parameter"));
            assert_eq!(told, Some(&json!(place)), "{request} {body}: {text}");
        }
    }
    let account = door.ask("GET /v1/accounts/alice", &[], "").body;
    assert_eq!(account["version"], 1);
    for row in table.as_array().expect("a list") {
        assert!(!row["meaning"].as_str().expect("text").contains("IFVERSION"), "{row}");
    }
}
