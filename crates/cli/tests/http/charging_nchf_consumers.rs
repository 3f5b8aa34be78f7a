//! What real consumers of Nchf send, and what was once refused or charged wrongly.

use crate::charging::open;
use crate::charging_nchf::{
    RESOURCES, SUPI, bucket, post, request, sessions, subscriber, triggers,
};
use crate::http2::curl;
use crate::support::{Door, Reply};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

fn create(door: &Door, body: &Value) -> Reply {
    let reply = door.ask(RESOURCES, &[], &body.to_string());
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply
}

fn location(reply: &Reply) -> String {
    reply.header("Location").to_owned()
}

fn consumed_and_held(door: &Door) -> (i64, i64) {
    (bucket(door, "data", "consumed"), bucket(door, "data", "held"))
}

/// Returns a request with use of this volume, and a request for as much.
fn used(volume: u64) -> Value {
    json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 1_000},
        "usedUnitContainer": [{"localSequenceNumber": 0, "totalVolume": volume}]}])
}

/// free5GC numbers all its requests 0.
#[test]
fn requests_that_all_have_the_number_0_are_charged_once_each() {
    let (_nodes, door) = open();
    subscriber(&door);
    let first = create(&door, &request(0, 0, &json!([])));
    let update = format!("{}/update", location(&first));
    let mut expected = 0;
    for (second, volume) in (1..).zip([500, 700, 700, 1]) {
        for is_copy in [false, true] {
            let reply = post(&door, &update, &request(0, second, &used(volume)));
            assert_eq!(reply.status, 200, "{}", reply.body);
            let replayed = if is_copy { "true" } else { "" };
            assert_eq!(reply.header("Idempotency-Replayed"), replayed, "{second}");
            let granted = &reply.body["multipleUnitInformation"][0]["grantedUnit"];
            assert_eq!(granted["totalVolume"], 1_000);
        }
        expected += i64::try_from(volume).expect("small");
        assert_eq!(consumed_and_held(&door), (expected, 1_000));
    }
    // A copy that arrives after others is a copy all the same.
    let reply = post(&door, &update, &request(0, 2, &used(700)));
    assert_eq!((reply.status, reply.header("Idempotency-Replayed")), (200, "true"));
    let release = format!("{}/release", location(&first));
    for _ in 0..2 {
        let reply = post(&door, &release, &request(0, 9, &used(40)));
        assert_eq!(reply.status, 204, "{}", reply.body);
    }
    assert_eq!(consumed_and_held(&door), (expected + 40, 0));
}

#[test]
fn requests_of_one_moment_with_one_number_are_several() {
    let (_nodes, door) = open();
    subscriber(&door);
    let update = format!("{}/update", location(&create(&door, &request(0, 0, &json!([])))));
    for volume in [10, 20, 30] {
        for _ in 0..2 {
            assert_eq!(post(&door, &update, &request(0, 1, &used(volume))).status, 200);
        }
    }
    assert_eq!(consumed_and_held(&door), (60, 1_000));
    // Milliseconds are moments of their own.
    for ms in 1..=20 {
        let mut body = request(0, 2, &used(10));
        body["invocationTimeStamp"] = json!(format!("2026-01-01T12:00:02.{ms:03}Z"));
        assert_eq!(post(&door, &update, &body).status, 200);
    }
    assert_eq!(consumed_and_held(&door), (260, 1_000));
}

#[test]
fn a_number_that_was_used_with_another_body_is_one_of_a_consumer_that_does_not_count() {
    let (_nodes, door) = open();
    subscriber(&door);
    let update = format!("{}/update", location(&create(&door, &request(0, 0, &json!([])))));
    // Always 1: the first is counted, the others are numbered by time, also when the first is forgotten.
    for second in 1..=12 {
        for _ in 0..2 {
            let reply = post(&door, &update, &request(1, second, &used(u64::from(second))));
            assert_eq!(reply.status, 200, "{second}: {}", reply.body);
        }
    }
    assert_eq!(consumed_and_held(&door), ((1..=12).sum(), 1_000));
}

#[test]
fn a_consumer_that_has_restarted_opens_new_sessions() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10}}]);
    let first = create(&door, &request(0, 1, &usage));
    // The charging id again, while the session is open.
    let second = create(&door, &request(0, 2, &usage));
    assert_ne!(location(&first), location(&second));
    assert_eq!(second.header("Idempotency-Replayed"), "");
    let release = format!("{}/release", location(&first));
    assert_eq!(post(&door, &release, &request(1, 3, &json!([]))).status, 204);
    let third = create(&door, &request(0, 4, &usage));
    assert_eq!((third.header("Idempotency-Replayed"), sessions(&door)), ("", 2));
    // The same Create again.
    let again = create(&door, &request(0, 4, &usage));
    assert_eq!(
        (again.header("Idempotency-Replayed"), location(&again)),
        ("true", location(&third))
    );
    // Another PDU session of the same charging id.
    let mut other = request(0, 4, &usage);
    other["pDUSessionChargingInformation"]["pduSessionInformation"]["pduSessionID"] = json!(7);
    assert_ne!(location(&create(&door, &other)), location(&third));
    assert_eq!(sessions(&door), 3);
}

#[test]
fn a_consumer_without_charging_ids_is_served() {
    let (_nodes, door) = open();
    let body = r#"{"buckets":[{"bucket":"sms","unit":"unit","amount":10}]}"#;
    assert_eq!(door.ask(&format!("PUT /v1/accounts/{SUPI}"), &[], body).status, 201);
    let sms = |reference: u32| {
        let mut sms = request(
            0,
            1,
            &json!([{"ratingGroup": 1, "requestedUnit": {"serviceSpecificUnits": 1}}]),
        );
        let members = sms.as_object_mut().expect("an object");
        members.remove("chargingId");
        members.remove("pDUSessionChargingInformation");
        members.insert(
            "sMSChargingInformation".to_owned(),
            json!({"messageReference": reference.to_string()}),
        );
        members["nfConsumerIdentification"]["nodeFunctionality"] = json!("SMSF");
        sms
    };
    let first = create(&door, &sms(1));
    assert_eq!(location(&create(&door, &sms(1))), location(&first));
    let mut again = sms(1);
    again["retransmissionIndicator"] = json!(true);
    again["invocationTimeStamp"] = json!("2026-01-01T12:00:05Z");
    assert_eq!(location(&create(&door, &again)), location(&first));
    assert_ne!(location(&create(&door, &sms(2))), location(&first));
    assert_eq!((sessions(&door), bucket(&door, "sms", "held")), (2, 2));
}

#[test]
fn use_that_is_charged_offline_takes_nothing_from_the_balance() {
    let (_nodes, door) = open();
    subscriber(&door);
    let update = format!("{}/update", location(&create(&door, &request(0, 0, &json!([])))));
    let usage = json!([
        {"ratingGroup": 10, "requestedUnit": {}, "usedUnitContainer": [
            {"localSequenceNumber": 0, "quotaManagementIndicator": "OFFLINE_CHARGING", "totalVolume": 777}]},
        {"ratingGroup": 20, "requestedUnit": {"totalVolume": 100}, "usedUnitContainer": [
            {"localSequenceNumber": 0, "quotaManagementIndicator": "QUOTA_MANAGEMENT_SUSPENDED", "totalVolume": 30}]},
        {"ratingGroup": 30, "requestedUnit": {}},
    ]);
    let reply = post(&door, &update, &request(1, 1, &usage));
    let told = &reply.body["multipleUnitInformation"];
    assert_eq!(
        told[0],
        json!({"ratingGroup": 10, "resultCode": "QUOTA_MANAGEMENT_NOT_APPLICABLE"})
    );
    assert_eq!(told[1], json!({"ratingGroup": 20, "resultCode": "SUCCESS"}));
    assert_eq!(told[2]["resultCode"], "SUCCESS");
    // The third asks for what the server gives: all that there is.
    assert_eq!(told[2]["grantedUnit"], json!({"totalVolume": 4_999_970}));
    assert_eq!(bucket(&door, "data", "consumed"), 30);
}

#[test]
fn what_is_wrong_refuses_nothing_else() {
    let (_nodes, door) = open();
    subscriber(&door);
    let update = format!("{}/update", location(&create(&door, &request(0, 0, &json!([])))));
    let usage = json!([
        {"ratingGroup": 10, "requestedUnit": {"totalVolume": 100}, "usedUnitContainer": [
            // 3 GB in 32 bits with a sign, as free5GC writes it.
            {"localSequenceNumber": 0, "totalVolume": -1_294_967_296},
            {"localSequenceNumber": 0, "totalVolume": 5},
            {"localSequenceNumber": 0, "totalVolume": 1.5},
            {"localSequenceNumber": 0, "totalVolume": 18_446_744_073_709_551_615_u64},
            {"localSequenceNumber": 0}]},
        {"ratingGroup": "ten", "requestedUnit": {"totalVolume": 100}},
        {"ratingGroup": 20, "requestedUnit": {"totalVolume": "many"}, "usedUnitContainer": [
            {"localSequenceNumber": 0, "uplinkVolume": 3, "downlinkVolume": 4}]},
        {"ratingGroup": 30, "requestedUnit": {"totalVolume": 9_223_372_036_854_775_808_u64}},
    ]);
    let reply = post(&door, &update, &request(1, 1, &usage));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let told = reply.body["multipleUnitInformation"].as_array().expect("a list");
    let groups: Vec<_> = told.iter().map(|one| (&one["ratingGroup"], &one["resultCode"])).collect();
    let ok = json!("SUCCESS");
    assert_eq!(groups, [(&json!(10), &ok), (&json!(20), &ok), (&json!(30), &ok)]);
    assert_eq!(told[0]["grantedUnit"], json!({"totalVolume": 100}));
    assert_eq!(told[1].get("grantedUnit"), None);
    assert_eq!(told[2]["grantedUnit"], json!({"totalVolume": 4_999_888}));
    let error = &reply.body["invocationResult"]["error"];
    let params = error["invalidParams"].as_array().expect("a list");
    let named: Vec<_> = params.iter().map(|param| param["param"].as_str().expect("text")).collect();
    assert_eq!(
        named,
        [
            "/multipleUnitUsage/0/usedUnitContainer/0/totalVolume",
            "/multipleUnitUsage/0/usedUnitContainer/2/totalVolume",
            "/multipleUnitUsage/0/usedUnitContainer/3/totalVolume",
            "/multipleUnitUsage/1/ratingGroup",
            "/multipleUnitUsage/2/requestedUnit/totalVolume",
        ]
    );
    assert_eq!(bucket(&door, "data", "consumed"), 12);
    let page = String::from_utf8(door.get("/metrics").1).expect("text");
    assert!(page.contains("\nscurry_nchf_left_out_total 5\n"), "{page}");
    assert!(
        page.contains(
            r#"scurry_nchf_requests_total{consumer="SMF 0b3c2d3e-aaaa-bbbb-cccc-000000000001",version="v3",operation="update"} 1"#
        ),
        "{page}"
    );
}

/// More rating groups than a command takes, and than a session holds.
#[test]
fn many_rating_groups_are_settled_all() {
    let (_nodes, door) = open();
    subscriber(&door);
    let all = |count: u32| -> Value {
        let entries = (1..=count).map(|group| {
            json!({"ratingGroup": group, "requestedUnit": {"totalVolume": 10},
                "usedUnitContainer": [{"localSequenceNumber": 0, "totalVolume": 1}]})
        });
        entries.collect()
    };
    let first = create(&door, &request(0, 0, &json!([])));
    let reply = post(&door, &format!("{}/update", location(&first)), &request(1, 1, &all(150)));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let told = reply.body["multipleUnitInformation"].as_array().expect("a list");
    let count = |result: &str| told.iter().filter(|one| one["resultCode"] == result).count();
    assert_eq!((count("SUCCESS"), count("END_USER_SERVICE_REJECTED")), (64, 86));
    assert_eq!(consumed_and_held(&door), (150, 640));
    // A release may have the number of the last update.
    let release = format!("{}/release", location(&first));
    for _ in 0..2 {
        assert_eq!(post(&door, &release, &request(1, 2, &all(151))).status, 204);
    }
    assert_eq!(consumed_and_held(&door), (301, 0));
}

#[test]
fn a_rating_group_that_stands_twice_is_answered_twice() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([
        {"ratingGroup": 10, "requestedUnit": {"totalVolume": 3_000_000}, "uPFID": "0b3c2d3e-0000-0000-0000-000000000001"},
        {"ratingGroup": 10, "requestedUnit": {"totalVolume": 3_000_000}, "uPFID": "0b3c2d3e-0000-0000-0000-000000000002"},
    ]);
    let told = create(&door, &request(0, 0, &usage)).body["multipleUnitInformation"].clone();
    for at in 0..2 {
        assert_eq!(told[at]["uPFID"], usage[at]["uPFID"]);
        assert_eq!(told[at]["ratingGroup"], 10);
    }
    let granted = |at: usize| told[at]["grantedUnit"]["totalVolume"].as_i64().expect("a grant");
    assert_eq!(granted(0) + granted(1), 5_000_000);
    assert_eq!(bucket(&door, "data", "held"), 5_000_000);
}

#[test]
fn use_in_a_create_is_settled() {
    let (_nodes, door) = open();
    subscriber(&door);
    for _ in 0..2 {
        let told = create(&door, &request(0, 0, &used(70))).body["multipleUnitInformation"].clone();
        assert_eq!(told[0]["grantedUnit"], json!({"totalVolume": 1_000}));
    }
    assert_eq!((consumed_and_held(&door), sessions(&door)), ((70, 1_000), 1));
    // Without credit the use is debited, and no session is open.
    let mut second = request(0, 1, &used(9_000_000));
    second["chargingId"] = json!(2);
    let reply = door.ask(RESOURCES, &[], &second.to_string());
    assert_eq!((reply.status, &reply.body["cause"]), (403, &json!("QUOTA_LIMIT_REACHED")));
    assert_eq!(sessions(&door), 1);
}

#[test]
fn events_are_debited_once() {
    let (_nodes, door) = open();
    subscriber(&door);
    let event = |kind: &str, second: u32, usage: &Value| {
        let mut event = request(0, second, usage);
        event["oneTimeEvent"] = json!(true);
        event["oneTimeEventType"] = json!(kind);
        event
    };
    let asks = |volume: u64| json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": volume}}]);
    for replayed in ["", "true"] {
        let reply = create(&door, &event("IEC", 1, &asks(40)));
        let told = json!([{"ratingGroup": 10, "resultCode": "SUCCESS", "grantedUnit": {"totalVolume": 40}}]);
        assert_eq!(reply.body["multipleUnitInformation"], told);
        assert_eq!(reply.header("Idempotency-Replayed"), replayed);
    }
    assert_eq!((consumed_and_held(&door), sessions(&door)), ((40, 0), 0));
    let reply = door.ask(RESOURCES, &[], &event("IEC", 2, &asks(9_000_000)).to_string());
    assert_eq!((reply.status, &reply.body["cause"]), (403, &json!("QUOTA_LIMIT_REACHED")));
    // What has happened is debited also without credit: more than there is, as the account's overrun policy takes it.
    let happened = json!([{"ratingGroup": 10, "usedUnitContainer": [{"localSequenceNumber": 0, "totalVolume": 5_000_000}]}]);
    for replayed in ["", "true"] {
        let reply = create(&door, &event("PEC", 3, &happened));
        assert_eq!(
            reply.body["multipleUnitInformation"],
            json!([{"ratingGroup": 10, "resultCode": "SUCCESS"}])
        );
        assert_eq!(reply.header("Idempotency-Replayed"), replayed);
    }
    assert_eq!((bucket(&door, "data", "consumed"), sessions(&door)), (5_000_040, 0));
    for (wrong, param) in [
        (event("XEC", 4, &asks(1)), "/oneTimeEventType"),
        (event("PEC", 4, &asks(1)), "/multipleUnitUsage/0/usedUnitContainer"),
        (event("IEC", 4, &happened), "/multipleUnitUsage/0/requestedUnit"),
    ] {
        let reply = door.ask(RESOURCES, &[], &wrong.to_string());
        assert_eq!((reply.status, &reply.body["invalidParams"][0]["param"]), (400, &json!(param)));
    }
    // A copy without a charging id says that it is one.
    let top_up = r#"{"bucket":"data","amount":1000}"#;
    assert_eq!(
        door.ask_once(&format!("POST /v1/accounts/{SUPI}/top-ups"), "t1", top_up).status,
        200
    );
    for is_copy in [false, true] {
        let mut sms = event("IEC", 5, &asks(7));
        sms.as_object_mut().expect("an object").remove("chargingId");
        sms["retransmissionIndicator"] = json!(is_copy);
        let replayed = if is_copy { "true" } else { "" };
        assert_eq!(create(&door, &sms).header("Idempotency-Replayed"), replayed);
    }
    assert_eq!(bucket(&door, "data", "consumed"), 5_000_047);
}

#[test]
fn release_15_has_the_consumer_in_its_answers() {
    let (_nodes, door) = open();
    subscriber(&door);
    let resources = "/nchf-convergedcharging/v2/chargingdata";
    let mut body = request(
        0,
        0,
        &json!([{"ratingGroup": 10, "requestedUnit": {"uplinkVolume": 300, "downlinkVolume": 700}}]),
    );
    body["supportedFeatures"] = json!("1F");
    let reply = post(&door, resources, &body);
    assert_eq!(reply.status, 201, "{}", reply.body);
    assert_eq!(reply.body["nfConsumerIdentification"], json!({"nodeFunctionality": "CHF"}));
    assert_eq!(reply.body["sessionFailover"], "FAILOVER_SUPPORTED");
    assert_eq!(reply.body["supportedFeatures"], "0");
    let told = &reply.body["multipleUnitInformation"][0];
    assert_eq!(told["grantedUnit"], json!({"uplinkVolume": 300, "downlinkVolume": 700}));
    assert_eq!(
        told["triggers"],
        triggers(&["QUOTA_EXHAUSTED", "QUOTA_THRESHOLD", "VALIDITY_TIME"])
    );
    let location = location(&reply);
    assert!(location.starts_with(resources), "{location}");
    let reply = post(&door, &format!("{location}/release"), &request(1, 1, &json!([])));
    assert_eq!(reply.status, 204);
}

#[test]
fn a_body_that_cannot_be_read_has_its_cause() {
    let (_nodes, door) = open();
    subscriber(&door);
    let good = request(0, 0, &json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 5}}]))
        .to_string();
    let repeated = good.replacen('{', r#"{"chargingId":1,"#, 1);
    let float =
        good.replace(r#""invocationSequenceNumber":0"#, r#""invocationSequenceNumber":1e3"#);
    for (body, status, cause) in [
        ("{", 400, "INVALID_MSG_FORMAT"),
        ("[]", 400, "INVALID_MSG_FORMAT"),
        (&repeated, 400, "MANDATORY_IE_INCORRECT"),
        (&float, 400, "MANDATORY_IE_INCORRECT"),
    ] {
        let reply = door.ask(RESOURCES, &[], body);
        let shown = &body[..body.len().min(60)];
        assert_eq!(
            (reply.status, &reply.body["cause"]),
            (status, &json!(cause)),
            "{shown}: {}",
            reply.body
        );
    }
    let files = tempfile::tempdir().expect("a directory");
    let file = files.path().join("body");
    let latin: Vec<u8> = good.bytes().map(|byte| if byte == b'F' { 0xe9 } else { byte }).collect();
    std::fs::write(&file, latin).expect("it is written");
    let data = format!("@{}", file.display());
    let url = door.url("/nchf-convergedcharging/v3/chargingdata");
    let more = ["--header", "Content-Type: application/json", "--data-binary", &data];
    let (status, _, body) = curl("--http2-prior-knowledge", &url, &more);
    assert_eq!(status, "http/2 400", "{body}");
    assert!(body.contains("invalid unicode code point"), "{body}");
    // A number with an exponent is no volume: it is left out.
    let volume = good.replace(r#""totalVolume":5"#, r#""totalVolume":1e3"#);
    let reply = door.ask(RESOURCES, &[], &volume);
    assert_eq!(reply.status, 201, "{}", reply.body);
    let param = &reply.body["invocationResult"]["error"]["invalidParams"][0]["param"];
    assert_eq!(param, "/multipleUnitUsage/0/requestedUnit/totalVolume");
    // One byte too many. It is refused by its length: a client that sends the body meanwhile may see a broken pipe.
    let mut stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
    let head = format!(
        "{RESOURCES} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        256 * 1024 + 1
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(
        answer.starts_with("HTTP/1.1 413 ") && answer.contains("CONTENT_TOO_LARGE"),
        "{answer}"
    );
}

#[test]
fn requests_before_the_time_of_their_create_are_charged_once_each() {
    let (_nodes, door) = open();
    subscriber(&door);
    let first = create(&door, &request(0, 59, &json!([])));
    let update = format!("{}/update", location(&first));
    // All report the same: only their times tell them apart.
    for second in 1..=20 {
        for replayed in ["", "true"] {
            let reply = post(&door, &update, &request(0, second, &used(50)));
            assert_eq!((reply.status, reply.header("Idempotency-Replayed")), (200, replayed));
        }
    }
    assert_eq!(consumed_and_held(&door), (1_000, 1_000));
    let mut early = request(0, 1, &used(50));
    early["invocationTimeStamp"] = json!("2025-01-01T12:00:00Z");
    let reply = post(&door, &update, &early);
    assert_eq!((reply.status, &reply.body["code"]), (404, &json!("OUT_OF_WINDOW")));
}

#[test]
fn a_release_ends_a_session_whatever_its_clock_and_number_say() {
    let (_nodes, door) = open();
    subscriber(&door);
    let first = create(&door, &request(0, 0, &json!([])));
    let update = format!("{}/update", location(&first));
    for second in (2..=50).step_by(2) {
        assert_eq!(post(&door, &update, &request(0, second, &used(10))).status, 200);
    }
    // The clock was set back to a time that the window has passed.
    let release = format!("{}/release", location(&first));
    let reply = post(&door, &release, &request(0, 2, &used(7)));
    assert_eq!(reply.status, 204, "{}", reply.body);
    assert_eq!((consumed_and_held(&door), sessions(&door)), ((257, 0), 0));
    // A copy is not charged.
    post(&door, &release, &request(0, 2, &used(7)));
    assert_eq!(consumed_and_held(&door), (257, 0));
    // Nor a number that a consumer has counted wrongly.
    let second = create(&door, &request(0, 55, &json!([])));
    for number in 10..=30 {
        let update = format!("{}/update", location(&second));
        assert_eq!(post(&door, &update, &request(number, 56, &used(1))).status, 200);
    }
    let release = format!("{}/release", location(&second));
    assert_eq!(post(&door, &release, &request(12, 57, &used(2))).status, 204);
    assert_eq!((consumed_and_held(&door), sessions(&door)), ((280, 0), 0));
}

#[test]
fn an_event_of_many_rating_groups_is_debited_whole() {
    let (_nodes, door) = open();
    subscriber(&door);
    let entries = (1..=150).map(|group| {
        json!({"ratingGroup": group, "usedUnitContainer": [{"localSequenceNumber": 0, "totalVolume": 3}]})
    });
    let mut event = request(0, 0, &entries.collect());
    event["oneTimeEvent"] = json!(true);
    event["oneTimeEventType"] = json!("PEC");
    for replayed in ["", "true"] {
        assert_eq!(create(&door, &event).header("Idempotency-Replayed"), replayed);
    }
    assert_eq!(consumed_and_held(&door), (450, 0));
}
