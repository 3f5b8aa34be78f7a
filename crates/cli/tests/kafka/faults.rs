//! What is killed and cut under load.

use crate::broker::Broker;
use crate::shipper::Shipper;
use crate::store::Store;
use crate::wait::wait_until;
use nix::sys::signal::Signal;

const TOPIC: &str = "charging";

/// Ships what is left, and checks that all is there once.
fn ends_well(broker: &Broker, store: &Store) {
    let (has_ended, log) = Shipper::once(&broker.words(broker.direct, TOPIC, &store.address()));
    assert!(has_ended, "{log}");
    broker.has_each_once(TOPIC, &store.events());
}

#[test]
fn a_shipper_that_is_killed_leaves_each_event_once() {
    let (broker, store) = (Broker::start(), Store::start());
    let load = store.load();
    for more in [1, 20_000, 3_000, 50_000, 1, 10_000, 1, 30_000] {
        let _shipper = Shipper::start(&broker.words(broker.direct, TOPIC, &store.address()));
        wait_until("there is a topic", || broker.topic_len(TOPIC) > 0);
        broker.grows(TOPIC, more);
        load.go_on(20);
    }
    load.end();
    ends_well(&broker, &store);
}

#[test]
fn a_broker_that_is_killed_leaves_each_event_once() {
    let (mut broker, store) = (Broker::start(), Store::start());
    let load = store.load();
    let mut shipper = Shipper::start(&broker.words(broker.direct, TOPIC, &store.address()));
    wait_until("there is a topic", || broker.topic_len(TOPIC) > 0);
    for more in [20_000, 5_000, 50_000] {
        broker.grows(TOPIC, more);
        broker.kill();
        load.go_on(200);
        broker.restart();
    }
    broker.grows(TOPIC, 20_000);
    load.end();
    assert!(shipper.runs(), "{}", shipper.log());
    assert!(shipper.end().success(), "{}", shipper.log());
    ends_well(&broker, &store);
}

#[test]
fn connections_that_are_cut_leave_each_event_once() {
    let (broker, store) = (Broker::start(), Store::start());
    let load = store.load();
    let mut shipper = Shipper::start(&broker.words(broker.proxy.port, TOPIC, &store.address()));
    wait_until("there is a topic", || broker.topic_len(TOPIC) > 0);
    for round in 0..12 {
        broker.grows(TOPIC, 10_000);
        if round % 2 == 1 {
            // The broker has committed, and the shipper does not know it.
            let before = broker.proxy.lost();
            broker.proxy.mute();
            wait_until("answers are lost", || broker.proxy.lost() > before);
            load.go_on(100);
        }
        broker.proxy.cut();
    }
    broker.grows(TOPIC, 10_000);
    load.end();
    assert!(shipper.runs(), "{}", shipper.log());
    assert!(shipper.end().success(), "{}", shipper.log());
    ends_well(&broker, &store);
}

#[test]
fn of_two_shippers_the_later_one_goes_on_and_each_event_is_there_once() {
    let (broker, store) = (Broker::start(), Store::start());
    let load = store.load();
    let words = broker.words(broker.direct, TOPIC, &store.address());
    let mut first = Shipper::start(&words);
    wait_until("there is a topic", || broker.topic_len(TOPIC) > 0);
    for round in 0..4 {
        broker.grows(TOPIC, 10_000);
        if round % 2 == 1 {
            // A shipper that was stopped, and does not know that it was replaced.
            first.signal(Signal::SIGSTOP);
        }
        let second = Shipper::start(&words);
        if round % 2 == 1 {
            broker.grows(TOPIC, 10_000);
            first.signal(Signal::SIGCONT);
        }
        assert!(!first.ended().success());
        assert!(first.log().contains("another shipper of this store"), "{}", first.log());
        first = second;
    }
    broker.grows(TOPIC, 10_000);
    load.end();
    assert!(first.end().success(), "{}", first.log());
    ends_well(&broker, &store);
}
