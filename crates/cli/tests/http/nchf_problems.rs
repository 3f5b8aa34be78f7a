//! Problems of Nchf: the causes of TS 29.500 clause 5.2.7.2 beside those of TS 32.291 clause 6.1.7.

use crate::charging::open;
use crate::charging_nchf::{RESOURCES, request, subscriber};
use crate::node::keeping;
use crate::store::Store;
use crate::support::{Door, Reply};
use serde_json::{Value, json};

/// Asserts status and cause of a problem. A null cause: there is none.
fn assert_problem(reply: &Reply, status: u16, cause: &Value) {
    assert_eq!((reply.status, &reply.body["cause"]), (status, cause), "{}", reply.body);
    assert_eq!(reply.header("Content-Type"), "application/problem+json");
}

#[test]
fn a_store_that_is_away_or_silent_is_no_fault_of_the_request() {
    let mut nodes = keeping(1);
    let door = Door::charging(&nodes[0].address(), &["--patience-ms", "2000"]);
    subscriber(&door);
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10}}]);
    let create = || door.ask(RESOURCES, &[], &request(0, 0, &usage).to_string());
    nodes[0].pause();
    assert_problem(&create(), 504, &json!("TIMED_OUT_REQUEST"));
    nodes[0].go_on();
    let opened = create();
    assert_eq!(opened.status, 201, "{}", opened.body);
    nodes[0].kill();
    // The first request may find the broken connection.
    let mut reply = create();
    for _ in 0..100 {
        if reply.status == 503 {
            break;
        }
        reply = create();
    }
    assert_problem(&reply, 503, &json!("NF_CONGESTION"));
    assert_eq!(reply.header("Retry-After"), "1");
}

#[test]
fn a_bound_of_an_account_is_told_as_one_to_wait_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let settings = directory.path().join("scurry.toml");
    std::fs::write(&settings, "[limits]\nsessions_max = 4\n").expect("a file");
    let store = Store::start(&["--config", settings.to_str().expect("UTF-8")]);
    let door = Door::charging(&format!("127.0.0.1:{}", store.port), &[]);
    subscriber(&door);
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 1}}]);
    let create = |id: u32| {
        let mut request = request(0, 0, &usage);
        request["chargingId"] = json!(id);
        door.ask(RESOURCES, &[], &request.to_string())
    };
    assert!((0..4).map(create).all(|reply| reply.status == 201));
    let full = create(4);
    assert_problem(&full, 503, &json!("NF_CONGESTION"));
    assert_eq!(full.body["code"], "BUSY");
    let seconds: u64 = full.header("Retry-After").parse().expect("seconds");
    assert!(seconds > 1, "when the first session goes, it said {seconds}");
}

#[test]
fn paths_beside_the_resources_are_told_apart() {
    let (_nodes, door) = open();
    let ask = |request: &str| door.ask(request, &[], "{}");
    for path in [
        "/nchf-convergedcharging/v1/chargingdata",
        "/nchf-convergedcharging/v4/chargingdata",
        "/nchf-offlineonlycharging/v1/offlinechargingdata",
        "/nchf-spendinglimitcontrol/v1/subscriptions",
    ] {
        assert_problem(&ask(&format!("POST {path}")), 400, &json!("INVALID_API"));
    }
    for path in [
        "/nchf-convergedcharging/v3/charging-data",
        "/nchf-convergedcharging/v2/chargingdata/a/b/c",
    ] {
        let cause = json!("RESOURCE_URI_STRUCTURE_NOT_FOUND");
        assert_problem(&ask(&format!("POST {path}")), 404, &cause);
    }
    assert_problem(&ask("DELETE /nchf-convergedcharging/v3/chargingdata"), 405, &Value::Null);
    let unknown = ask("POST /nchf-convergedcharging/v3/chargingdata/unknown/release");
    assert_problem(&unknown, 400, &json!("MANDATORY_IE_MISSING"));
    // A body of another type is no message with a wrong form.
    let text = door.ask(RESOURCES, &[("Content-Type", "text/plain")], "text");
    assert_problem(&text, 415, &Value::Null);
}
