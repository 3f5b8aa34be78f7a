//! Kamailio's ims_charging: its Diameter stack writes Origin-Host and Origin-Realm, and the module writes them again;
//! Auth-Application-Id stands in Vendor-Specific-Application-Id alone, also in its capabilities; Accounting-Record-Type and
//! -Number are in each request; a SIP URI is the only Subscription-Id. Of an answer it reads Result-Code as a whole,
//! CC-Time, Validity-Time and Final-Unit-Action.

use super::{INITIAL, SIP_URI, TERMINATION, UPDATE, answer, check_audit, check_settled};
use crate::bytes::{RawClient, bytes, group, number, optional, subscriber, text, tgpp};
use crate::doors::example;
use crate::store::Process;

const HOST: &str = "scscf.ims.example";
const REALM: &str = "ims.example";
const URI: &str = "sip:alice@ims.example";

fn application() -> Vec<u8> {
    group(260, &[number(266, 10_415), number(258, 4)])
}

fn connect(store: &Process) -> RawClient {
    let capabilities = [
        text(264, HOST),
        text(296, REALM),
        bytes(257, &[0, 1, 127, 0, 0, 1]),
        number(266, 10_415),
        optional(269, b"CDiameterPeer"),
        number(265, 10_415),
        application(),
    ];
    let (client, answer) = RawClient::connect(store.diameter, &capabilities);
    assert!(answer.starts_with("Result-Code=2001 "), "{answer}");
    client
}

/// Returns a request of a call: seconds that it requests, and that were used.
fn request(
    session: &str,
    kind: u32,
    request: u32,
    requested: Option<u32>,
    used: Option<u32>,
) -> Vec<Vec<u8>> {
    let origin = [text(264, HOST), text(296, REALM)];
    let ims = [
        tgpp(862, &0_u32.to_be_bytes()),
        tgpp(829, &0_u32.to_be_bytes()),
        tgpp(831, URI.as_bytes()),
    ];
    let mut service = Vec::new();
    service.extend(requested.map(|seconds| group(437, &[number(420, seconds)])));
    let used = used.map(|seconds| group(446, &[number(420, seconds)]));
    if kind == TERMINATION {
        service.extend(used.clone());
    }
    service.extend([number(439, 1000), number(432, 100)]);
    if kind != TERMINATION {
        service.extend(used);
    }
    let mut out = vec![text(263, session)];
    out.extend(origin.iter().cloned());
    out.extend(origin);
    out.extend([
        text(283, "localdomain"),
        // Start, interim, stop: one more than CC-Request-Type.
        number(480, kind + 1),
        number(485, request),
        text(1, URI),
        text(461, "ext.01.001.8.32260@3gpp.org"),
        tgpp(873, &[subscriber(SIP_URI, URI), tgpp(876, &ims.concat())].concat()),
        application(),
        number(416, kind),
        number(415, request),
        optional(55, &0xec00_0000_u32.to_be_bytes()),
        group(458, &[number(459, 1), text(460, "00:00:00:00:00:00")]),
        subscriber(SIP_URI, URI),
        number(455, 1),
        group(456, &service),
    ]);
    if kind == TERMINATION {
        out.push(number(295, 1));
    }
    out
}

/// Returns the answer for the call with this grant, and what follows the result.
fn granted(seconds: u32, end: &str) -> String {
    format!(
        "MSCC={{ GSU={{ CC-Time={seconds} }} SI=1000 RG=100 Validity-Time=1860 Result-Code=2001{end} }}"
    )
}

const THRESHOLD: &str = " Time-Quota-Threshold=15";
const FINAL: &str = " FUI={ Final-Unit-Action=0 }";
/// Quota-Consumption-Time is not among what it reads, but stands in the answer.
const QUOTA: &str = " Quota-Consumption-Time=10";

#[test]
fn calls_of_kamailio_are_charged_until_the_credit_ends() {
    let store = Process::with_settings(&example("services-voice.toml"));
    store.ask(&format!("SCUR.CREATE alice IDENTITY sip {URI} BUCKET main second 100"));
    let mut client = connect(&store);
    let call = "scscf.ims.example;1;1";
    let more = granted(30, &format!("{THRESHOLD}{QUOTA}"));
    let first = client.ask(&request(call, INITIAL, 0, Some(30), None));
    assert_eq!(first, answer(call, INITIAL, 0, &more));
    // When the call is answered, none has been used.
    let second = client.ask(&request(call, UPDATE, 1, Some(30), Some(0)));
    assert_eq!(second, answer(call, UPDATE, 1, &more));
    let third = client.ask(&request(call, UPDATE, 2, Some(30), Some(25)));
    assert_eq!(third, answer(call, UPDATE, 2, &more));
    assert_eq!(store.balance("alice"), (45, 30));
    let last = client.ask(&request(call, TERMINATION, 3, None, Some(10)));
    let done = "MSCC={ SI=1000 RG=100 Result-Code=2001 }";
    assert_eq!(last, answer(call, TERMINATION, 3, done));
    check_settled(&store, "alice", 65);
    // A call that ends when the credit does.
    let call = "scscf.ims.example;1;2";
    client.ask(&request(call, INITIAL, 0, Some(30), None));
    client.ask(&request(call, UPDATE, 1, Some(30), Some(0)));
    let third = client.ask(&request(call, UPDATE, 2, Some(60), Some(25)));
    assert_eq!(third, answer(call, UPDATE, 2, &granted(40, &format!("{FINAL}{QUOTA}"))));
    let last = client.ask(&request(call, TERMINATION, 3, None, Some(40)));
    assert_eq!(last, answer(call, TERMINATION, 3, done));
    check_settled(&store, "alice", 0);
    // The next call is refused: 402 to the caller.
    let refused = client.ask(&request("scscf.ims.example;1;3", INITIAL, 0, Some(30), None));
    assert!(refused.contains(" Result-Code=4012 ") && !refused.contains("GSU"), "{refused}");
    check_audit(&store, "alice");
}
