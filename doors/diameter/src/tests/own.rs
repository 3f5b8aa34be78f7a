//! Requests of the server to its peers.

use super::support::*;
use crate::own_request::{OwnRequest, RequestOutcome};
use crate::serving::Serving;
use crate::settings::Settings;
use scurry_diameter::{ResultCode, ServerAction, application};
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
    door.close();
}

#[test]
fn a_silent_client_and_one_that_disconnects_leave_requests_unanswered() {
    let door = serve(Settings { answer_ms: 50, ..settings() }, &StandIn::open());
    let mut client = Client::open(&door, PGW);
    let asking = ask(&door, PGW, RE_AUTH);
    assert_eq!(client.receive().summary(), (258, None));
    assert_eq!(asking.join().expect("it ends"), RequestOutcome::Unanswered);
    door.close();
    let door = serve(settings(), &StandIn::open());
    let mut client = Client::open(&door, PGW);
    let asking = ask(&door, PGW, RE_AUTH);
    assert_eq!(client.receive().summary(), (258, None));
    drop(client);
    assert_eq!(asking.join().expect("it ends"), RequestOutcome::Unanswered);
    door.close();
}
