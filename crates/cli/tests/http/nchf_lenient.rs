//! Requests that are odd and still charged: clocks that are far back, members that are missing or of another type.

use crate::charging::open;
use crate::charging_nchf::{RESOURCES, bucket, post, request, sessions, subscriber};
use serde_json::{Value, json};

fn opened(door: &crate::support::Door) -> String {
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 1_000}}]);
    let first = door.ask(RESOURCES, &[], &request(0, 0, &usage).to_string());
    assert_eq!(first.status, 201, "{}", first.body);
    first.header("Location").to_owned()
}

fn used(amount: u64) -> Value {
    json!([{"ratingGroup": 10, "usedUnitContainer": [{"localSequenceNumber": 1, "totalVolume": amount}]}])
}

/// A consumer that counts needs no clock, and a Release ends a session whatever its clock says.
#[test]
fn a_clock_that_is_years_back_loses_nothing() {
    for is_counting in [true, false] {
        let (_nodes, door) = open();
        subscriber(&door);
        let location = opened(&door);
        let number = |counted: u32| if is_counting { counted } else { 0 };
        let body = |counted: u32| {
            let mut body = request(number(counted), counted, &used(100));
            body["invocationTimeStamp"] = json!(format!("1999-01-01T00:00:{counted:02}Z"));
            body
        };
        if is_counting {
            for counted in [1, 2, 2] {
                let reply = post(&door, &format!("{location}/update"), &body(counted));
                assert_eq!(reply.status, 200, "{}", reply.body);
            }
        }
        for _ in 0..2 {
            let reply = post(&door, &format!("{location}/release"), &body(3));
            assert_eq!(reply.status, 204, "{}", reply.body);
        }
        let expected = if is_counting { 300 } else { 100 };
        assert_eq!((bucket(&door, "data", "consumed"), sessions(&door)), (expected, 0));
    }
}

/// Weeks after the Create too, equal reports of one second are several.
#[test]
fn reports_of_one_second_are_several_weeks_after_the_create() {
    let (_nodes, door) = open();
    subscriber(&door);
    let location = opened(&door);
    for tenth in 0..10 {
        let mut body = request(0, 0, &used(100));
        body["invocationTimeStamp"] = json!(format!("2026-01-21T12:00:00.{tenth}Z"));
        for _ in 0..2 {
            let reply = post(&door, &format!("{location}/update"), &body);
            assert_eq!(reply.status, 200, "{}", reply.body);
        }
    }
    assert_eq!(bucket(&door, "data", "consumed"), 1_000);
}

#[test]
fn units_of_none_are_no_request() {
    let (_nodes, door) = open();
    subscriber(&door);
    for units in [json!({"totalVolume": 0}), json!({"uplinkVolume": 0, "downlinkVolume": 0})] {
        let usage = json!([{"ratingGroup": 10, "requestedUnit": units}]);
        let mut event = request(0, 0, &usage);
        (event["oneTimeEvent"], event["oneTimeEventType"]) = (json!(true), json!("IEC"));
        let reply = door.ask(RESOURCES, &[], &event.to_string());
        assert_eq!(reply.status, 201, "{}", reply.body);
    }
    assert_eq!((bucket(&door, "data", "consumed"), bucket(&door, "data", "held")), (0, 0));
}

#[test]
fn what_is_missing_in_one_group_refuses_no_other() {
    let (_nodes, door) = open();
    subscriber(&door);
    let location = opened(&door);
    let usage = json!([
        {"usedUnitContainer": [{"localSequenceNumber": 1, "totalVolume": 7}]},
        {"ratingGroup": 10, "usedUnitContainer": [
            {"quotaManagementIndicator": 5, "localSequenceNumber": 1, "totalVolume": 100}]},
        {"ratingGroup": 20, "usedUnitContainer": [
            {"localSequenceNumber": 1, "uplinkVolume": 5, "downlinkVolume": -1}]},
    ]);
    let reply = post(&door, &format!("{location}/update"), &request(1, 1, &usage));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let params = &reply.body["invocationResult"]["error"]["invalidParams"];
    let named: Vec<_> = (0..2).map(|at| params[at]["param"].as_str().unwrap_or_default()).collect();
    let container = "/multipleUnitUsage/2/usedUnitContainer/0/downlinkVolume";
    assert_eq!(named, ["/multipleUnitUsage/0/ratingGroup", container]);
    assert_eq!(bucket(&door, "data", "consumed"), 100);
}
