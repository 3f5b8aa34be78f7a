//! A Cisco gateway: CCR-I without quota, and after 4012 the session waits, until the server asks it to request again.

use super::{
    IMSI, INITIAL, TERMINATION, UPDATE, answer, check_settled, connect, receive_reauth,
    store_with_events,
};
use crate::bytes::{group, long, number, subscriber, text, tgpp};

const HOST: &str = "0001-sessmgr.pgw.example";
const SESSION: &str = "0001-sessmgr.pgw.example;70001;1;66a1b2c3";
const ACCOUNT: &str = "imsi-001010000000001";
/// Reporting-Reason: it was asked to request again.
const FORCED_REAUTHORISATION: u32 = 4;

fn request(kind: u32, request: u32, service: Option<&[Vec<u8>]>) -> Vec<Vec<u8>> {
    let mut out = vec![
        text(263, SESSION),
        text(264, HOST),
        text(296, "pgw.example"),
        text(283, "localdomain"),
        number(258, 4),
        text(461, "32251@3gpp.org"),
        number(416, kind),
        number(415, request),
        number(278, 1),
        number(55, 0xec00_0000),
        subscriber(IMSI, "001010000000001"),
        number(455, 1),
    ];
    out.extend(service.map(|members| group(456, members)));
    out
}

#[test]
fn a_session_of_cisco_begins_without_quota_and_waits_for_credit() {
    let store = store_with_events();
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 1000000"));
    let mut client = connect(&store, HOST, "pgw.example");
    let first = client.ask(&request(INITIAL, 0, None));
    assert_eq!(first, answer(SESSION, INITIAL, 0, ""));
    let wanted = [group(437, &[]), number(432, 10)];
    let second = client.ask(&request(UPDATE, 1, Some(&wanted)));
    let granted = "MSCC={ GSU={ CC-Total-Octets=1000000 } RG=10 Validity-Time=600 \
                   Result-Code=2001 FUI={ Final-Unit-Action=0 } }";
    assert_eq!(second, answer(SESSION, UPDATE, 1, granted));
    let spent = [group(437, &[]), group(446, &[long(421, 1_000_000)]), number(432, 10)];
    let third = client.ask(&request(UPDATE, 2, Some(&spent)));
    assert_eq!(third, answer(SESSION, UPDATE, 2, "MSCC={ RG=10 Result-Code=4012 }"));
    check_settled(&store, ACCOUNT, 0);
    // The session is open, and its client is asked to request again when there is credit.
    store.ask(&format!("SCUR.TOPUP {ACCOUNT} topup-1 main 500000"));
    receive_reauth(&mut client, SESSION, HOST, "pgw.example", "RG=10");
    let reason = tgpp(872, &FORCED_REAUTHORISATION.to_be_bytes());
    let again = [group(437, &[]), group(446, &[long(421, 0)]), number(432, 10), reason];
    let fourth = client.ask(&request(UPDATE, 3, Some(&again)));
    assert_eq!(fourth, answer(SESSION, UPDATE, 3, &granted.replace("1000000", "500000")));
    let rest = [group(446, &[long(421, 200_000)]), number(432, 10)];
    let last = client.ask(&request(TERMINATION, 4, Some(&rest)));
    assert_eq!(last, answer(SESSION, TERMINATION, 4, "MSCC={ RG=10 Result-Code=2001 }"));
    check_settled(&store, ACCOUNT, 300_000);
}
