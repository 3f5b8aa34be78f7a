//! What is refused in words, and what may pass.

use crate::hand::{Hand, STORE, make, refused, unavailable};
use crate::peer::Peer;
use async_nats::jetstream::stream::{Config, RetentionPolicy};
use scurry_ship::{Sink, StoreId};
use scurry_sink_nats::{NatsSink, NatsTarget};
use std::io::Write;
use std::net::TcpListener;
use std::thread;

fn target(peer: &Peer) -> NatsTarget {
    NatsTarget::parse(&peer.address(), "events").expect("a target")
}

#[test]
fn a_stream_must_be_there_and_for_events_alone() {
    let peer = Peer::start();
    let said = refused(Hand::to(target(&peer)).resume());
    assert!(
        said.contains("no stream takes the subjects events.>") && said.contains("--create-stream"),
        "{said}"
    );
    let config = |subjects: &[&str]| Config {
        name: "S".to_owned(),
        subjects: subjects.iter().map(|subject| (*subject).to_owned()).collect(),
        ..Config::default()
    };
    for (config, words) in [
        (config(&["events.>", "orders.>"]), "also takes the subject orders.>"),
        (config(&["events.0"]), "does not take all subjects events.>"),
        (
            Config { retention: RetentionPolicy::WorkQueue, ..config(&["events.>"]) },
            "set its retention to limits",
        ),
        (Config { no_ack: true, ..config(&["events.>"]) }, "no_ack"),
    ] {
        make(&peer, config);
        let said = refused(Hand::to(target(&peer)).resume());
        assert!(said.contains(words), "{said}");
        peer.with_context(async |context| {
            context.delete_stream("S").await.map(|_| ()).expect("it was there")
        });
    }
}

#[test]
fn messages_of_others_are_refused() {
    let peer = Peer::start();
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("a stream");
    hand.ship(&["1.0:1"]).expect("an event");
    let mut other = NatsSink::new(target(&peer));
    let said = refused(other.resume(StoreId(7)));
    assert!(said.contains(&format!("has events of store {STORE}")), "{said}");
    peer.with_context(async |context| {
        context
            .publish("events.0", "x".into())
            .await
            .expect("it is sent")
            .await
            .map(|_| ())
            .expect("it is stored");
    });
    unavailable(hand.ship(&["1.0:2"]));
    let said = refused(hand.resume());
    assert!(said.contains("is not of a shipper"), "{said}");
    assert_eq!(peer.last_sequence("EVENTS"), 2);
}

#[test]
fn users_and_passwords_are_refused_in_words() {
    let peer = Peer::with("authorization { user: ship, password: secret }");
    let hand = |user: Option<&str>, password: Option<&str>| {
        let mut target = target(&peer);
        target.create_stream = Some("EVENTS".to_owned());
        target.user = user.map(str::to_owned);
        target.password = password.map(str::to_owned);
        Hand::to(target)
    };
    for (user, password) in [(None, None), (Some("ship"), Some("wrong")), (None, Some("secret"))] {
        let said = refused(hand(user, password).resume());
        assert!(said.contains("SCURRY_TO_PASSWORD"), "{said}");
    }
    hand(Some("ship"), Some("secret")).resume().expect("a stream");
}

#[test]
fn a_server_without_jetstream_is_told() {
    let said = unavailable(Hand::new("127.0.0.1:1").resume());
    assert!(said.contains("no connection to nats://127.0.0.1:1"), "{said}");
}

#[test]
fn a_server_that_answers_nonsense_is_not_shipped_to() {
    for reply in
        [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"+OK\r\n", b"INFO {}\r\n", b"INFO x\r\n"]
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                // The client may have gone.
                let _ = stream.write_all(reply);
            }
        });
        assert!(Hand::new(&address).resume().is_err());
    }
}
