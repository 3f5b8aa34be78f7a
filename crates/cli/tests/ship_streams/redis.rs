//! Streams of Valkey and Redis.

use crate::compare::{same, wait_until};
use crate::load::Load;
use crate::proxy::Proxy;
use crate::shipper::{Shipper, once};
use crate::store::{Store, THREADS};
use crate::valkey::Peer;

/// Rounds of faults in a test.
const ROUNDS: u32 = 4;

fn events(peer: &Peer) -> Vec<Vec<String>> {
    (0..THREADS).map(|thread| peer.events(&format!("events:{thread}"))).collect()
}

fn count(peer: &Peer) -> u64 {
    (0..THREADS).map(|thread| length(peer, thread)).sum()
}

fn length(peer: &Peer, thread: u16) -> u64 {
    redis::cmd("XLEN").arg(format!("events:{thread}")).query(&mut peer.connect()).expect("a length")
}

/// Makes rounds of a fault under load, and compares what is there in the end.
#[track_caller]
fn survives(program: &str, mut fault: impl FnMut(&mut Peer, &Proxy, &mut Shipper)) {
    let mut peer = Peer::start(program, &[]);
    let proxy = Proxy::start(peer.port);
    let address = format!("127.0.0.1:{}", proxy.port);
    let to = ["redis", &address, "--stream", "events"];
    let store = Store::start();
    let mut load = Load::start(&store);
    let mut shipper = Shipper::start(&store, &to);
    for _ in 0..ROUNDS {
        let before = count(&peer);
        load.go_on();
        wait_until("more events", || count(&peer) > before + 100);
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
    survives("valkey-server", |_, _, shipper| {
        shipper.kill();
        shipper.begin();
    });
}

#[test]
fn every_event_is_there_once_though_the_broker_is_killed() {
    survives("redis-server", |peer, _, _| {
        peer.kill();
        peer.begin();
    });
}

#[test]
fn every_event_is_there_once_though_the_connection_is_cut() {
    survives("valkey-server", |_, proxy, _| assert!(proxy.cut() > 0));
}

#[test]
fn two_shippers_deliver_each_event_once() {
    let peer = Peer::valkey(&[]);
    let address = peer.address();
    let to = ["redis", &address, "--stream", "events"];
    let store = Store::start();
    let mut load = Load::start(&store);
    let mut both = [Shipper::start(&store, &to), Shipper::start(&store, &to)];
    load.go_on();
    load.end();
    wait_until("400 events", || count(&peer) > 400);
    both.iter_mut().for_each(Shipper::kill);
    assert!(once(&store, &to).status.success());
    same(&store.events(), &events(&peer));
}

#[test]
fn options_are_refused_in_words() {
    let store = Store::start();
    let said = |to: &[&str]| String::from_utf8(once(&store, to).stderr).expect("text");
    let bad = said(&["redis", "nowhere", "--stream", "events"]);
    assert!(bad.contains("give HOST:PORT, or rediss://HOST:PORT for TLS"), "{bad}");
    let bad = said(&["redis", "127.0.0.1:1", "--stream", "events", "--to-cacert", "ca.pem"]);
    assert!(bad.contains("certificates are for TLS: give rediss://127.0.0.1:1"), "{bad}");
    let bad = said(&[
        "redis",
        "rediss://127.0.0.1:1",
        "--stream",
        "events",
        "--to-cacert",
        "/nowhere/ca.pem",
    ]);
    assert!(bad.contains("cannot read /nowhere/ca.pem"), "{bad}");
    let bad = said(&["redis", "127.0.0.1:1", "--stream", ""]);
    assert!(bad.contains("a name of streams has 1 to 512 bytes"), "{bad}");
}
