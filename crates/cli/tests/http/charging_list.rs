//! Lists of accounts over HTTP: in steps, over all servers of the store.

use crate::charging::{create, open};
use crate::node::threaded;
use crate::store::Store;
use crate::support::Door;
use serde_json::{Value, json};

/// Reads a whole list. Returns the accounts, sorted, and the number of steps.
fn listed(door: &Door, options: &str) -> (Vec<String>, usize) {
    let (mut accounts, mut cursor, mut steps) = (Vec::new(), String::new(), 0);
    loop {
        let reply = door.ask(&format!("GET /v1/accounts?{options}{cursor}"), &[], "");
        assert_eq!(reply.status, 200, "{}", reply.body);
        let rows = reply.body["accounts"].as_array().expect("a list");
        let ids = rows.iter().map(|row| row["account"].as_str().expect("an id").to_owned());
        accounts.extend(ids);
        steps += 1;
        match &reply.body["cursor"] {
            Value::Null => break,
            next => cursor = format!("&cursor={}", next.as_str().expect("text")),
        }
    }
    accounts.sort_unstable();
    (accounts, steps)
}

#[test]
fn accounts_are_listed_as_they_are() {
    let (_nodes, door) = open();
    let empty = json!({"accounts": [], "cursor": null});
    assert_eq!(door.ask("GET /v1/accounts", &[], "").body, empty);
    create(&door, "alice");
    let alice = json!({"accounts": [{"account": "alice", "status": "active", "version": 1}],
        "cursor": null});
    for query in ["", "?limit=1000", "?prefix=al", "?status=active&cursor=0.0"] {
        assert_eq!(door.ask(&format!("GET /v1/accounts{query}"), &[], "").body, alice, "{query}");
    }
    for query in ["?prefix=b", "?status=closed", "?cursor=7.0"] {
        assert_eq!(door.ask(&format!("GET /v1/accounts{query}"), &[], "").body, empty, "{query}");
    }
    for (query, parameter) in [
        ("?cursor=x", "cursor"),
        ("?cursor=0", "cursor"),
        ("?limit=0", "limit"),
        ("?limit=1001", "limit"),
        ("?prefix=", "prefix"),
        ("?status=gone", "status"),
    ] {
        let reply = door.ask(&format!("GET /v1/accounts{query}"), &[], "");
        let code = (reply.status, reply.body["code"].as_str());
        assert_eq!(code, (400, Some("INVALID")), "{query}");
        assert_eq!(reply.body["errors"][0]["parameter"], parameter, "{query}");
    }
    assert_eq!(door.ask("GET /v1/accounts?other=1", &[], "").status, 400);
}

/// The door treats a store of several threads as a cluster.
#[test]
fn a_list_goes_from_server_to_server() {
    let node = threaded(3);
    let door = Door::charging(&node.address(), &[]);
    let mut all: Vec<String> = (0..60).map(|number| format!("account-{number}")).collect();
    all.iter().for_each(|account| create(&door, account));
    all.sort_unstable();
    let (accounts, steps) = listed(&door, "limit=10");
    assert_eq!(accounts, all);
    assert!(steps >= 6, "{steps} steps");
    assert_eq!(listed(&door, "limit=1000").0, all);
}

#[test]
fn a_door_beside_the_engine_lists_all_threads() {
    let store = Store::start(&["--threads", "2"]);
    let mut client = store.connect();
    for account in ["a", "b", "c"] {
        redis::cmd("SCUR.CREATE").arg(account).exec(&mut client).expect("it is made");
    }
    let (mut ids, mut cursor) = (Vec::new(), "0.0".to_owned());
    loop {
        let (status, body) = store.get(&format!("/v1/accounts?cursor={cursor}"));
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let rows = body["accounts"].as_array().expect("a list");
        ids.extend(rows.iter().map(|row| row["account"].as_str().expect("an id").to_owned()));
        match body["cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, ["a", "b", "c"]);
}

#[test]
fn accounts_are_found_by_identity_on_every_server() {
    let node = threaded(3);
    let door = Door::charging(&node.address(), &[]);
    let found = |identity: &str| door.ask(&format!("GET /v1/identities/{identity}"), &[], "").body;
    assert_eq!(found("msisdn/41791234567"), json!({"accounts": [], "more": false}));
    for (account, identities) in [
        ("b", r#"{"msisdn":"41791234567","team":"x/y"}"#),
        ("c", r#"{"team":"x/y"}"#),
        ("foo", r#"{"team":"z"}"#),
    ] {
        let body = format!(r#"{{"identities":{identities}}}"#);
        assert_eq!(door.ask(&format!("PUT /v1/accounts/{account}"), &[], &body).status, 201);
    }
    assert_eq!(found("msisdn/41791234567"), json!({"accounts": ["b"], "more": false}));
    let team = found("team/x%2Fy");
    let mut accounts: Vec<&str> =
        team["accounts"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    accounts.sort_unstable();
    assert_eq!(accounts, ["b", "c"]);
    // The number moves to `c`, and the session stays where it was opened.
    let reserve = r#"{"request":0,"items":[]}"#;
    assert_eq!(door.ask("POST /v1/accounts/b/sessions/s", &[], reserve).status, 201);
    let status = |account: &str, number: &str| {
        let body = format!(r#"{{"status":"active","identities":{{"msisdn":{number}}}}}"#);
        assert_eq!(door.ask(&format!("PUT /v1/accounts/{account}/status"), &[], &body).status, 200);
    };
    status("b", "null");
    status("c", r#""41791234567""#);
    assert_eq!(found("msisdn/41791234567"), json!({"accounts": ["c"], "more": false}));
    let of_session = json!({"accounts": ["b"], "more": false});
    assert_eq!(found("msisdn/41791234567?session=s"), of_session);
    let former = &door.ask("GET /v1/accounts/b", &[], "").body["former_identities"];
    assert_eq!(
        (&former[0]["kind"], &former[0]["value"]),
        (&json!("msisdn"), &json!("41791234567"))
    );
    assert!(former[0]["forget_at_ms"].is_i64(), "{former}");
    assert!(door.ask("GET /v1/accounts/c", &[], "").body["former_identities"].is_null());
    let wrong = door.ask("GET /v1/identities/msisdn/1?session=", &[], "");
    assert_eq!((wrong.status, &wrong.body["errors"][0]["parameter"]), (400, &json!("session")));
    let wrong = door.ask("GET /v1/identities/a-kind-of-17-chars/x", &[], "");
    assert_eq!((wrong.status, &wrong.body["errors"][0]["parameter"]), (400, &json!("kind")));
}
