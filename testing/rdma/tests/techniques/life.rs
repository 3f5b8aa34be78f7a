//! What time brings, and the end.

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
    pair.server.settle();
    assert_eq!(pair.server.pinned_bytes(), bare + 64 * 1024);
    pair.server.tick(1_000).expect("the peer is there");
    assert_eq!(pair.server.pinned_bytes(), bare + 64 * 1024);
    // Keepalives are no use of it.
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
    // What was sent before the end is read, and then the end is.
    let Pair { fabric, ends, server, mut client, .. } = pair;
    drop(server);
    while let Some(told) = fabric.take(ends[1]) {
        client.event(told.event(), 0).expect("an end is no fault");
    }
    assert_eq!(client.progress(), Progress::More(50));
    assert_eq!(client.input(), bytes(50));
    assert_eq!(client.progress(), Progress::End);
    assert!(matches!(client.publish(), Err(Fault::Gone)));
}
