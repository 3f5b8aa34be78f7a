//! How a door closes.

use super::support::*;
use crate::settings::Settings;
use std::sync::Arc;
use std::thread;

#[test]
fn requests_under_way_are_answered_before_the_peer_is_asked_to_disconnect() {
    let answerer = StandIn::new(0);
    let patient = Settings { drain_ms: 600_000, disconnect_ms: 600_000, ..settings() };
    let door = serve(patient, &answerer);
    let mut unidentified = Client::connect(&door);
    let mut client = Client::open(&door, PGW);
    client.send(&ccr(1));
    wait_for("it has begun", || answerer.begun() == 1);
    let closing = thread::spawn(move || door.close());
    unidentified.ends();
    // Requests that arrive now are for another server.
    client.send(&ccr(2));
    let received = client.receive();
    assert_eq!((received.summary(), received.header().hop_by_hop), ((272, Some(3004)), 2));
    answerer.gate.add_permits(1);
    assert_eq!(client.receive().summary(), (272, Some(2001)));
    let asked = client.receive();
    assert_eq!(asked.summary(), (282, None));
    client.send(&answer(&asked.header()));
    client.ends();
    drop(client);
    closing.join().expect("it closes");
}

#[test]
fn a_store_and_a_peer_that_do_not_answer_hold_nothing_up() {
    let quick = Settings { drain_ms: 50, disconnect_ms: 50, ..settings() };
    let answerer = StandIn::new(0);
    let door = serve(quick, &answerer);
    let mut client = Client::open(&door, PGW);
    client.send(&ccr(1));
    wait_for("it has begun", || answerer.begun() == 1);
    let closing = thread::spawn(move || door.close());
    assert_eq!(client.receive().summary(), (282, None));
    client.ends();
    drop(client);
    closing.join().expect("it closes");
    assert_eq!(Arc::strong_count(&answerer), 1, "nothing of the door is left");
}
