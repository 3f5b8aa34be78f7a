//! Who is admitted, and what an open connection answers by itself.

use super::support::*;
use crate::link::ConnectionState;
use crate::metrics::ConnectionFault;
use crate::peer_rule::PeerRule;
use crate::peer_view::PeerState;
use crate::settings::{Settings, UnknownPeers};
use scurry_diameter::peer::PeerError;

#[test]
fn capabilities_watchdogs_and_a_second_exchange_are_answered() {
    let door = serve(settings(), &StandIn::open());
    let mut client = Client::open(&door, PGW);
    for (request, command) in
        [(peer_request(280), 280), (cer(PGW, None), 257), (peer_request(280), 280)]
    {
        client.send(&request);
        assert_eq!(client.receive().summary(), (command, Some(2001)));
    }
    let view = door.peers.views().remove(0);
    assert_eq!((view.host.as_str(), view.state), (PGW, PeerState::Open));
    client.send(&peer_request(282));
    assert_eq!(client.receive().summary(), (282, Some(2001)));
    client.ends();
    drop(client);
    wait_for("the peer is absent", || door.peers.views()[0].state == PeerState::Absent);
    let view = door.peers.views().remove(0);
    assert!(view.last_error.expect("a reason").starts_with("the peer disconnects"));
    assert_eq!((view.totals.counts.requests_in[0], view.totals.counts.answers_out[0]), (2, 2));
    assert_eq!((view.totals.counts.requests_in[1], view.totals.counts.requests_in[2]), (2, 1));
    door.close();
}

#[test]
fn a_charging_request_before_capabilities_ends_the_connection() {
    let answerer = StandIn::open();
    let door = serve(settings(), &answerer);
    let mut client = Client::connect(&door);
    client.send(&ccr(1));
    client.ends();
    wait_fault(&door, ConnectionFault::BeforeCapabilities, 1);
    assert_eq!(answerer.begun(), 0);
    door.close();
}

#[test]
fn one_connection_per_peer_unless_the_peer_has_restarted() {
    let door = serve(settings(), &StandIn::open());
    let mut first = Client::connect(&door);
    first.send(&cer(PGW, Some(7)));
    assert_eq!(first.receive().summary(), (257, Some(2001)));
    for state_id in [None, Some(7), Some(6)] {
        let mut second = Client::connect(&door);
        second.send(&cer(&PGW.to_uppercase(), state_id));
        assert_eq!(second.receive().summary(), (257, Some(4003)));
        second.ends();
    }
    wait_fault(&door, ConnectionFault::ElectionLost, 3);
    first.send(&ccr(1));
    assert_eq!(first.receive().summary(), (272, Some(2001)));
    let mut restarted = Client::connect(&door);
    restarted.send(&cer(PGW, Some(8)));
    assert_eq!(restarted.receive().summary(), (257, Some(2001)));
    first.ends();
    restarted.send(&ccr(1));
    assert_eq!(restarted.receive().summary(), (272, Some(2001)));
    wait_for("both connections are counted", || {
        door.peers.views()[0].totals.counts.requests_in[3] == 2
    });
    assert_eq!(door.peers.views()[0].state, PeerState::Open);
    door.close();
}

#[test]
fn peers_are_admitted_by_their_rules() {
    let rule = |host: &str| PeerRule { host: host.to_owned(), ..PeerRule::default() };
    let elsewhere = vec!["192.0.2.1".parse().expect("an address")];
    let rules = vec![
        rule(PGW),
        PeerRule { realm: Some("home.example".to_owned()), ..rule("realm.example") },
        PeerRule { addresses: elsewhere, ..rule("address.example") },
        PeerRule { needs_tls: true, ..rule("tls.example") },
        PeerRule { addresses: vec![local(0).ip()], ..rule("here.example") },
    ];
    let door = serve(Settings { peers: rules, ..settings() }, &StandIn::open());
    for (host, result) in [
        ("stranger.example", 3010),
        ("realm.example", 3010),
        ("address.example", 3010),
        ("tls.example", 5017),
        ("here.example", 2001),
        (PGW, 2001),
    ] {
        let mut client = Client::connect(&door);
        client.send(&cer(host, None));
        assert_eq!(client.receive().summary(), (257, Some(result)), "{host}");
    }
    wait_fault(&door, ConnectionFault::UnknownPeer, 3);
    wait_fault(&door, ConnectionFault::Refused, 1);
    assert_eq!(door.peers.views().len(), 5, "a stranger is not remembered");
    door.close();
}

#[test]
fn rules_that_are_replaced_hold_for_the_next_connection() {
    let refusing = Settings { unknown_peers: Some(UnknownPeers::Refuse), ..settings() };
    let door = serve(refusing, &StandIn::open());
    let mut client = Client::connect(&door);
    client.send(&cer(PGW, None));
    assert_eq!(client.receive().summary(), (257, Some(3010)));
    door.peers.replace_rules(vec![PeerRule { host: PGW.to_owned(), ..PeerRule::default() }]);
    Client::open(&door, PGW);
    door.close();
    // A door of this machine admits all until it has rules.
    let door = serve(settings(), &StandIn::open());
    Client::open(&door, "stranger.example");
    door.peers.replace_rules(vec![PeerRule { host: PGW.to_owned(), ..PeerRule::default() }]);
    let mut client = Client::connect(&door);
    client.send(&cer("other.example", None));
    assert_eq!(client.receive().summary(), (257, Some(3010)));
    door.close();
}

#[test]
fn an_answer_that_was_not_asked_for_is_counted() {
    let door = serve(settings(), &StandIn::open());
    let mut client = Client::open(&door, PGW);
    client.send(&peer_request(280));
    let mut unasked = client.receive().header();
    unasked.command = 258;
    client.send(&answer(&unasked));
    client.send(&peer_request(280));
    assert_eq!(client.receive().summary(), (280, Some(2001)));
    wait_for("it is counted", || door.peers.totals().errors_of(PeerError::UnaskedAnswer) == 1);
    wait_until(&door, "open", |counts| counts.connections_in(ConnectionState::Open) == 1);
    door.close();
}

#[test]
fn answers_count_for_their_peer_by_code_and_those_that_are_too_late_too() {
    let answerer = StandIn::new(2);
    let door = serve(settings(), &answerer);
    let mut client = Client::open(&door, PGW);
    let elsewhere = ccr_to(3, "other.example", None);
    for (request, result) in [(ccr(1), 2001), (ccr(2), 2001), (elsewhere, 3003)] {
        client.send(&request);
        assert_eq!(client.receive().summary(), (272, Some(result)));
    }
    client.send(&ccr(4));
    wait_for("it is under way", || answerer.begun() == 3);
    drop(client);
    wait_for("the peer is absent", || door.peers.views()[0].state == PeerState::Absent);
    let totals = door.peers.views().remove(0).totals;
    let mut codes: Vec<_> = totals.answers.iter().map(|(code, count)| (code.0, count)).collect();
    codes.sort_unstable();
    assert_eq!((codes, totals.dropped_answers), (vec![(2001, 2), (3003, 1)], 1));
    door.close();
}
