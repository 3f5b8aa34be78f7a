//! SigScale's data_session: two services by Service-Identifier and Rating-Group, each with an empty
//! Requested-Service-Unit; its CCR-T has the number of the last CCR-U. It reads Result-Code as a whole.

use super::{E164, IMSI, INITIAL, TERMINATION, UPDATE, answer, check_settled, connect};
use crate::bytes::{group, long, number, subscriber, text, tgpp};
use crate::store::Process;

const HOST: &str = "data_session";
const REALM: &str = "example.net";
const SESSION: &str = "data_session;1754600000;1;nonode";
const ACCOUNT: &str = "imsi-001001123456789";
const SERVICES: [(u32, u32); 2] = [(1, 16), (5, 32)];

/// Returns a request, with the octets used by each service.
fn request(kind: u32, request: u32, used: Option<[u64; 2]>) -> Vec<Vec<u8>> {
    let ps = [
        tgpp(3, &3_u32.to_be_bytes()),
        tgpp(1228, &[0, 1, 10, 1, 2, 3]),
        tgpp(847, &[0, 1, 10, 4, 5, 6]),
        tgpp(8, b"001001"),
        tgpp(9, b"001001"),
        tgpp(18, b"001001"),
        text(30, "internet"),
        tgpp(22, &[0x82, 0, 0x11, 0, 0xbe, 0xef, 0, 0x11, 0, 0x0d, 0xea, 0xdb, 0xee]),
        tgpp(2047, &2_u32.to_be_bytes()),
    ];
    let mut out = vec![
        text(263, SESSION),
        text(264, HOST),
        text(296, REALM),
        text(283, REALM),
        number(258, 4),
        text(461, "32251@3gpp.org"),
        number(416, kind),
        number(415, request),
        text(1, HOST),
        number(55, 0xec00_0000),
        subscriber(IMSI, "001001123456789"),
        subscriber(E164, "14165551234"),
    ];
    for (at, (identifier, rating_group)) in SERVICES.into_iter().enumerate() {
        let mut service = Vec::new();
        if kind != TERMINATION {
            service.push(group(437, &[]));
        }
        service.extend(used.map(|used| group(446, &[long(421, used[at])])));
        service.extend([number(439, identifier), number(432, rating_group)]);
        out.push(group(456, &service));
    }
    out.push(tgpp(873, &tgpp(874, &ps.concat())));
    out
}

#[test]
fn a_session_of_sigscale_ends_with_the_number_of_its_last_update() {
    let store = Process::with_settings("[diameter]\nrealms = ['example.net']\n");
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 100000000"));
    let mut client = connect(&store, HOST, REALM);
    let service = |(identifier, group): (u32, u32)| {
        format!(
            "MSCC={{ GSU={{ CC-Total-Octets=10485760 }} SI={identifier} RG={group} \
             Validity-Time=600 Result-Code=2001 Volume-Quota-Threshold=2097152 }}"
        )
    };
    let granted = SERVICES.map(service).join(" ");
    let first = client.ask(&request(INITIAL, 0, None));
    assert_eq!(first, answer(SESSION, INITIAL, 0, &granted));
    let second = client.ask(&request(UPDATE, 1, Some([400_000, 700_000])));
    assert_eq!(second, answer(SESSION, UPDATE, 1, &granted));
    assert_eq!(store.balance(ACCOUNT), (98_900_000 - 2 * 10_485_760, 2 * 10_485_760));
    let last = request(TERMINATION, 1, Some([5, 60_000]));
    let results = "MSCC={ SI=1 RG=16 Result-Code=2001 } MSCC={ SI=5 RG=32 Result-Code=2001 }";
    assert_eq!(client.ask(&last), answer(SESSION, TERMINATION, 1, results));
    check_settled(&store, ACCOUNT, 98_839_995);
    // A copy of it is answered the same. One of the update that comes so late finds the session ended; neither charges.
    assert_eq!(client.ask(&last), answer(SESSION, TERMINATION, 1, results));
    let late = client.ask(&request(UPDATE, 1, Some([400_000, 700_000])));
    assert!(late.contains(" Result-Code=5002 "), "{late}");
    check_settled(&store, ACCOUNT, 98_839_995);
}
