//! Nchf_ConvergedCharging (TS 32.291): a session as an SMF runs it, with every request sent twice.

use crate::charging::open;
use crate::support::{Door, Reply};
use serde_json::{Value, json};

pub(crate) const RESOURCES: &str = "POST /nchf-convergedcharging/v3/chargingdata";
pub(crate) const SUPI: &str = "imsi-001010000000001";

pub(crate) fn triggers(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| json!({"triggerType": name, "triggerCategory": "IMMEDIATE_REPORT"}))
        .collect()
}

pub(crate) fn subscriber(door: &Door) {
    let body = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":5000000},
        {"bucket":"talk","unit":"second","amount":900}]}"#;
    assert_eq!(door.ask(&format!("PUT /v1/accounts/{SUPI}"), &[], body).status, 201);
}

/// Returns a ChargingDataRequest. Each invocation has its own time.
pub(crate) fn request(sequence: u32, second: u32, usage: &Value) -> Value {
    json!({
        "subscriberIdentifier": SUPI,
        "nfConsumerIdentification": {"nodeFunctionality": "SMF", "nFName": "0b3c2d3e-aaaa-bbbb-cccc-000000000001"},
        "invocationTimeStamp": format!("2026-01-01T12:00:{second:02}Z"),
        "invocationSequenceNumber": sequence,
        "chargingId": 4711,
        "multipleUnitUsage": usage,
        "pDUSessionChargingInformation": {"pduSessionInformation": {"pduSessionID": 1, "dnnId": "internet"}},
    })
}

pub(crate) fn post(door: &Door, path: &str, body: &Value) -> Reply {
    door.ask(&format!("POST {path}"), &[], &body.to_string())
}

pub(crate) fn bucket(door: &Door, name: &str, member: &str) -> i64 {
    let audit = door.ask(&format!("GET /v1/accounts/{SUPI}/audit"), &[], "").body;
    assert_eq!(audit["ok"], true);
    let buckets = audit["buckets"].as_array().expect("a list");
    let bucket = buckets.iter().find(|bucket| bucket["bucket"] == name).expect("it is there");
    bucket[member].as_i64().expect("an amount")
}

pub(crate) fn sessions(door: &Door) -> usize {
    let list = door.ask(&format!("GET /v1/accounts/{SUPI}/sessions"), &[], "").body;
    list["sessions"].as_array().expect("a list").len()
}

#[test]
fn a_session_whose_requests_all_come_twice_is_charged_once() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([
        {"ratingGroup": 10, "requestedUnit": {"totalVolume": 1_000_000}},
        {"ratingGroup": 20, "requestedUnit": {"time": 1_000}},
        {"ratingGroup": 30, "requestedUnit": {"serviceSpecificUnits": 1}},
    ]);
    let first = door.ask(RESOURCES, &[], &request(0, 1, &usage).to_string());
    assert_eq!(first.status, 201, "{}", first.body);
    let location = first.header("Location").to_owned();
    assert!(location.starts_with("/nchf-convergedcharging/v3/chargingdata/imsi-"), "{location}");
    assert_eq!(first.body["invocationSequenceNumber"], 0);
    assert!(first.body["invocationTimeStamp"].as_str().is_some_and(|at| at.ends_with('Z')));
    assert_eq!(
        first.body["multipleUnitInformation"],
        json!([
            {"resultCode": "SUCCESS", "ratingGroup": 10, "grantedUnit": {"totalVolume": 1_000_000}, "validityTime": 600,
             "volumeQuotaThreshold": 200_000, "triggers": triggers(&["QUOTA_EXHAUSTED", "QUOTA_THRESHOLD", "VALIDITY_TIME"])},
            {"resultCode": "SUCCESS", "ratingGroup": 20, "grantedUnit": {"time": 900}, "validityTime": 600,
             "triggers": triggers(&["QUOTA_EXHAUSTED", "VALIDITY_TIME", "FINAL"]),
             "finalUnitIndication": {"finalUnitAction": "TERMINATE"}},
            {"resultCode": "QUOTA_LIMIT_REACHED", "ratingGroup": 30},
        ])
    );
    // The retry has a later time stamp; the session is the same.
    let mut retried = request(0, 9, &usage);
    retried["retransmissionIndicator"] = json!(true);
    let again = door.ask(RESOURCES, &[], &retried.to_string());
    assert_eq!((again.status, again.header("Location")), (201, location.as_str()));
    assert_eq!(again.header("Idempotency-Replayed"), "true");
    assert_eq!(again.body["multipleUnitInformation"], first.body["multipleUnitInformation"]);
    assert_eq!(sessions(&door), 1);
    assert_eq!((bucket(&door, "data", "held"), bucket(&door, "talk", "held")), (1_000_000, 900));

    let used = json!([
        {"ratingGroup": 10, "requestedUnit": {"totalVolume": 2_000_000}, "usedUnitContainer": [
            {"localSequenceNumber": 1, "time": 77, "totalVolume": 600_000, "uplinkVolume": 1, "downlinkVolume": 2},
            {"localSequenceNumber": 2, "time": 78, "uplinkVolume": 100_000, "downlinkVolume": 200_000},
            {"localSequenceNumber": 3, "quotaManagementIndicator": "OFFLINE_CHARGING", "totalVolume": 5}]},
    ]);
    for (second, replayed) in [(10, ""), (20, "true")] {
        let reply = post(&door, &format!("{location}/update"), &request(1, second, &used));
        assert_eq!((reply.status, reply.header("Idempotency-Replayed")), (200, replayed));
        let unit = &reply.body["multipleUnitInformation"][0]["grantedUnit"];
        assert_eq!(*unit, json!({"totalVolume": 2_000_000}));
    }
    assert_eq!(
        (bucket(&door, "data", "consumed"), bucket(&door, "data", "held")),
        (900_000, 2_000_000)
    );

    // Without a requestedUnit, a report with several kinds of use has the kind that the Create asked for first.
    let last = json!([
        {"ratingGroup": 10, "usedUnitContainer": [
            {"localSequenceNumber": 4, "time": 5, "totalVolume": 50_000}]},
        {"ratingGroup": 20, "usedUnitContainer": [{"localSequenceNumber": 5, "time": 30}]},
    ]);
    for (second, replayed) in [(30, ""), (40, "true")] {
        let reply = post(&door, &format!("{location}/release"), &request(2, second, &last));
        assert_eq!((reply.status, reply.header("Idempotency-Replayed")), (204, replayed));
    }
    assert_eq!(
        (bucket(&door, "data", "consumed"), bucket(&door, "talk", "consumed")),
        (950_000, 30)
    );
    assert_eq!((bucket(&door, "data", "held"), bucket(&door, "talk", "held")), (0, 0));
    assert_eq!(sessions(&door), 0);
    // A Create that arrives after the session has ended opens no session.
    let late = door.ask(RESOURCES, &[], &request(0, 1, &usage).to_string());
    assert_eq!((late.status, &late.body["cause"]), (400, &json!("CHARGING_FAILED")));
    assert_eq!((&late.body["code"], sessions(&door)), (&json!("SESSION_EXISTS"), 0));
}

#[test]
fn other_consumers_and_charging_ids_are_other_sessions() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10}}]);
    let first = request(0, 0, &usage);
    let mut other_id = first.clone();
    other_id["chargingId"] = json!(4712);
    let mut other_consumer = first.clone();
    other_consumer["nfConsumerIdentification"]["nFName"] = json!("another");
    let mut older = first.clone();
    older.as_object_mut().expect("an object").remove("chargingId");
    older["pDUSessionChargingInformation"]["chargingId"] = json!(4713);
    let mut locations = std::collections::BTreeSet::new();
    for body in [&first, &other_id, &other_consumer, &older] {
        let reply = door.ask(RESOURCES, &[], &body.to_string());
        assert_eq!(reply.status, 201, "{}", reply.body);
        locations.insert(reply.header("Location").to_owned());
    }
    assert_eq!((locations.len(), sessions(&door)), (4, 4));
}

#[test]
fn an_empty_requested_unit_leaves_the_amount_to_the_charging_function() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {}}]);
    let reply = door.ask(RESOURCES, &[], &request(0, 0, &usage).to_string());
    let granted = &reply.body["multipleUnitInformation"][0];
    // Less than the default of 10 MiB: all that is available.
    assert_eq!(granted["grantedUnit"], json!({"totalVolume": 5_000_000}));
    assert_eq!(granted["finalUnitIndication"]["finalUnitAction"], "TERMINATE");
}

#[test]
fn use_of_another_kind_than_the_next_one_is_debited() {
    let (_nodes, door) = open();
    subscriber(&door);
    let volume = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 100}}]);
    let first = door.ask(RESOURCES, &[], &request(0, 0, &volume).to_string());
    let location = first.header("Location").to_owned();
    // Each step: requested units, reported use, then consumed and held units of both buckets.
    let steps = [
        (Some(json!({"time": 50})), json!([{"totalVolume": 80}]), [80, 0, 0, 50]),
        (Some(json!({"totalVolume": 10})), json!([{"time": 40}]), [80, 10, 40, 0]),
        // Each container has one kind of use: that of the session if no units are requested.
        (None, json!([{"time": 30, "totalVolume": 7}]), [87, 0, 40, 0]),
        (Some(json!({"time": 9})), json!([{"time": 2}, {"totalVolume": 3}]), [90, 0, 42, 9]),
    ];
    for (number, (asked, used, expected)) in (1..).zip(steps) {
        let mut usage = json!([{"ratingGroup": 10, "usedUnitContainer": used}]);
        for container in usage[0]["usedUnitContainer"].as_array_mut().expect("a list") {
            container["localSequenceNumber"] = json!(number);
        }
        let kind = asked.clone();
        if let Some(asked) = asked {
            usage[0]["requestedUnit"] = asked;
        }
        // Sent twice, it is executed once.
        for second in [number, number + 10] {
            let reply =
                post(&door, &format!("{location}/update"), &request(number, second, &usage));
            assert_eq!(reply.status, 200, "{}", reply.body);
            let told = reply.body["multipleUnitInformation"].as_array().expect("a list");
            assert_eq!((told.len(), &told[0]["ratingGroup"]), (1, &json!(10)), "{told:?}");
            assert_eq!(told[0]["resultCode"], "SUCCESS");
            assert_eq!(told[0].get("grantedUnit"), kind.as_ref(), "{number}");
        }
        let of = |name| [bucket(&door, name, "consumed"), bucket(&door, name, "held")];
        assert_eq!([of("data"), of("talk")].concat(), expected, "{number}");
    }
    let last = json!([{"ratingGroup": 10, "usedUnitContainer": [
        {"localSequenceNumber": 5, "time": 5}, {"localSequenceNumber": 6, "totalVolume": 7}]}]);
    let reply = post(&door, &format!("{location}/release"), &request(5, 30, &last));
    assert_eq!(reply.status, 204, "{}", reply.body);
    assert_eq!((bucket(&door, "data", "consumed"), bucket(&door, "talk", "consumed")), (97, 47));
    assert_eq!((bucket(&door, "data", "held"), bucket(&door, "talk", "held")), (0, 0));
}

#[test]
fn denials_have_their_causes() {
    let (_nodes, door) = open();
    subscriber(&door);
    let asks =
        |unit: &str, amount: u32| json!([{"ratingGroup": 1, "requestedUnit": {unit: amount}}]);
    let denied =
        door.ask(RESOURCES, &[], &request(0, 0, &asks("serviceSpecificUnits", 1)).to_string());
    assert_eq!((denied.status, &denied.body["cause"]), (403, &json!("QUOTA_LIMIT_REACHED")));
    assert_eq!(denied.header("Content-Type"), "application/problem+json");
    let mut nobody = request(0, 0, &asks("time", 1));
    nobody["subscriberIdentifier"] = json!("imsi-999");
    let unknown = door.ask(RESOURCES, &[], &nobody.to_string());
    assert_eq!((unknown.status, &unknown.body["cause"]), (404, &json!("USER_UNKNOWN")));

    let mut second = request(0, 0, &asks("time", 900));
    second["chargingId"] = json!(1);
    let location = door.ask(RESOURCES, &[], &second.to_string()).header("Location").to_owned();
    // No quota for the next period: the session continues, and the use is charged.
    let usage = json!([{"ratingGroup": 1, "requestedUnit": {"time": 900},
        "usedUnitContainer": [{"localSequenceNumber": 1, "time": 900}]}]);
    let reply = post(&door, &format!("{location}/update"), &request(1, 0, &usage));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body["multipleUnitInformation"][0]["resultCode"], "QUOTA_LIMIT_REACHED");
    assert_eq!((bucket(&door, "talk", "consumed"), sessions(&door)), (900, 1));
    let suspend = r#"{"status":"suspended"}"#;
    assert_eq!(door.ask(&format!("PUT /v1/accounts/{SUPI}/status"), &[], suspend).status, 200);
    let reply = post(&door, &format!("{location}/update"), &request(2, 0, &json!([])));
    assert_eq!((reply.status, &reply.body["cause"]), (403, &json!("END_USER_REQUEST_DENIED")));
    let reply = post(&door, &format!("{location}/release"), &request(3, 0, &json!([])));
    assert_eq!((reply.status, &reply.body["cause"]), (404, &json!("CONTEXT_NOT_FOUND")));
}

#[test]
fn a_session_that_asks_for_nothing_at_first_is_charged_by_its_updates() {
    let (_nodes, door) = open();
    subscriber(&door);
    let first = door.ask(RESOURCES, &[], &request(0, 1, &json!([])).to_string());
    assert_eq!(first.status, 201, "{}", first.body);
    assert_eq!(first.body["multipleUnitInformation"], Value::Null);
    let location = first.header("Location").to_owned();
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10}}]);
    let reply = post(&door, &format!("{location}/update"), &request(1, 2, &usage));
    assert_eq!(reply.body["multipleUnitInformation"][0]["grantedUnit"], json!({"totalVolume": 10}));
    assert_eq!(post(&door, &format!("{location}/release"), &request(2, 3, &json!([]))).status, 204);
    assert_eq!(sessions(&door), 0);
}

#[test]
fn use_of_a_session_that_is_gone_is_debited_once() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10}}]);
    let first = door.ask(RESOURCES, &[], &request(0, 1, &usage).to_string());
    let location = first.header("Location").to_owned();
    let list = door.ask(&format!("GET /v1/accounts/{SUPI}/sessions"), &[], "").body;
    let session = list["sessions"][0]["session"].as_str().expect("an id").to_owned();
    let aborted = door.ask(&format!("DELETE /v1/accounts/{SUPI}/sessions/{session}"), &[], "");
    assert_eq!(aborted.status, 200, "{}", aborted.body);
    let used = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10},
        "usedUnitContainer": [{"localSequenceNumber": 1, "totalVolume": 7}]}]);
    for (second, replayed) in [(2, ""), (3, "true")] {
        let reply = post(&door, &format!("{location}/update"), &request(1, second, &used));
        assert_eq!((reply.status, reply.header("Idempotency-Replayed")), (404, replayed));
        assert_eq!(reply.body["cause"], "CONTEXT_NOT_FOUND");
        assert!(reply.body["detail"].as_str().is_some_and(|why| why.contains("is debited")));
    }
    let nothing = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10}}]);
    let reply = post(&door, &format!("{location}/update"), &request(2, 4, &nothing));
    assert_eq!((reply.status, &reply.body["cause"]), (404, &json!("CONTEXT_NOT_FOUND")));
    for second in [5, 6] {
        let reply = post(&door, &format!("{location}/release"), &request(3, second, &used));
        assert_eq!(reply.status, 204, "{}", reply.body);
    }
    assert_eq!((bucket(&door, "data", "consumed"), bucket(&door, "data", "held")), (14, 0));
}

#[test]
fn a_wrong_body_names_the_member() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10}}]);
    let good = request(0, 0, &usage);
    let cases = [
        (
            "/invocationSequenceNumber",
            json!(-1),
            "/invocationSequenceNumber",
            "MANDATORY_IE_INCORRECT",
        ),
        (
            "/invocationSequenceNumber",
            Value::Null,
            "/invocationSequenceNumber",
            "MANDATORY_IE_MISSING",
        ),
        (
            "/invocationTimeStamp",
            json!("yesterday"),
            "/invocationTimeStamp",
            "MANDATORY_IE_INCORRECT",
        ),
        (
            "/nfConsumerIdentification",
            Value::Null,
            "/nfConsumerIdentification",
            "MANDATORY_IE_MISSING",
        ),
        (
            "/nfConsumerIdentification/nodeFunctionality",
            Value::Null,
            "/nfConsumerIdentification/nodeFunctionality",
            "MANDATORY_IE_MISSING",
        ),
        ("/subscriberIdentifier", Value::Null, "/subscriberIdentifier", "MANDATORY_IE_MISSING"),
        ("/subscriberIdentifier", json!("a b"), "/subscriberIdentifier", "MANDATORY_IE_INCORRECT"),
        ("/multipleUnitUsage", json!({}), "/multipleUnitUsage", "MANDATORY_IE_INCORRECT"),
        ("/oneTimeEvent", json!(true), "/oneTimeEventType", "MANDATORY_IE_MISSING"),
    ];
    for (at, value, pointer, cause) in cases {
        let mut body = good.clone();
        let (parent, member) = at.rsplit_once('/').expect("a pointer");
        let parent = body.pointer_mut(parent).expect(at).as_object_mut().expect(at);
        match value {
            Value::Null => parent.remove(member),
            value => parent.insert(member.to_owned(), value),
        };
        let reply = door.ask(RESOURCES, &[], &body.to_string());
        assert_eq!(reply.status, 400, "{at}: {}", reply.body);
        assert_eq!(reply.body["invalidParams"][0]["param"], pointer, "{at}: {}", reply.body);
        assert_eq!(reply.body["cause"], cause, "{at}: {}", reply.body);
    }
    let reply = door.ask(RESOURCES, &[], "{");
    assert_eq!((reply.status, &reply.body["cause"]), (400, &json!("INVALID_MSG_FORMAT")));
    for path in ["x/update", "imsi-1.nchf-7.v/release"] {
        let path = format!("/nchf-convergedcharging/v3/chargingdata/{path}");
        let reply = post(&door, &path, &good);
        assert_eq!((reply.status, &reply.body["cause"]), (404, &json!("CONTEXT_NOT_FOUND")));
    }
    assert_eq!(sessions(&door), 0);
}

#[test]
fn a_create_with_use_that_was_denied_is_denied_when_it_comes_again() {
    let (_nodes, door) = open();
    subscriber(&door);
    let usage = json!([{"ratingGroup": 30, "requestedUnit": {"serviceSpecificUnits": 1},
        "usedUnitContainer": [{"localSequenceNumber": 1, "serviceSpecificUnits": 2}]}]);
    let mut create = request(0, 0, &usage);
    for _ in 0..2 {
        let reply = door.ask(RESOURCES, &[], &create.to_string());
        assert_eq!((reply.status, &reply.body["cause"]), (403, &json!("QUOTA_LIMIT_REACHED")));
        create["retransmissionIndicator"] = json!(true);
    }
    // A session that is open is not ended by a Create with its name and another number.
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 100},
        "usedUnitContainer": [{"localSequenceNumber": 1, "totalVolume": 2}]}]);
    assert_eq!(door.ask(RESOURCES, &[], &request(0, 1, &usage).to_string()).status, 201);
    let other = door.ask(RESOURCES, &[], &request(7, 1, &usage).to_string());
    assert_eq!((other.status, &other.body["code"]), (400, &json!("SESSION_EXISTS")));
    assert_eq!((sessions(&door), bucket(&door, "data", "consumed")), (1, 2));
}
