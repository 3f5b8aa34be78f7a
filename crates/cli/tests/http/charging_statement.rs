//! Statements of an account over HTTP.

use crate::charging::open;
use crate::store::Store;
use serde_json::{Value, json};

fn shown(store: &Store, query: &str) -> Value {
    shown_of(store, "alice", query)
}

fn shown_of(store: &Store, account: &str, query: &str) -> Value {
    let (status, body) = store.get(&format!("/v1/accounts/{account}/statement{query}"));
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

#[test]
fn a_statement_is_shown_in_steps() {
    let store = Store::start(&["--threads", "2", "--durability", "write"]);
    let mut client = store.connect();
    for line in [
        "SCUR.CREATE alice BUCKET main cent 100 TO 4000000000000",
        "SCUR.TOPUP alice t1 data 9007199254740993 UNIT octet",
        "SCUR.RESERVE alice s 0 ITEM gpt-5 cent REQUESTED 30",
        "SCUR.TERMINATE alice s 1 ITEM gpt-5 cent USED 20",
        "SCUR.CREATE bob BUCKET main cent 1",
    ] {
        let mut words = line.split(' ');
        let mut command = redis::cmd(words.next().expect("a name"));
        words.for_each(|word| {
            command.arg(word);
        });
        command.exec(&mut client).expect(line);
    }
    let all = shown(&store, "");
    assert_eq!(
        [&all["account"], &all["cursor"], &all["complete"]],
        [&json!("alice"), &json!(null), &json!(true)]
    );
    let entries = all["entries"].as_array().expect("a list").clone();
    let words: Vec<&str> = entries.iter().filter_map(|entry| entry["event"].as_str()).collect();
    assert_eq!(
        words,
        [
            "created",
            "bucket-added",
            "credited",
            "bucket-added",
            "credited",
            "session-opened",
            "item-added",
            "reserved",
            "settled",
            "released",
            "session-closed",
        ]
    );
    assert_eq!(entries[1]["valid_to_ms"], 4_000_000_000_000i64);
    assert_eq!(entries[3]["valid_to_ms"], json!(null));
    let big = json!("9007199254740993");
    assert_eq!([&entries[4]["amount"], &entries[4]["transaction"]], [&big, &json!("t1")]);
    let settled = ["session", "request", "item_no", "amount", "change", "held_change"];
    let settled = settled.map(|name| entries[8][name].clone());
    assert_eq!(settled, [json!("s"), json!(1), json!(0), json!(20), json!(0), json!(-20)]);
    let (mut steps, mut query) = (Vec::new(), "?limit=4".to_owned());
    loop {
        let part = shown(&store, &query);
        steps.extend(part["entries"].as_array().expect("a list").clone());
        let Some(cursor) = part["cursor"].as_str() else { break };
        query = format!("?limit=4&cursor={cursor}");
    }
    assert_eq!(steps, entries);
    // An account that never existed, and a deleted one with entries that are still in the log.
    let nobody = shown_of(&store, "nobody", "");
    assert_eq!([&nobody["entries"], &nobody["cursor"]], [&json!([]), &json!(null)]);
    for line in ["SCUR.CREATE gone", "SCUR.STATUS gone closed", "SCUR.DELETE gone FORCE"] {
        let words: Vec<&str> = line.split(' ').collect();
        redis::cmd(words[0]).arg(&words[1..]).exec(&mut client).expect(line);
    }
    assert_eq!(store.get("/v1/accounts/gone").0, 404);
    let gone = shown_of(&store, "gone", "");
    assert_eq!(gone["entries"][0]["event"], "created", "{gone}");
    let end = entries[10]["time_ms"].as_i64().expect("a time") + 1;
    let count = |query: &str| shown(&store, query)["entries"].as_array().map(Vec::len);
    let begin = entries[0]["time_ms"].as_i64().expect("a time");
    assert_eq!(count(&format!("?from_ms={begin}&to_ms={end}")), Some(11));
    assert_eq!(
        [count(&format!("?from_ms={end}")), count(&format!("?to_ms={begin}"))],
        [Some(0); 2]
    );
    assert_eq!(count("?unit=octet"), Some(5));
    for (query, parameter) in [
        ("from_ms=x", "from_ms"),
        ("from_ms=5&to_ms=5", "to_ms"),
        ("unit=", "unit"),
        ("limit=1001", "limit"),
        ("cursor=7", "cursor"),
    ] {
        let (status, body) = store.get(&format!("/v1/accounts/alice/statement?{query}"));
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &body["errors"][0]["parameter"]), (400, &json!(parameter)), "{query}");
    }
    let (status, body) = store.get("/v1/accounts/alice/statement?cursor=9.0:5");
    assert!(status == 400 && body.contains("begin without a cursor"), "{status} {body}");
}

#[test]
fn a_store_without_a_log_says_so() {
    let (_nodes, door) = open();
    let reply = door.ask("GET /v1/accounts/alice/statement", &[], "");
    let told = (reply.status, &reply.body["code"]);
    assert_eq!(told, (501, &json!("NOT_IMPLEMENTED")), "{}", reply.body);
    assert!(reply.body["detail"].as_str().is_some_and(|why| why.contains("--durability")));
}
