//! A stream of NATS JetStream.

use crate::compare::{same, wait_until};
use crate::load::Load;
use crate::nats_server::Peer;
use crate::proxy::Proxy;
use crate::shipper::{Shipper, once};
use crate::store::{Store, THREADS};

/// Rounds of faults in a test.
const ROUNDS: u32 = 5;
const STREAM: &str = "EVENTS";

fn events(peer: &Peer) -> Vec<Vec<String>> {
    (0..THREADS).map(|thread| peer.events(STREAM, &format!("events.{thread}"))).collect()
}

/// Makes rounds of a fault under load, and compares what is there in the end.
#[track_caller]
fn survives(mut fault: impl FnMut(&mut Peer, &Proxy, &mut Shipper)) {
    let mut peer = Peer::start();
    let proxy = Proxy::start(peer.port);
    let address = format!("nats://127.0.0.1:{}", proxy.port);
    let to = ["nats", &address, "--subject", "events", "--create-stream", STREAM];
    let store = Store::start();
    assert!(once(&store, &to).status.success(), "the stream is made");
    let mut load = Load::start(&store);
    let mut shipper = Shipper::start(&store, &to);
    for _ in 0..ROUNDS {
        let before = peer.last_sequence(STREAM);
        load.go_on();
        wait_until("more events", || peer.last_sequence(STREAM) > before + 100);
        fault(&mut peer, &proxy, &mut shipper);
    }
    let debits = load.end();
    shipper.kill();
    let last = once(&store, &to);
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    let expected = store.events();
    same(&expected, &events(&peer));
    assert!(expected.iter().all(|events| events.len() > 100), "both threads had a part");
    assert!(expected.concat().len() as u64 >= debits);
}

#[test]
fn every_event_is_there_once_though_the_shipper_is_killed() {
    survives(|_, _, shipper| {
        shipper.kill();
        shipper.begin();
    });
}

#[test]
fn every_event_is_there_once_though_the_broker_is_killed() {
    survives(|peer, _, _| {
        peer.kill();
        peer.begin();
    });
}

#[test]
fn every_event_is_there_once_though_the_connection_is_cut() {
    survives(|_, proxy, _| assert!(proxy.cut() > 0));
}

#[test]
fn two_shippers_deliver_each_event_once() {
    let peer = Peer::start();
    let address = peer.address();
    let to = ["nats", &address, "--subject", "events", "--create-stream", STREAM];
    let store = Store::start();
    assert!(once(&store, &to).status.success(), "the stream is made");
    let mut load = Load::start(&store);
    let mut both = [Shipper::start(&store, &to), Shipper::start(&store, &to)];
    load.go_on();
    load.end();
    wait_until("400 events", || peer.last_sequence(STREAM) > 400);
    both.iter_mut().for_each(Shipper::kill);
    assert!(once(&store, &to).status.success());
    same(&store.events(), &events(&peer));
}
