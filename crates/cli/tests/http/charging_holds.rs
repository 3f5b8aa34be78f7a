//! Open holds and remembered transactions over HTTP, and the repeated end of an account.

use crate::charging::open;
use serde_json::json;

#[test]
fn holds_and_transactions_are_shown_and_an_account_is_deleted_once() {
    let (_nodes, door) = open();
    let ask = |request: &str, body: &str| door.ask(request, &[], body);
    let buckets = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":100}]}"#;
    assert_eq!(ask("PUT /v1/accounts/olga", buckets).status, 201);
    for session in ["s2", "s1"] {
        let request = format!("POST /v1/accounts/olga/sessions/{session}");
        let body = r#"{"request":0,"items":[{"key":"a","unit":"cent","requested":5}]}"#;
        assert_eq!(ask(&request, body).status, 201, "{session}");
    }
    let first = ask("GET /v1/accounts/olga/holds?limit=1", "").body;
    let balance = json!({"bucket": "main", "unit": "cent", "available": 90, "held": 10});
    assert_eq!([&first["version"], &first["buckets"]], [&json!(3), &json!([balance])]);
    assert_eq!([&first["cursor"], &first["holds"][0]["session"]], [&json!("s1"), &json!("s1")]);
    let last = ask("GET /v1/accounts/olga/holds?limit=1&cursor=s1", "").body;
    let hold = &last["holds"][0];
    assert_eq!([&hold["session"], &hold["key"]], [&json!("s2"), &json!("a")]);
    assert_eq!([&hold["bucket"], &hold["amount"]], [&json!("main"), &json!(5)]);
    assert!(hold["deadline_ms"].is_i64() && last["cursor"].is_null(), "{last}");
    assert_eq!(ask("GET /v1/accounts/olga/holds?limit=1001", "").status, 400);

    let debit = r#"{"unit":"cent","amount":30}"#;
    assert_eq!(door.ask_once("POST /v1/accounts/olga/debits", "d1", debit).status, 200);
    let paid = ask("GET /v1/accounts/olga/transactions/d1", "").body;
    assert_eq!([&paid["code"], &paid["amount"]], [&json!("OK"), &json!(30)]);
    let part = &paid["parts"][0];
    assert_eq!([&part["bucket"], &part["refunded"]], [&json!("main"), &json!(0)]);
    assert!(part["item"].is_null() && paid["cause"].is_null(), "{paid}");
    let debit = r#"{"unit":"cent","amount":300}"#;
    assert_eq!(door.ask_once("POST /v1/accounts/olga/debits", "d2", debit).status, 402);
    let denied = ask("GET /v1/accounts/olga/transactions/d2", "");
    assert_eq!((denied.status, &denied.body["cause"]), (200, &json!("balance")));
    let unknown = ask("GET /v1/accounts/olga/transactions/d3", "");
    assert_eq!((unknown.status, &unknown.body["code"]), (404, &json!("UNKNOWN_TRANSACTION")));

    assert_eq!(ask("PUT /v1/accounts/piet", "{}").status, 201);
    let closed = r#"{"status":"closed"}"#;
    assert_eq!(door.ask_once("PUT /v1/accounts/piet/status", "c1", closed).status, 200);
    let delete = "DELETE /v1/accounts/piet?force=true&if_transaction=c1";
    for version in [3, 0] {
        let deleted = ask(delete, "");
        assert_eq!((deleted.status, &deleted.body["version"]), (200, &json!(version)));
    }
    assert_eq!(ask("PUT /v1/accounts/piet", "{}").status, 201);
    assert_eq!(ask(delete, "").status, 404);
    assert_eq!(ask("GET /v1/accounts/piet", "").status, 200);
    let alone = "DELETE /v1/accounts/piet?if_transaction=c1";
    assert_eq!(ask(alone, "").status, 400);
}
