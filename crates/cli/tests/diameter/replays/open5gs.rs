//! Open5GS, src/smf/gy-path.c of August 2026: one Multiple-Services-Credit-Control without Rating-Group although
//! Multiple-Services-Indicator is 0; input, output and time used without a total; Requested-Action in each request. It
//! repeats the Origin-Host of an answer as Destination-Host.

use super::{
    E164, IMSI, INITIAL, TERMINATION, UPDATE, answer, check_audit, check_settled, connect,
};
use crate::bytes::{bytes, group, long, number, subscriber, text, tgpp};
use crate::store::Process;

const SESSION: &str = "smf.epc.example;1754600000;1;app_gy";
const ACCOUNT: &str = "imsi-001010000000001";
/// Reporting-Reason in a Used-Service-Unit.
const THRESHOLD: u32 = 0;
/// Reporting-Reason in a Multiple-Services-Credit-Control.
const FINAL: u32 = 2;

fn head(session: &str, kind: u32, request: u32) -> Vec<Vec<u8>> {
    let mut out = vec![
        text(263, session),
        text(264, "smf.epc.example"),
        text(296, "localdomain"),
        text(283, "localdomain"),
        number(258, 4),
        text(461, "32251@3gpp.org"),
        number(416, kind),
        number(415, request),
    ];
    if request > 0 {
        out.push(text(293, "scurry.localdomain"));
    }
    out.push(number(55, 0xec00_0000));
    out.push(subscriber(IMSI, "001010000000001"));
    out.push(subscriber(E164, "491700000001"));
    if kind == TERMINATION {
        out.push(number(295, 1));
    }
    out.push(number(436, 0));
    out.push(tgpp(2055, &1_u32.to_be_bytes()));
    out.push(number(455, 0));
    out
}

/// Returns Service-Information with what PS-Information has of the subscriber.
fn information() -> Vec<u8> {
    let ps = [
        tgpp(2, &7_u32.to_be_bytes()),
        tgpp(3, &0_u32.to_be_bytes()),
        tgpp(1227, &[0, 1, 10, 45, 0, 2]),
        tgpp(1228, &[0, 1, 127, 0, 0, 3]),
        tgpp(847, &[0, 1, 127, 0, 0, 4]),
        text(30, "internet"),
        tgpp(12, b"0"),
        tgpp(18, b"00101"),
        tgpp(10, &[5]),
        tgpp(21, &[6]),
        group(458, &[number(459, 0), bytes(460, b"3534900698733190")]),
    ];
    tgpp(873, &tgpp(874, &ps.concat()))
}

/// Returns QoS-Information.
fn qos() -> Vec<u8> {
    let priority =
        [(1046, 8_u32), (1047, 1), (1048, 1)].map(|(code, n)| tgpp(code, &n.to_be_bytes()));
    let members = [
        tgpp(1028, &9_u32.to_be_bytes()),
        tgpp(1034, &priority.concat()),
        tgpp(1041, &1_000_000_u32.to_be_bytes()),
        tgpp(1040, &1_000_000_u32.to_be_bytes()),
    ];
    tgpp(1016, &members.concat())
}

/// Returns a request: with units requested unless it is the last, with use unless it is the first.
fn request(
    session: &str,
    kind: u32,
    number_of: u32,
    used: Option<(u32, u64, u64, u32)>,
) -> Vec<Vec<u8>> {
    let mut service = Vec::new();
    if kind != TERMINATION {
        service.push(group(437, &[long(421, 1_000_000)]));
    }
    if let Some((seconds, input, output, reason)) = used {
        let reason = tgpp(872, &reason.to_be_bytes());
        let units = [number(420, seconds), long(412, input), long(414, output)];
        let is_inside = kind == UPDATE;
        let inside = if is_inside { reason.clone() } else { Vec::new() };
        service.push(group(446, &[inside, units.concat()]));
        if !is_inside {
            service.push(reason);
        }
    }
    service.push(qos());
    let mut out = head(session, kind, number_of);
    out.extend([group(456, &service), information()]);
    out
}

const GRANTED: &str = "MSCC={ GSU={ CC-Total-Octets=1000000 } Validity-Time=600 Result-Code=2001 \
                       Volume-Quota-Threshold=200000 }";

#[test]
fn a_session_of_open5gs_is_charged() {
    let store = Process::with_settings("");
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 10000000"));
    let mut client = connect(&store, "smf.epc.example", "localdomain");
    let first = client.ask(&request(SESSION, INITIAL, 0, None));
    assert_eq!(first, answer(SESSION, INITIAL, 0, GRANTED));
    assert_eq!(store.balance(ACCOUNT), (9_000_000, 1_000_000));
    let used = Some((9, 700_000, 150_000, THRESHOLD));
    let second = client.ask(&request(SESSION, UPDATE, 1, used));
    assert_eq!(second, answer(SESSION, UPDATE, 1, GRANTED));
    assert_eq!(store.balance(ACCOUNT), (8_150_000, 1_000_000));
    let used = Some((3, 20_000, 5_000, FINAL));
    let last = client.ask(&request(SESSION, TERMINATION, 2, used));
    assert_eq!(last, answer(SESSION, TERMINATION, 2, "MSCC={ Result-Code=2001 }"));
    check_settled(&store, ACCOUNT, 9_125_000);
}

#[test]
fn open5gs_ends_its_session_when_the_credit_ends() {
    let store = Process::with_settings("");
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 1200000"));
    let mut client = connect(&store, "smf.epc.example", "localdomain");
    client.ask(&request(SESSION, INITIAL, 0, None));
    // It reads Final-Unit-Action, and nothing of the rest of Final-Unit-Indication.
    let used = Some((9, 900_000, 0, THRESHOLD));
    let rest = "MSCC={ GSU={ CC-Total-Octets=300000 } Validity-Time=600 Result-Code=2001 \
                FUI={ Final-Unit-Action=0 } }";
    let second = client.ask(&request(SESSION, UPDATE, 1, used));
    assert_eq!(second, answer(SESSION, UPDATE, 1, rest));
    // The service is denied and the session is open: it sends CCR-T.
    let used = Some((9, 200_000, 100_000, 3));
    let third = client.ask(&request(SESSION, UPDATE, 2, used));
    assert_eq!(third, answer(SESSION, UPDATE, 2, "MSCC={ Result-Code=4012 }"));
    let last = client.ask(&request(SESSION, TERMINATION, 3, Some((0, 0, 0, FINAL))));
    assert_eq!(last, answer(SESSION, TERMINATION, 3, "MSCC={ Result-Code=2001 }"));
    check_settled(&store, ACCOUNT, 0);
    // The next session is refused as a whole.
    let refused = client.ask(&request("smf.epc.example;1754600000;2;app_gy", INITIAL, 0, None));
    assert!(refused.contains(" Result-Code=4012 ") && !refused.contains("GSU"), "{refused}");
    check_audit(&store, ACCOUNT);
}
