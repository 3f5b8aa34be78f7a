//! Magma's session proxy, feg/gateway/services/session_proxy/credit_control/gy: input, output and total together in what it
//! requests and has used, or an empty Requested-Service-Unit; Service-Identifier beside Rating-Group; E164 before IMSI.
//! Session-Id is first, then Multiple-Services-Credit-Control, and the origin is last.

use super::{
    E164, IMSI, INITIAL, TERMINATION, UPDATE, answer, check_audit, check_settled, connect,
    receive_reauth, store_with_events,
};
use crate::bytes::{group, long, number, subscriber, text, tgpp, tgpp_optional};
use crate::store::Process;

const SESSION: &str = "feg.example;1754600000;IMSI001010000000001-123456";
const ACCOUNT: &str = "imsi-001010000000001";

/// Returns input, output and total octets.
fn octets(input: u64, output: u64) -> Vec<Vec<u8>> {
    vec![long(412, input), long(414, output), long(421, input + output)]
}

/// Returns a service: Rating-Group, what is requested (of the last request nothing), Service-Identifier, and use.
fn service(
    rating_group: u32,
    requested: Option<&[Vec<u8>]>,
    used: Option<(u64, u64, u32)>,
) -> Vec<u8> {
    let mut members = vec![number(432, rating_group)];
    members.extend(requested.map(|units| group(437, units)));
    members.push(number(439, 7));
    if let Some((input, output, reason)) = used {
        let mut units = octets(input, output);
        let reason_of = tgpp(872, &reason.to_be_bytes());
        // Threshold and exhausted quota are reasons of the units; the others stand beside them.
        if matches!(reason, 0 | 3) {
            units.push(reason_of)
        } else {
            members.push(reason_of)
        }
        members.push(group(446, &units));
    }
    group(456, &members)
}

fn request(kind: u32, request: u32, services: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let ps = [
        tgpp_optional(3, &0_u32.to_be_bytes()),
        tgpp_optional(21, &[6]),
        tgpp_optional(12, b"0"),
        tgpp_optional(10, b"5"),
        tgpp(846, &[0, 1, 127, 0, 0, 1]),
        tgpp(1227, &[0, 1, 10, 45, 0, 2]),
        tgpp_optional(18, b"00101"),
        tgpp_optional(9, b"00101"),
        text(30, "internet"),
    ];
    let mut out = vec![text(263, SESSION)];
    out.extend(services.iter().cloned());
    out.extend([
        tgpp(873, &tgpp(874, &ps.concat())),
        number(55, 0xec00_0000),
        number(258, 4),
        number(416, kind),
        text(461, "32251@3gpp.org"),
        number(415, request),
        subscriber(E164, "491700000001"),
        subscriber(IMSI, "001010000000001"),
        number(455, 1),
        text(264, "feg.example"),
        text(296, "example"),
        text(283, "localdomain"),
    ]);
    out
}

/// Returns the answer for one service, whose threshold is a fifth of the grant.
fn granted(rating_group: u32, octets: u64) -> String {
    format!(
        "MSCC={{ GSU={{ CC-Total-Octets={octets} }} SI=7 RG={rating_group} Validity-Time=600 \
         Result-Code=2001 Volume-Quota-Threshold={} }}",
        octets / 5
    )
}

#[test]
fn a_session_of_magma_is_charged_and_its_groups_are_updated_in_parallel() {
    let store = Process::with_settings("");
    // The number has an account too: the rule for IMSI is before that for E164, whatever the order in the request.
    store.ask("SCUR.CREATE msisdn-491700000001 BUCKET main octet 1");
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 100000000"));
    let mut client = connect(&store, "feg.example", "example");
    let first = [service(1, Some(&[]), None), service(2, Some(&octets(200_000, 800_000)), None)];
    let first = client.ask(&request(INITIAL, 0, &first));
    let both = format!("{} {}", granted(1, 10_485_760), granted(2, 1_000_000));
    assert_eq!(first, answer(SESSION, INITIAL, 0, &both));
    assert_eq!(store.balance(ACCOUNT), (88_514_240, 11_485_760));
    // One request for each service, as after a Re-Auth-Request: all are sent before an answer comes.
    let updates = [
        request(UPDATE, 1, &[service(1, Some(&[]), Some((1_000, 9_000, 4)))]),
        request(UPDATE, 2, &[service(2, Some(&octets(0, 500_000)), Some((100_000, 900_000, 3)))]),
        request(UPDATE, 3, &[service(3, Some(&octets(1, 9)), None)]),
    ];
    let answers = client.ask_all(&updates);
    let expected = [
        answer(SESSION, UPDATE, 1, &granted(1, 10_485_760)),
        answer(SESSION, UPDATE, 2, &granted(2, 500_000)),
        answer(SESSION, UPDATE, 3, &granted(3, 10)),
    ];
    assert_eq!(answers, expected);
    let held = 10_485_760 + 500_000 + 10;
    assert_eq!(store.balance(ACCOUNT), (100_000_000 - 1_010_000 - held, held));
    // The copies of all three, in another order, are answered the same and charge nothing.
    let copies = [updates[2].clone(), updates[0].clone(), updates[1].clone()];
    let again = client.ask_all(&copies);
    assert_eq!(again, [2, 0, 1].map(|at: usize| expected[at].clone()));
    check_audit(&store, ACCOUNT);
    let last = [
        service(1, None, Some((5, 5, 2))),
        service(2, None, Some((0, 0, 2))),
        service(3, None, Some((0, 7, 2))),
    ];
    let last = client.ask(&request(TERMINATION, 4, &last));
    let results = [1, 2, 3].map(|group| format!("MSCC={{ SI=7 RG={group} Result-Code=2001 }}"));
    assert_eq!(last, answer(SESSION, TERMINATION, 4, &results.join(" ")));
    check_settled(&store, ACCOUNT, 100_000_000 - 1_010_017);
    check_settled(&store, "msisdn-491700000001", 1);
}

#[test]
fn groups_of_magma_are_updated_in_parallel_after_a_request_of_the_server() {
    let store = store_with_events();
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 1000000"));
    let mut client = connect(&store, "feg.example", "example");
    let first = [service(1, Some(&octets(0, 900_000)), None), service(2, Some(&[]), None)];
    let first = client.ask(&request(INITIAL, 0, &first));
    // Less than requested, but not the last units: those of the first group may come back.
    let both = format!("{} {}", granted(1, 900_000), granted(2, 100_000));
    assert_eq!(first, answer(SESSION, INITIAL, 0, &both));
    let denied = client.ask(&request(UPDATE, 1, &[service(3, Some(&[]), None)]));
    let result = "MSCC={ SI=7 RG=3 Result-Code=4012 }";
    assert_eq!(denied, answer(SESSION, UPDATE, 1, result));
    store.ask(&format!("SCUR.TOPUP {ACCOUNT} topup-1 main 9000000"));
    // Two groups lack credit, so the request is for the session, and Magma updates each group by a request of its own.
    receive_reauth(&mut client, SESSION, "feg.example", "example", "");
    let updates = [
        request(UPDATE, 2, &[service(1, Some(&octets(0, 900_000)), Some((0, 1_000, 4)))]),
        request(UPDATE, 3, &[service(2, Some(&octets(0, 500_000)), Some((0, 100_000, 4)))]),
        request(UPDATE, 4, &[service(3, Some(&octets(0, 500_000)), None)]),
    ];
    let answers = client.ask_all(&updates);
    let expected = [
        answer(SESSION, UPDATE, 2, &granted(1, 900_000)),
        answer(SESSION, UPDATE, 3, &granted(2, 500_000)),
        answer(SESSION, UPDATE, 4, &granted(3, 500_000)),
    ];
    assert_eq!(answers, expected);
    assert_eq!(store.balance(ACCOUNT), (10_000_000 - 101_000 - 1_900_000, 1_900_000));
    check_audit(&store, ACCOUNT);
}
