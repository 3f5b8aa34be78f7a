//! What is killed and cut under load.

use crate::broker::{Broker, EXCHANGE, QUEUE};
use crate::shipper::Shipper;
use crate::store::Store;
use crate::wait::wait_until;
use nix::sys::signal::Signal;

/// Ships what is left, and checks that all is there.
fn ends_well(broker: &Broker, store: &Store) {
    let words = broker.words(broker.direct, &store.address());
    // The broker may not know yet that an earlier shipper has gone.
    wait_until("the positions are free", || {
        let (has_ended, log) = Shipper::once(&words);
        assert!(has_ended || log.contains("another shipper"), "{log}");
        has_ended
    });
    broker.has_each(&store.events());
    // All positions are there: nothing is shipped again.
    let (has_ended, log) = Shipper::once(&words);
    assert!(has_ended && log.lines().any(|line| line.starts_with("0 events ")), "{log}");
}

#[test]
fn a_shipper_that_is_killed_leaves_each_event() {
    let (broker, store) = (Broker::start(), Store::start());
    broker.client(&["bind", EXCHANGE, QUEUE]);
    let load = store.load();
    for more in [1, 500, 50, 1_000, 1, 300] {
        let _shipper = Shipper::start(&broker.words(broker.direct, &store.address()));
        broker.grows(more);
    }
    load.end();
    ends_well(&broker, &store);
}

#[test]
fn a_broker_that_is_killed_leaves_each_event() {
    let (mut broker, store) = (Broker::start(), Store::start());
    broker.client(&["bind", EXCHANGE, QUEUE]);
    let load = store.load();
    let mut shipper = Shipper::start(&broker.words(broker.direct, &store.address()));
    for more in [500, 100, 1_000] {
        broker.grows(more);
        broker.kill();
        load.go_on(200);
        broker.restart();
    }
    broker.grows(500);
    load.end();
    assert!(shipper.runs(), "{}", shipper.log());
    assert!(shipper.end().success(), "{}", shipper.log());
    ends_well(&broker, &store);
}

#[test]
fn connections_that_are_cut_leave_each_event() {
    let (broker, store) = (Broker::start(), Store::start());
    broker.client(&["bind", EXCHANGE, QUEUE]);
    let load = store.load();
    let mut shipper = Shipper::start(&broker.words(broker.proxy.port, &store.address()));
    for round in 0..8 {
        broker.grows(300);
        if round % 2 == 1 {
            // The broker has confirmed, and the shipper does not know it.
            let before = broker.proxy.lost();
            broker.proxy.mute();
            wait_until("answers are lost", || broker.proxy.lost() > before);
            load.go_on(100);
        }
        broker.proxy.cut();
    }
    broker.grows(300);
    load.end();
    assert!(shipper.runs(), "{}", shipper.log());
    assert!(shipper.end().success(), "{}", shipper.log());
    ends_well(&broker, &store);
}

#[test]
fn a_second_shipper_waits_for_the_first() {
    let (broker, store) = (Broker::start(), Store::start());
    broker.client(&["bind", EXCHANGE, QUEUE]);
    let load = store.load();
    let words = broker.words(broker.direct, &store.address());
    let mut first = Shipper::start(&words);
    broker.grows(300);
    let mut second = Shipper::start(&words);
    wait_until("it waits", || second.log().contains("another shipper of this store"));
    broker.grows(300);
    first.signal(Signal::SIGKILL);
    first.ended();
    broker.grows(300);
    load.end();
    assert!(second.end().success(), "{}", second.log());
    ends_well(&broker, &store);
}
