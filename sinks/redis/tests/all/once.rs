//! Each event is in its stream once and in order, whatever becomes of connections, entries and the hash.

use crate::hand::{Hand, ask, refused};
use crate::peer::Peer;
use scurry_sink_redis::RedisTarget;

#[test]
fn entries_have_the_event_and_positions_of_it() {
    for program in ["valkey-server", "redis-server"] {
        let peer = Peer::start(program, &[]);
        let mut hand = Hand::new(&peer.address());
        assert_eq!(hand.resume(), Ok(String::new()));
        hand.append("1.0:17-2", br#"{"id":"1.0:17-2"}"#).expect("an event");
        hand.ship(&["1.1:1", "1.1:1-1", "1.0:18"]).expect("events");
        let entries = peer.entries("events:0");
        assert_eq!(entries[0].0, "4294967296-73014444037");
        let fields = [
            "id",
            "1.0:17-2",
            "store",
            "00c0ffee00c0ffee",
            "event",
            "debited",
            "account",
            "alice",
            "payload",
            r#"{"id":"1.0:17-2"}"#,
        ];
        assert_eq!(entries[0].1, fields);
        assert_eq!(peer.events("events:1"), ["1.1:1", "1.1:1-1"]);
        let mut again = Hand::new(&peer.address());
        assert_eq!(again.resume(), Ok("1.0:18-1 1.1:1-2".to_owned()));
    }
}

#[test]
fn a_second_shipper_and_a_late_write_change_nothing() {
    let peer = Peer::valkey(&[]);
    let (mut first, mut second) = (Hand::new(&peer.address()), Hand::new(&peer.address()));
    first.resume().expect("streams");
    second.resume().expect("streams");
    let events = ["1.0:1", "1.0:1-1", "1.0:2", "1.1:1"];
    first.ship(&events[..3]).expect("events");
    second.ship(&events).expect("the same events");
    first.ship(&events[3..]).expect("the same event");
    assert_eq!(peer.events("events:0"), &events[..3]);
    assert_eq!(peer.events("events:1"), &events[3..]);
}

#[test]
fn a_shipper_with_other_events_is_refused() {
    let peer = Peer::valkey(&[]);
    let (mut first, mut second) = (Hand::new(&peer.address()), Hand::new(&peer.address()));
    first.resume().expect("streams");
    second.resume().expect("streams");
    first.ship(&["1.0:1", "1.0:3"]).expect("events");
    // The first has left out 1.0:2, and it cannot come after 1.0:3.
    let said = refused(second.ship(&["1.0:1", "1.0:2", "1.0:3"]));
    assert!(said.contains("a shipper with other options, writes to it"), "{said}");
    assert_eq!(peer.events("events:0"), ["1.0:1", "1.0:3"]);
}

#[test]
fn entries_that_consumers_have_deleted_do_not_come_again() {
    let peer = Peer::valkey(&[]);
    let (mut first, mut second) = (Hand::new(&peer.address()), Hand::new(&peer.address()));
    first.resume().expect("streams");
    second.resume().expect("streams");
    first.ship(&["1.0:1", "1.0:2", "1.0:3"]).expect("events");
    for (id, _) in peer.entries("events:0").iter().rev() {
        ask(&peer, &format!("XDEL events:0 {id}"));
        assert_eq!(Hand::new(&peer.address()).resume(), Ok("1.0:3-1".to_owned()));
    }
    second.ship(&["1.0:1", "1.0:2", "1.0:3", "1.0:4"]).expect("the same events and one more");
    assert_eq!(peer.events("events:0"), ["1.0:4"]);
}

#[test]
fn a_gap_comes_before_the_event_at_its_end() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1", "1.0:2..1.0:7"]).expect("events");
    assert_eq!(Hand::new(&peer.address()).resume(), Ok("1.0:7".to_owned()));
    hand.ship(&["1.0:7"]).expect("an event");
    assert_eq!(peer.events("events:0"), ["1.0:1", "1.0:2..1.0:7", "1.0:7"]);
}

#[test]
fn a_thread_that_the_store_no_longer_has_ends_once() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1", "1.1:1", "1.2:1"]).expect("events");
    hand.resume().expect("streams");
    hand.ship(&["1.0:1-1..2.0:1", "2.0:1", "1.1:1-1..2.0:1", "1.2:1-1..2.0:1"]).expect("events");
    assert_eq!(peer.events("events:1"), ["1.1:1", "1.1:1-1..2.0:1"]);
    let next = Ok("2.0:1-1".to_owned());
    assert_eq!(Hand::new(&peer.address()).resume(), next);
    // Without the last entries the hash says it, and without the hash the last entries.
    for key in ["events:1", "events:2"] {
        ask(&peer, &format!("XTRIM {key} MAXLEN 0"));
    }
    assert_eq!(Hand::new(&peer.address()).resume(), next);
    // Later the store has more threads again.
    hand.ship(&["3.1:1"]).expect("an event");
    assert_eq!(Hand::new(&peer.address()).resume(), Ok("2.0:1-1 3.1:1-1".to_owned()));
}

#[test]
fn events_that_a_filter_leaves_out_are_not_read_again() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.reach("1.0:500").expect("a position");
    assert_eq!(Hand::new(&peer.address()).resume(), Ok("1.0:500".to_owned()));
    hand.ship(&["1.0:600"]).expect("an event");
    hand.reach("1.0:700").expect("a position");
    assert_eq!(Hand::new(&peer.address()).resume(), Ok("1.0:700".to_owned()));
}

#[test]
fn streams_go_on_without_their_hash() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1", "1.1:1-3"]).expect("events");
    ask(&peer, "DEL events");
    assert_eq!(Hand::new(&peer.address()).resume(), Ok("1.0:1-1 1.1:1-4".to_owned()));
}

#[test]
fn entries_that_the_server_has_lost_are_shipped_again() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1", "1.0:2"]).expect("events");
    let before = ask(&peer, "DUMP events:0");
    hand.ship(&["1.0:3", "1.0:4"]).expect("events");
    // As after a failover to a replica that had not everything, of which only the hash is newer.
    let redis::Value::BulkString(before) = before else { panic!("{before:?}") };
    let mut restore = redis::cmd("RESTORE");
    restore.arg("events:0").arg(0).arg(before).arg("REPLACE");
    restore.query::<()>(&mut peer.connect()).expect("an older stream");
    let mut again = Hand::new(&peer.address());
    assert_eq!(again.resume(), Ok("1.0:2-1".to_owned()));
    again.ship(&["1.0:3"]).expect("events");
    assert_eq!(Hand::new(&peer.address()).resume(), Ok("1.0:3-1".to_owned()));
    again.ship(&["1.0:4", "1.0:5"]).expect("events");
    assert_eq!(peer.events("events:0"), ["1.0:1", "1.0:2", "1.0:3", "1.0:4", "1.0:5"]);
    // All of it is gone: it begins again.
    ask(&peer, "DEL events:0");
    assert_eq!(Hand::new(&peer.address()).resume(), Ok(String::new()));
}

#[test]
fn a_bound_keeps_the_last_entries() {
    let peer = Peer::valkey(&["--stream-node-max-entries", "10"]);
    let mut target = RedisTarget::parse(&peer.address(), "events").expect("a target");
    target.max_len = Some(20);
    let (mut hand, mut second) = (Hand::to(target.clone()), Hand::to(target));
    hand.resume().expect("streams");
    second.resume().expect("streams");
    let ids: Vec<String> = (1..=200).map(|sequence| format!("1.0:{sequence}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    hand.ship(&ids).expect("events");
    let kept = peer.events("events:0");
    assert!((20..50).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept, &ids[200 - kept.len()..]);
    // Those that were removed count as delivered.
    second.ship(&ids).expect("the same events");
    assert_eq!(peer.events("events:0"), kept);
}
