//! Timers, and the end of a connection.

use crate::pair::{Pair, bytes, in_place, say};
use scurry_rdma_proto::{Counts, Fault, Progress, Settings};

#[test]
fn a_server_says_that_it_is_alive_and_a_client_does_not() {
    let mut pair = Pair::new(in_place());
    let heard = |counts: &Counts| counts.messages_in;
    let (server, client) = (heard(pair.server.counts()), heard(pair.client.counts()));
    assert_eq!(pair.server.next_due_ms(), Some(3_000));
    for now_ms in (0..=9_999).step_by(100) {
        pair.now_ms = now_ms;
        pair.server.tick(now_ms).expect("the peer is there");
        pair.client.tick(now_ms).expect("the peer is there");
        pair.deliver();
    }
    assert_eq!(heard(pair.client.counts()) - client, 3);
    assert_eq!(heard(pair.server.counts()) - server, 0);
}

#[test]
fn vectors_are_given_back_when_nothing_comes_for_a_while() {
    let mut pair = Pair::new(Settings { inline_max: 0, ..in_place() });
    let bare = pair.server.pinned_bytes();
    say(&mut pair.server, &bytes(5_000));
    pair.deliver();
    pair.server.release_memory();
    assert_eq!(pair.server.pinned_bytes(), bare + 64 * 1024);
    pair.server.tick(1_000).expect("the peer is there");
    assert_eq!(pair.server.pinned_bytes(), bare + 64 * 1024);
    // Keepalives do not count as use of the vector.
    for now_ms in [3_000, 5_999] {
        pair.now_ms = now_ms;
        pair.server.tick(now_ms).expect("the peer is there");
        pair.deliver();
        assert_eq!(pair.server.pinned_bytes(), bare + 64 * 1024);
    }
    pair.server.tick(6_000).expect("the peer is there");
    assert_eq!(pair.server.pinned_bytes(), bare);
    assert!(say(&mut pair.server, &bytes(5_000)));
}

#[test]
fn an_end_is_known_when_everything_has_arrived() {
    let mut pair = Pair::new(in_place());
    assert!(say(&mut pair.server, &bytes(50)));
    assert!(!pair.server.is_finished());
    pair.server.finish();
    assert!(!pair.server.is_finished(), "it is under way");
    pair.deliver();
    assert!(pair.server.is_finished());
    // Data sent before the end is read first, then the end is reported.
    let Pair { fabric, ends, server, mut client, .. } = pair;
    drop(server);
    while let Some(told) = fabric.next_event(ends[1]) {
        client.event(told.event(), 0).expect("an end is no fault");
    }
    assert_eq!(client.progress(), Progress::More(50));
    assert_eq!(client.input(), bytes(50));
    assert_eq!(client.progress(), Progress::End);
    assert!(matches!(client.publish(), Err(Fault::Gone)));
}

/// After a process was stopped, it has received nothing only because it did not poll.
#[test]
fn a_peer_that_nobody_listened_to_is_not_silent() {
    let mut pair = Pair::new(in_place());
    pair.server.tick(3_000).expect("a keepalive is due");
    pair.server.tick(3_100).expect("it is under way");
    // The clock jumps; the completion of the keepalive has not been passed on yet.
    let now_ms = 60_000;
    pair.server.tick(now_ms).expect("a second look is due");
    assert_eq!(pair.server.next_due_ms(), Some(now_ms + 100));
    pair.now_ms = now_ms + 50;
    pair.deliver();
    pair.server.tick(now_ms + 100).expect("the peer is there");
    assert!(pair.server.next_due_ms().is_some_and(|due_ms| due_ms > now_ms + 1_000));
    // From now on the peer is silent: two ticks find no event, the second without any event in
    // between.
    pair.server.tick(now_ms + 3_000).expect("a keepalive is due");
    pair.server.tick(now_ms + 3_100).expect("it is under way");
    pair.server.tick(now_ms + 18_100).expect("a second look is due");
    pair.server.tick(now_ms + 18_199).expect("a second look is due");
    let found = pair.server.tick(now_ms + 18_200);
    assert!(matches!(found, Err(Fault::Silent(15_200))), "{found:?}");
}
