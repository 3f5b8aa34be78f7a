//! Peers that take more than their share.

use super::support::*;
use crate::link::ConnectionState;
use crate::metrics::ConnectionFault;
use crate::settings::Settings;

#[test]
fn connections_without_capabilities_have_few_places() {
    let door = serve(Settings { unidentified_max: 64, ..settings() }, &StandIn::open());
    let mut clients: Vec<Client> = (0..300).map(|_| Client::connect(&door)).collect();
    wait_fault(&door, ConnectionFault::TooManyUnidentified, 300 - 64);
    for client in &mut clients[64..] {
        client.ends();
    }
    let counts = door.metrics.snapshot();
    assert_eq!(counts.connections_in(ConnectionState::WaitCapabilities), 64);
    clients[0].send(&cer(PGW, None));
    assert_eq!(clients[0].receive().summary(), (257, Some(2001)));
    drop(clients);
    wait_until(&door, "no connection", |counts| counts.connections.iter().sum::<u64>() == 0);
    // Those with capabilities have other places.
    let open = |number| Client::open(&door, &format!("pgw{number}.example"));
    let clients: Vec<Client> = (0..100).map(open).collect();
    wait_until(&door, "all are open", |counts| counts.connections_in(ConnectionState::Open) == 100);
    drop(clients);
    door.close();
}

#[test]
fn places_are_free_again_after_the_deadline() {
    let bounded = Settings { unidentified_max: 4, capabilities_ms: 100, ..settings() };
    let door = serve(bounded, &StandIn::open());
    let mut silent: Vec<Client> = (0..8).map(|_| Client::connect(&door)).collect();
    for client in &mut silent {
        client.ends();
    }
    drop(silent);
    wait_for("a peer is admitted", || Client::try_open(&door, PGW).is_some());
    assert!(door.metrics.snapshot().faults_of(ConnectionFault::NoCapabilities) >= 4);
    door.close();
}

#[test]
fn connections_have_a_bound() {
    let door = serve(Settings { connections_max: 2, ..settings() }, &StandIn::open());
    let first = Client::open(&door, "one.example");
    let _second = Client::open(&door, "two.example");
    Client::connect(&door).ends();
    wait_fault(&door, ConnectionFault::TooMany, 1);
    drop(first);
    wait_until(&door, "a place is free", |counts| counts.connections.iter().sum::<u64>() == 1);
    Client::open(&door, "three.example");
    door.close();
}

#[test]
fn a_peer_that_never_reads_is_closed() {
    let bounded = Settings { write_ms: 200, output_len_max: 16 * 1024, ..settings() };
    let door = serve(bounded, &StandIn::open());
    let mut client = Client::open(&door, PGW);
    let many: Vec<u8> = (0..100).flat_map(ccr).collect();
    // The sockets take some megabytes, then the door stops reading.
    while std::io::Write::write_all(&mut client.stream, &many).is_ok() {}
    wait_fault(&door, ConnectionFault::WriteTimeout, 1);
    Client::open(&door, "next.example");
    door.close();
}
