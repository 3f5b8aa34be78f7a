//! Bytes that no honest peer sends, and peers that stop in the middle.

use super::support::*;
use crate::metrics::ConnectionFault;
use crate::settings::Settings;
use std::io::Write;
use std::net::Shutdown;

#[test]
fn every_prefix_of_a_message_may_be_the_last() {
    let door = serve(settings(), &StandIn::open());
    let whole = cer("prefix.example", None);
    for len in 0..whole.len() {
        let mut client = Client::connect(&door);
        client.send(&whole[..len]);
        client.stream.shutdown(Shutdown::Write).expect("a socket");
        client.ends();
    }
    let whole = ccr(1);
    for len in 0..whole.len() {
        let mut client = Client::open(&door, &format!("prefix{len}.example"));
        client.send(&whole[..len]);
        client.stream.shutdown(Shutdown::Write).expect("a socket");
        client.ends();
    }
    let mut client = Client::open(&door, PGW);
    client.send(&ccr(1));
    assert_eq!(client.receive().summary(), (272, Some(2001)));
    drop(client);
    wait_until(&door, "no connection", |counts| counts.connections.iter().sum::<u64>() == 0);
    assert_eq!(door.metrics.snapshot().faults.iter().sum::<u64>(), 0);
    door.close();
}

#[test]
fn lengths_that_lie_end_the_connection_at_once() {
    let door = serve(settings(), &StandIn::open());
    let lies = [[1, 0xff, 0xff, 0xfc], [1, 0, 0, 0], [1, 0, 0, 22], [2, 0, 0, 24]];
    for lie in lies {
        let mut client = Client::connect(&door);
        client.send(&lie);
        client.ends();
    }
    for (at, lie) in lies.into_iter().enumerate() {
        let mut client = Client::open(&door, &format!("lie{at}.example"));
        let mut message = ccr(1);
        message[..4].copy_from_slice(&lie);
        // The answer arrives although the client goes on to send.
        client.send(&[ccr(0), message, vec![0; 3_000]].concat());
        let results = [client.receive().summary(), client.receive().summary()];
        let expected = if lie[0] == 1 { 5015 } else { 5011 };
        assert!(results.contains(&(272, Some(2001))), "{results:?}");
        assert!(results.contains(&(272, Some(expected))), "{results:?}");
        client.ends();
    }
    wait_fault(&door, ConnectionFault::Frame, 8);
    door.close();
}

#[test]
fn a_message_must_be_complete_in_time() {
    let door = serve(Settings { message_ms: 50, ..settings() }, &StandIn::open());
    let mut client = Client::open(&door, PGW);
    // An idle connection is no slow message.
    client.send(&ccr(1));
    assert_eq!(client.receive().summary(), (272, Some(2001)));
    let message = ccr(2);
    for byte in &message[..message.len() - 1] {
        // On a machine that stalls, the door may close the connection before the last byte.
        if client.stream.write_all(&[*byte]).is_err() {
            break;
        }
    }
    wait_fault(&door, ConnectionFault::SlowMessage, 1);
    Client::open(&door, "next.example");
    door.close();
}

#[test]
fn capabilities_have_a_deadline_however_slowly_they_come() {
    let door = serve(Settings { capabilities_ms: 50, ..settings() }, &StandIn::open());
    let mut silent = Client::connect(&door);
    let mut slow = Client::connect(&door);
    slow.send(&cer(PGW, None)[..30]);
    silent.ends();
    slow.ends();
    wait_fault(&door, ConnectionFault::NoCapabilities, 2);
    door.close();
}
