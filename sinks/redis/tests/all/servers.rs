//! Servers that end and start again, and a cluster of one node.

use crate::hand::{Hand, ask, refused, unavailable};
use crate::peer::Peer;
use scurry_ship::SinkError;
use scurry_sink_redis::RedisTarget;
use std::time::Duration;

#[test]
fn a_restarted_server_goes_on_where_it_was() {
    let mut peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1", "1.1:1"]).expect("events");
    peer.kill();
    unavailable(hand.ship(&["1.0:2"]));
    unavailable(hand.resume());
    peer.begin();
    assert_eq!(hand.resume(), Ok("1.0:1-1 1.1:1-1".to_owned()));
    hand.ship(&["1.0:2"]).expect("an event");
    assert_eq!(peer.events("events:0"), ["1.0:1", "1.0:2"]);
}

#[test]
fn a_cluster_wants_braces_in_the_name() {
    let peer = Peer::valkey(&["--cluster-enabled", "yes", "--cluster-port", "NEXT"]);
    ask(&peer, "CLUSTER ADDSLOTSRANGE 0 16383");
    let mut hand = Hand::new(&peer.address());
    // A node takes no commands for 2 s after it has started.
    let mut outcome = hand.resume();
    for _ in 0..600 {
        match outcome {
            Err(SinkError::Unavailable(said)) => assert!(said.contains("CLUSTERDOWN"), "{said}"),
            _ => break,
        }
        std::thread::sleep(Duration::from_millis(100)); // tidy: allow (the state of a cluster has no event)
        outcome = hand.resume();
    }
    assert_eq!(outcome, Ok(String::new()));
    let said = refused(hand.ship(&["1.0:1"]));
    assert!(said.contains("--stream '{events}'"), "{said}");
    assert_eq!(hand.resume(), Ok(String::new()));
    let mut hand = Hand::to(RedisTarget::parse(&peer.address(), "{events}").expect("a target"));
    hand.resume().expect("streams");
    hand.ship(&["1.0:1", "1.1:1"]).expect("events");
    assert_eq!(peer.events("{events}:1"), ["1.1:1"]);
}

#[test]
fn a_promoted_replica_goes_on_with_what_it_has() {
    let mut primary = Peer::valkey(&[]);
    let replica = Peer::valkey(&["--replicaof", "127.0.0.1", &primary.port.to_string()]);
    let mut hand = Hand::new(&format!("{},{}", primary.address(), replica.address()));
    hand.resume().expect("streams");
    hand.ship(&["1.0:1"]).expect("an event");
    let mut connection = primary.connect();
    redis::cmd("SET").arg("marker").arg(1).exec(&mut connection).expect("a write");
    let replicas = redis::cmd("WAIT").arg(1).arg(60_000).query(&mut connection);
    assert_eq!(replicas, Ok(1), "the replica has everything up to the marker");
    hand.ship(&["1.0:2"]).expect("an event");
    primary.kill();
    unavailable(hand.ship(&["1.0:3"]));
    ask(&replica, "REPLICAOF NO ONE");
    let next = hand.resume().expect("the replica");
    let kept = replica.events("events:0");
    assert_eq!(next, format!("1.0:{}-1", kept.len()));
    let rest: Vec<&str> = ["1.0:1", "1.0:2", "1.0:3"][kept.len()..].to_vec();
    hand.ship(&rest).expect("the rest");
    assert_eq!(replica.events("events:0"), ["1.0:1", "1.0:2", "1.0:3"]);
}
