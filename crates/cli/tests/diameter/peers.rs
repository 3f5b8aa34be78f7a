//! Peers that do what they should not, and peers that come and go.

use crate::client::{Ask, Client, text, wants};
use crate::store::Process;
use nix::sys::signal::Signal;
use scurry_diameter::ccr::RequestType::{Initial, Update};

#[test]
fn a_request_before_capabilities_ends_the_connection() {
    let store = Process::with_settings("");
    let mut client = Client::open(store.diameter, "pgw.example");
    let request = client.request(Ask::data("s;1", Initial, 0), |_| {});
    client.send(&request);
    assert_eq!(client.receive(), None);
}

#[test]
fn every_prefix_of_a_request_ends_with_its_connection() {
    let store = Process::with_settings("");
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let whole = client.request(Ask::data("s;1", Initial, 0), |request| {
        request.service(&wants(1, 10));
    });
    for len in (0..whole.len()).step_by(7) {
        let mut cut = Client::connect(store.diameter, &format!("pgw{len}.example"));
        cut.send(&whole[..len]);
    }
    client.send(&whole);
    let answer = text(&client.receive().expect("an answer"));
    assert!(answer.contains("Result-Code=2001"), "{answer}");
}

#[test]
fn lengths_that_lie_end_the_connection() {
    let store = Process::with_settings("");
    for head in [[1, 0xff, 0xff, 0xfc], [1, 0, 0, 0], [1, 0, 0, 22], [2, 0, 0, 20]] {
        let mut fresh = Client::open(store.diameter, "pgw.example");
        fresh.send(&head);
        assert_eq!(fresh.receive(), None, "{head:?}");
        let mut known = Client::connect(store.diameter, "pgw.example");
        known.send(&head);
        while known.receive().is_some() {}
    }
}

#[test]
fn a_second_connection_of_a_peer_is_refused_while_the_first_is_there() {
    let store = Process::with_settings("");
    let first = Client::connect(store.diameter, "pgw.example");
    let (mut second, answer) = Client::try_connect(store.diameter, "PGW.example");
    assert!(answer.contains("Result-Code=4003"), "{answer}");
    assert_eq!(second.receive(), None);
    drop(first);
    // The door may learn of the end of the first after the second connects.
    let is_admitted =
        |_| Client::try_connect(store.diameter, "pgw.example").1.contains("Result-Code=2001");
    assert!((0..1_000).any(is_admitted));
}

#[test]
fn peers_and_realms_are_those_of_the_settings() {
    let settings = "[diameter]\norigin_host = 'ocs.localdomain'\nrealms = ['other']\n\
        [[diameter.peers]]\nhost = 'pgw.example'\nrealm = 'example'\n\
        [[diameter.peers]]\nhost = 'far.example'\naddresses = ['10.0.0.1']\n\
        [[diameter.peers]]\nhost = 'safe.example'\nneeds_tls = true\n";
    let store = Process::with_settings(settings);
    for (host, code) in [("far.example", 3010), ("safe.example", 5017), ("stranger.example", 3010)]
    {
        let (_, answer) = Client::try_connect(store.diameter, host);
        assert!(answer.contains(&format!("Result-Code={code}")), "{host}: {answer}");
    }
    let mut client = Client::connect(store.diameter, "PGW.example");
    let answer = client.services(Ask::data("s;1", Initial, 0), &[]);
    assert!(answer.starts_with("5030 "), "{answer}");
    let mut elsewhere = client.request(Ask::data("s;1", Update, 0), |_| {});
    let at = elsewhere.windows(11).position(|part| part == b"localdomain").expect("a realm");
    elsewhere[at..at + 11].copy_from_slice(b"otherdomain");
    client.send(&elsewhere);
    let answer = text(&client.receive().expect("an answer"));
    assert!(answer.contains("272PE") && answer.contains("Result-Code=3003"), "{answer}");
}

#[test]
fn a_door_that_ends_asks_its_peers_to_disconnect() {
    let store = Process::with_settings("");
    let door = Process::door_before(&store, "");
    let mut client = Client::connect(door.diameter, "pgw.example");
    door.signal(Signal::SIGTERM);
    let request = client.receive().expect("a request");
    let said = text(&request);
    assert!(said.starts_with("282R ") && said.contains("Disconnect-Cause=0"), "{said}");
    let mut answer = request.clone();
    answer[4] = 0;
    client.send(&answer);
    assert_eq!(client.receive(), None);
}

#[test]
fn a_store_that_is_not_there_is_too_busy() {
    let store = Process::with_settings("");
    let door = Process::impatient_door_before(&store, "", "500");
    drop(store);
    let mut client = Client::connect(door.diameter, "pgw.example");
    let answer = client.services(Ask::data("s;1", Initial, 0), &[wants(1, 10)]);
    assert!(answer.starts_with("3004 Error-Message=the store"), "{answer}");
}
