//! Requests of the application: their destination, their order, and how many are under way.

use super::support::*;
use crate::settings::Settings;
use scurry_diameter::{Flags, ResultCode};

#[test]
fn requests_for_others_are_not_delivered() {
    let answerer = StandIn::open();
    let door = serve(settings(), &answerer);
    let mut client = Client::open(&door, PGW);
    for (number, realm, host, result) in [
        (1, REALM, None, 2001),
        (2, "SCURRY.example", Some("OCS.scurry.example"), 2001),
        (3, "other.example", None, 3003),
        (4, "other.example", Some(HOST), 3003),
        (5, REALM, Some("ocs2.scurry.example"), 3002),
    ] {
        client.send(&ccr_to(number, realm, host));
        let received = client.receive();
        assert_eq!(received.summary(), (272, Some(result)), "{number}");
        assert_eq!(received.header().hop_by_hop, number);
        assert_eq!(received.header().flags.0 & Flags::ERROR != 0, result / 1000 == 3);
    }
    assert_eq!(answerer.begun(), 2);
    let counts = door.metrics.snapshot();
    assert_eq!(counts.answers[&("credit-control", ResultCode::SUCCESS)], 2);
    assert_eq!(counts.answers[&("credit-control", ResultCode::REALM_NOT_SERVED)], 2);
    assert_eq!(counts.latencies.count(), 2);
    door.close();
}

#[test]
fn all_requests_of_a_read_begin_before_one_is_answered() {
    let answerer = StandIn::new(0);
    let door = serve(settings(), &answerer);
    let mut client = Client::open(&door, PGW);
    let all: Vec<u8> = (0..500).flat_map(ccr).collect();
    client.send(&all);
    wait_for("all have begun", || answerer.begun() == 500);
    // The watchdog is answered although no request is.
    client.send(&peer_request(280));
    assert_eq!(client.receive().summary(), (280, Some(2001)));
    answerer.gate.add_permits(500);
    let mut numbers: Vec<u32> = (0..500).map(|_| client.receive().header().hop_by_hop).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..500));
    door.close();
}

#[test]
fn requests_above_the_bound_are_answered_at_once() {
    let answerer = StandIn::new(0);
    let door = serve(Settings { requests_max: 3, ..settings() }, &answerer);
    let mut client = Client::open(&door, PGW);
    let all: Vec<u8> = (0..5).flat_map(ccr).collect();
    client.send(&all);
    for number in [3, 4] {
        let received = client.receive();
        assert_eq!(received.summary(), (272, Some(3004)));
        assert_eq!(received.header().hop_by_hop, number);
    }
    answerer.gate.add_permits(4);
    for _ in 0..3 {
        assert_eq!(client.receive().summary(), (272, Some(2001)));
    }
    client.send(&ccr(9));
    assert_eq!(client.receive().summary(), (272, Some(2001)));
    door.close();
}

#[test]
fn what_was_received_before_the_end_reaches_the_store() {
    let answerer = StandIn::new(0);
    let door = serve(settings(), &answerer);
    for (at, last) in [Vec::new(), peer_request(282)].into_iter().enumerate() {
        let mut client = Client::open(&door, PGW);
        client.send(&[ccr(1), ccr(2), last].concat());
        drop(client);
        let begun = 2 * (at as u64 + 1);
        wait_for("both have begun", || answerer.begun() == begun);
        wait_until(&door, "no connection", |counts| counts.connections.iter().sum::<u64>() == 0);
    }
    door.close();
}
