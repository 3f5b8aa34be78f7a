//! Notifications to consumers of Nchf.

use crate::charging_nchf::{RESOURCES, SUPI, post, request};
use crate::node::keeping;
use crate::stand_in::StandIn;
use crate::support::Door;
use serde_json::json;
use std::thread;
use std::time::Duration;

/// Bound and interval of looks.
const LOOKS_MAX: usize = 2_400;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits until this holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if holds() {
            return;
        }
        thread::sleep(LOOK_EVERY); // tidy: allow (the other process has to get there)
    }
    panic!("not in time: {what}");
}

pub(crate) fn logged(door: &Door, words: &str) {
    wait_until(words, || door.whole_log().contains(words));
}

pub(crate) fn metric(door: &Door, outcome: &str) -> u64 {
    let page = String::from_utf8(door.get("/metrics").1).expect("text");
    let name = format!("scurry_nchf_notices_total{{outcome=\"{outcome}\"}} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&name[..]));
    value.expect("it is there").parse().expect("a count")
}

pub(crate) fn settings(allowed: &str) -> (tempfile::TempDir, String) {
    let files = tempfile::tempdir().expect("a directory");
    let config = files.path().join("scurry.toml");
    let text = format!("[nchf.notify]\nallowed = ['{allowed}']\n");
    std::fs::write(&config, text).expect("it is written");
    let config = config.to_str().expect("text").to_owned();
    (files, config)
}

/// Creates a session whose second request is denied, and returns its reference.
pub(crate) fn denied_session(door: &Door, charging_id: u32, uri: &str) -> String {
    let usage = |number: u32| {
        json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 100}, "usedUnitContainer": [
            {"localSequenceNumber": number, "totalVolume": number * 100}]}])
    };
    let mut create = request(0, charging_id, &usage(0));
    create["chargingId"] = json!(charging_id);
    create["notifyUri"] = json!(uri);
    let first = door.ask(RESOURCES, &[], &create.to_string());
    assert_eq!(first.status, 201, "{}", first.body);
    let location = first.header("Location").to_owned();
    let reply = post(door, &format!("{location}/update"), &request(1, 30, &usage(1)));
    let result = &reply.body["multipleUnitInformation"][0]["resultCode"];
    assert_eq!(result, "QUOTA_LIMIT_REACHED", "{}", reply.body);
    location
}

#[test]
fn a_consumer_is_told_of_a_top_up_and_of_a_suspension() {
    let nodes = keeping(1);
    // The first notification fails, and is sent again.
    let consumer = StandIn::start(&[503]);
    let (_files, config) = settings(&format!("127.0.0.1:{}", consumer.port));
    let door = Door::charging(&nodes[0].address(), &["--config", &config]);
    logged(&door, "clients are asked again after a top-up (Nchf notifications)");
    let account = format!("/v1/accounts/{SUPI}");
    let body = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":100}]}"#;
    assert_eq!(door.ask(&format!("PUT {account}"), &[], body).status, 201);
    let uri = |name: &str| format!("http://127.0.0.1:{}/notify/{name}", consumer.port);
    let location = denied_session(&door, 1, &uri("one"));
    let top_up = r#"{"bucket":"data","amount":1000}"#;
    assert_eq!(door.ask_once(&format!("POST {account}/top-ups"), "t1", top_up).status, 200);
    let again = json!({"notificationType": "REAUTHORIZATION", "reauthorizationDetails": [{"ratingGroup": 10}]});
    for _ in 0..2 {
        let received = consumer.next();
        assert_eq!((&received.request[..], &received.body), ("POST /notify/one", &again));
        assert_eq!(received.callback.as_deref(), Some("Nchf_ConvergedCharging_Notify"));
    }
    // It asks again, and is not told of a top-up that it does not need.
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 100}}]);
    let reply = post(&door, &format!("{location}/update"), &request(2, 31, &usage));
    assert_eq!(reply.body["multipleUnitInformation"][0]["resultCode"], "SUCCESS");
    assert_eq!(door.ask_once(&format!("POST {account}/top-ups"), "t2", top_up).status, 200);
    let suspended = r#"{"status":"suspended"}"#;
    assert_eq!(door.ask(&format!("PUT {account}/status"), &[], suspended).status, 200);
    let abort = json!({"notificationType": "ABORT_CHARGING"});
    assert_eq!(consumer.next().body, abort);
    wait_until("two are delivered", || metric(&door, "delivered") == 2);
    assert_eq!((metric(&door, "sent"), metric(&door, "given_up")), (3, 0));
    let page = String::from_utf8(door.get("/metrics").1).expect("text");
    let failed = format!(
        "scurry_nchf_notice_failures_total{{authority=\"127.0.0.1:{}\",why=\"status 503\"}} 1\n",
        consumer.port
    );
    assert!(page.contains(&failed), "{page}");
}

#[test]
fn no_address_is_called_that_the_settings_do_not_allow() {
    let nodes = keeping(1);
    let consumer = StandIn::start(&[]);
    let (_files, config) = settings("10.0.0.0/8");
    let door = Door::charging(&nodes[0].address(), &["--config", &config]);
    logged(&door, "clients are asked again after a top-up (Nchf notifications)");
    let account = format!("/v1/accounts/{SUPI}");
    let body = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":100}]}"#;
    assert_eq!(door.ask(&format!("PUT {account}"), &[], body).status, 201);
    denied_session(&door, 1, &format!("http://127.0.0.1:{}/notify/one", consumer.port));
    let top_up = r#"{"bucket":"data","amount":1000}"#;
    assert_eq!(door.ask_once(&format!("POST {account}/top-ups"), "t1", top_up).status, 200);
    wait_until("one is given up", || metric(&door, "given_up") >= 1);
    assert!(door.log().contains("`allowed` of [nchf.notify]"), "{}", door.log());
    assert!(consumer.received.try_recv().is_err());
}
