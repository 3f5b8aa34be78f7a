//! Names in paths: a slash in a name is escaped, and `.` and `..` cannot be names, because clients and proxies remove
//! them from paths.

use crate::store::{Store, say};
use serde_json::{Value, json};

const BUCKETS: &str = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":1000}]}"#;

/// Sends a request with a JSON body as it stands, without a client that could normalize its path.
fn ask(store: &Store, request: &str, body: &str) -> (u16, Value) {
    let answer = say(
        store.http_port,
        format!(
            "{request} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Idempotency-Key: k{0}\r\nContent-Length: {0}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    let status = answer.split(' ').nth(1).and_then(|digits| digits.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (status.expect(&answer), serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn a_slash_in_a_name_is_written_as_its_escape() {
    let store = Store::start(&[]);
    let account = "/v1/accounts/acme%2Fteam%2f1%25";
    assert_eq!(ask(&store, &format!("PUT {account}"), BUCKETS).0, 201);
    let debit = r#"{"unit":"cent","amount":30}"#;
    assert_eq!(ask(&store, &format!("POST {account}/debits"), debit).0, 200);
    let session = format!("{account}/sessions/day%2Fcall");
    let reserve = r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":10}]}"#;
    assert_eq!(ask(&store, &format!("POST {session}"), reserve).0, 201);
    assert_eq!(ask(&store, &format!("GET {session}"), "").1["session"], "day/call");
    let mut client = store.connect();
    let audit = redis::cmd("SCUR.AUDIT").arg("acme/team/1%").query::<redis::Value>(&mut client);
    audit.expect("the account has its slashes and its percent sign");
    // Unescaped it is another path.
    assert_eq!(ask(&store, "GET /v1/accounts/acme/team/1", "").0, 404);
}

#[test]
fn no_name_is_one_that_a_path_cannot_have() {
    let store = Store::start(&[]);
    for name in [".", "..", "%2e", "%2E%2e", ".%2e"] {
        let (status, body) = ask(&store, &format!("PUT /v1/accounts/{name}"), BUCKETS);
        assert_eq!((status, &body["errors"][0]["parameter"]), (400, &json!("account")), "{body}");
        let why = body["detail"].as_str().unwrap_or_default();
        assert!(why.contains("which no path of a URL can name"), "{why}");
    }
    let bucket = BUCKETS.replace("main", "..");
    let (status, body) = ask(&store, "PUT /v1/accounts/alice", &bucket);
    let pointer = &body["errors"][0]["pointer"];
    assert_eq!((status, pointer), (400, &json!("/buckets/0/bucket")), "{body}");
    for name in ["...", ".a", "a.", "-.-"] {
        assert_eq!(ask(&store, &format!("PUT /v1/accounts/{name}"), BUCKETS).0, 201, "{name}");
        assert_eq!(ask(&store, &format!("GET /v1/accounts/{name}"), "").0, 200, "{name}");
    }
}
