//! Requests of the server to its peers.

use super::support::*;
use crate::own_request::{OwnRequest, RequestOutcome};
use crate::peer_rule::PeerRule;
use crate::serving::Serving;
use crate::settings::Settings;
use scurry_diameter::{MessageIds, Origin, ResultCode, ServerAction, ServerRequest, application};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

fn ask(door: &Serving, host: &str, action: ServerAction) -> JoinHandle<RequestOutcome> {
    let peers = Arc::clone(&door.peers);
    let request = OwnRequest {
        session_id: "pgw.visited.example;1;2".to_owned(),
        host: host.to_owned(),
        realm: "visited.example".to_owned(),
        action,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    thread::spawn(move || runtime.block_on(peers.request(request)))
}

const RE_AUTH: ServerAction = ServerAction::ReAuth { rating_group: Some(1), identifier: None };

#[test]
fn requests_are_answered_by_the_client_or_through_a_relay() {
    let door = serve(settings(), &StandIn::open());
    let mut client = Client::open(&door, PGW);
    for (action, command) in [(RE_AUTH, 258), (ServerAction::Abort, 274)] {
        let asking = ask(&door, &PGW.to_uppercase(), action);
        let asked = client.receive();
        assert_eq!(asked.summary(), (command, None));
        client.send(&answer(&asked.header()));
        let outcome = asking.join().expect("it ends");
        assert_eq!(outcome, RequestOutcome::Answered(ResultCode::SUCCESS));
    }
    let elsewhere = "behind.relay.example";
    let outcome = ask(&door, elsewhere, RE_AUTH).join().expect("it ends");
    assert_eq!(outcome, RequestOutcome::NotConnected);
    let mut relay = Client::connect(&door);
    relay.send(&capabilities("dra.example", None, application::RELAY));
    assert_eq!(relay.receive().summary(), (257, Some(2001)));
    let asking = ask(&door, elsewhere, RE_AUTH);
    let asked = relay.receive();
    relay.send(&answer(&asked.header()));
    let outcome = asking.join().expect("it ends");
    assert_eq!(outcome, RequestOutcome::Answered(ResultCode::SUCCESS));
    // Each request counts for the peer whose connection it took.
    let peers = door.peers.views();
    let answered = |host: &str| {
        let own = &peers.iter().find(|peer| peer.host == host).expect("it is known").own;
        own.iter().map(|(_, counts)| counts.answered.iter().collect()).collect::<Vec<Vec<_>>>()
    };
    let one = || vec![(ResultCode::SUCCESS, 1)];
    assert_eq!(answered(PGW), [one(), one()]);
    assert_eq!(answered("dra.example"), [one(), vec![]]);
    let strangers = door.peers.requests_to_strangers();
    let lost: Vec<u64> = strangers.iter().map(|(_, counts)| counts.not_connected).collect();
    assert_eq!(lost, [1, 0]);
    door.close();
}

#[test]
fn a_silent_client_and_one_that_disconnects_leave_requests_unanswered() {
    let door = serve(Settings { answer_ms: 50, ..settings() }, &StandIn::open());
    let mut client = Client::open(&door, PGW);
    let asking = ask(&door, PGW, RE_AUTH);
    assert_eq!(client.receive().summary(), (258, None));
    assert_eq!(asking.join().expect("it ends"), RequestOutcome::Unanswered);
    let unanswered = door.peers.views()[0].own.iter().map(|(_, counts)| counts.unanswered).sum();
    assert_eq!((unanswered, door.peers.totals().requests_out[4]), (1_u64, 1));
    door.close();
    let door = serve(settings(), &StandIn::open());
    let mut client = Client::open(&door, PGW);
    let asking = ask(&door, PGW, RE_AUTH);
    assert_eq!(client.receive().summary(), (258, None));
    drop(client);
    assert_eq!(asking.join().expect("it ends"), RequestOutcome::Unanswered);
    door.close();
}

/// Returns a request that an operator's tool sends for a session of this client.
fn forwarded(host: &str, action: ServerAction) -> Vec<u8> {
    let mut out = Vec::new();
    let request = ServerRequest {
        session_id: "pgw.visited.example;1;2",
        destination_host: host,
        destination_realm: "visited.example",
        action,
    };
    let ids = MessageIds { hop_by_hop: 9, end_to_end: 9 };
    request.write(&mut out, ids, &Origin::new("tool.scurry.example", "scurry.example", None));
    out
}

#[test]
fn a_tool_has_a_client_asked_and_gets_its_answer() {
    let door = serve(settings(), &StandIn::open());
    let (mut tool, mut client) = (Client::open(&door, "tool.example"), Client::open(&door, PGW));
    for (action, command) in [(RE_AUTH, 258), (ServerAction::Abort, 274)] {
        tool.send(&forwarded(PGW, action));
        let asked = client.receive();
        let request = asked.message();
        let read = ServerRequest::read(&request).expect("a request for a session");
        assert_eq!((read.action, read.session_id), (action, "pgw.visited.example;1;2"));
        client.send(&answer(&asked.header()));
        let told = tool.receive();
        assert_eq!(told.summary(), (command, Some(2001)));
        assert_eq!((told.header().hop_by_hop, told.header().end_to_end), (9, 9));
    }
    tool.send(&forwarded("absent.example", RE_AUTH));
    assert_eq!(tool.receive().summary(), (258, Some(3002)));
    tool.send(&forwarded(PGW, RE_AUTH));
    assert_eq!(client.receive().summary(), (258, None));
    drop(client);
    assert_eq!(tool.receive().summary(), (258, Some(3002)));
    door.close();
}

#[test]
fn only_peers_that_may_ask_have_clients_asked() {
    let rule =
        |host: &str, may_ask| PeerRule { host: host.to_owned(), may_ask, ..PeerRule::default() };
    let peers = vec![rule("tool.example", true), rule("other.example", false), rule(PGW, false)];
    let door = serve(Settings { peers, ..settings() }, &StandIn::open());
    let mut client = Client::open(&door, PGW);
    let mut other = Client::open(&door, "other.example");
    other.send(&forwarded(PGW, RE_AUTH));
    assert_eq!(other.receive().summary(), (258, Some(5003)));
    let mut tool = Client::open(&door, "TOOL.example");
    tool.send(&forwarded(PGW, RE_AUTH));
    let asked = client.receive();
    assert_eq!(asked.summary(), (258, None));
    client.send(&answer(&asked.header()));
    assert_eq!(tool.receive().summary(), (258, Some(2001)));
    door.close();
}
