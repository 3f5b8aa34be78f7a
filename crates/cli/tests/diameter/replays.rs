//! Sessions as clients in use have them, AVP by AVP: those of each, with its flags and, as far as it is known, in its order;
//! Service-Information is shortened. Each test compares the whole answer, so all that the client reads of it. What Open5GS,
//! Magma, Kamailio and SigScale send was read in their sources.

mod cisco;
mod kamailio;
mod magma;
mod open5gs;
mod sigscale;

use crate::bytes::{RawClient, bytes, number, optional, text};
use crate::store::Process;

/// Kinds of requests: CC-Request-Type.
const INITIAL: u32 = 1;
const UPDATE: u32 = 2;
const TERMINATION: u32 = 3;

/// Command code of Re-Auth.
const RE_AUTH: u32 = 258;

/// Kinds of subscribers: Subscription-Id-Type.
const E164: u32 = 0;
const IMSI: u32 = 1;
const SIP_URI: u32 = 2;

/// Connects as a client that names Auth-Application-Id 4 in its capabilities.
fn connect(store: &Process, host: &str, realm: &str) -> RawClient {
    let capabilities = [
        text(264, host),
        text(296, realm),
        bytes(257, &[0, 1, 127, 0, 0, 1]),
        number(266, 0),
        optional(269, b"client"),
        number(278, 1),
        number(265, 10_415),
        number(258, 4),
    ];
    let (client, answer) = RawClient::connect(store.diameter, &capabilities);
    assert!(answer.starts_with("Result-Code=2001 ") && answer.contains(" Auth-Application-Id=4"));
    client
}

/// Receives a Re-Auth-Request for a session, and answers it with success, as this client. `service` is what it names.
fn receive_reauth(client: &mut RawClient, session: &str, host: &str, realm: &str, service: &str) {
    let origin = [text(264, host), text(296, realm)];
    let asked = client.receive_request(RE_AUTH, session, &origin, 2001);
    let expected = format!(
        "Session-Id={session} Origin-Host=scurry.localdomain Origin-Realm=localdomain \
         Destination-Realm={realm} Destination-Host={host} Auth-Application-Id=4 \
         Re-Auth-Request-Type=0 {service}"
    );
    assert_eq!(asked, expected.trim_end());
}

/// Starts a store whose door follows events.
fn store_with_events() -> Process {
    let store = Process::with_log("");
    store.logged("clients are asked again after a top-up");
    store
}

/// Checks the account's invariants, and that it has so many units available and none held.
fn check_settled(store: &Process, account: &str, available: i64) {
    assert_eq!(store.balance(account), (available, 0));
    check_audit(store, account);
}

fn check_audit(store: &Process, account: &str) {
    use redis::Value::{Array, BulkString, Int};
    let audit = store.ask(&format!("SCUR.AUDIT {account}"));
    let Array(parts) = &audit else { panic!("{audit:?}") };
    let is_ok = parts[..2] == [BulkString(b"ok".to_vec()), Int(1)];
    assert!(is_ok, "{audit:?}");
}

/// Returns the answer to a request of a session, with these services.
fn answer(session: &str, kind: u32, number: u32, services: &str) -> String {
    let head = format!(
        "Session-Id={session} Result-Code=2001 Origin-Host=scurry.localdomain \
         Origin-Realm=localdomain Auth-Application-Id=4 CC-Request-Type={kind} \
         CC-Request-Number={number} CC-Session-Failover=1 {services}"
    );
    head.trim_end().to_owned()
}
