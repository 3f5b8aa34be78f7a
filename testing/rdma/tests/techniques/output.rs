//! How replies are sent: inline, in place or copied, and with how many signals and doorbells.

use crate::pair::{LEN, Pair, bytes, in_place, say};
use scurry_rdma_fabric::Limits;
use scurry_rdma_proto::{Fault, SendBuffering, Settings};

#[test]
fn memory_that_is_refused_for_replies_ends_the_connection() {
    let limits = Limits { pinned_max: LEN + 1_000, ..Limits::default() };
    let mut pair = Pair::limited(Settings { window_len: LEN, ..in_place() }, limits);
    pair.server.parts().1.extend_from_slice(b"+OK\r\n");
    pair.server.commit();
    let found = pair.server.publish();
    assert!(matches!(found, Err(Fault::Memory(_))), "{found:?}");
    assert!(matches!(pair.server.publish(), Err(Fault::Gone)));
}

#[test]
fn small_replies_are_inline_and_leave_their_vector_free() {
    let mut pair = Pair::new(in_place());
    let before = *pair.server.counts();
    for _ in 0..100 {
        assert!(say(&mut pair.server, &bytes(50)));
        pair.deliver();
    }
    let counts = pair.server.counts();
    assert_eq!(counts.inline, 100);
    assert_eq!((counts.registrations, counts.copied_out_bytes), (1, 0));
    // One out of 16 is signalled.
    assert_eq!(counts.signalled - before.signalled, 6);
    assert_eq!(counts.doorbells - before.doorbells, 100);
}

#[test]
fn without_inline_each_write_tells_when_its_vector_is_free() {
    let mut pair = Pair::new(Settings { inline_max: 0, ..in_place() });
    for _ in 0..100 {
        assert!(say(&mut pair.server, &bytes(50)));
        pair.deliver();
    }
    let counts = pair.server.counts();
    assert_eq!((counts.inline, counts.copied_out_bytes), (0, 0));
    // The same vector is reused each time.
    assert!(counts.signalled >= 100 && counts.registrations == 1, "{counts:?}");
}

#[test]
fn output_may_be_copied_to_what_is_registered() {
    let settings =
        Settings { output: SendBuffering::Copied, inline_max: 0, staging_len: 1_000, ..in_place() };
    let mut pair = Pair::new(settings);
    let said = bytes(20_000);
    let mut all = say(&mut pair.client, &said);
    while !all {
        pair.deliver();
        all = pair.client.publish().expect("no fault");
    }
    pair.deliver();
    assert!(pair.shown() == said);
    let counts = pair.client.counts();
    assert_eq!((counts.copies_out, counts.copied_out_bytes), (20, 20_000));
    assert!(counts.registrations <= 4, "{counts:?}");
}

#[test]
fn what_is_copied_and_sent_makes_room() {
    let settings =
        Settings { output: SendBuffering::Copied, staging_len: 1_000, stagings: 1, ..in_place() };
    let mut pair = Pair::new(settings);
    say(&mut pair.client, &bytes(50_000));
    for _ in 0..1_000 {
        pair.deliver();
        say(&mut pair.client, &bytes(1_000));
        let len = pair.shown().len();
        pair.server.consume(len);
    }
    let held = pair.client.memory_bytes() - pair.client.pinned_bytes();
    assert!(pair.client.unsent() > 40_000 && held < 250_000, "{held} bytes are held");
}

#[test]
fn a_vector_that_is_under_way_is_left_alone() {
    // The simulated fabric panics when a vector is touched while it is sent from.
    let mut pair = Pair::new(Settings { stagings: 2, inline_max: 0, ..in_place() });
    assert!(say(&mut pair.client, &bytes(500)));
    assert!(say(&mut pair.client, &bytes(500)));
    assert!(!say(&mut pair.client, &bytes(500)), "two are under way");
    assert!(!pair.client.is_writable() && pair.client.unsent() == 500);
    pair.deliver();
    assert!(pair.client.is_writable());
    assert!(say(&mut pair.client, &bytes(500)));
    pair.deliver();
    assert_eq!(pair.shown().len(), 2_000);
}

#[test]
fn a_vector_that_has_grown_is_registered_anew_and_not_kept() {
    let mut pair = Pair::new(Settings { staging_len: 1_000, ..in_place() });
    let usual = pair.client.pinned_bytes();
    assert!(say(&mut pair.client, &bytes(50_000)));
    assert_eq!(pair.client.counts().reregistrations, 1);
    assert!(pair.client.pinned_bytes() >= usual + 50_000);
    pair.deliver();
    assert_eq!(pair.client.pinned_bytes(), usual);
    assert!(pair.shown() == bytes(50_000));
}

#[test]
fn one_immediate_tells_of_all_that_leaves_together() {
    let settings = Settings { in_flight_max: 1, inline_max: 0, ..in_place() };
    let mut pair = Pair::new(settings);
    // The end of the window splits the first vector; its rest is sent together with later bytes.
    say(&mut pair.client, &bytes(LEN - 100));
    pair.deliver();
    assert!(!say(&mut pair.client, &bytes(1_100)));
    assert!(!say(&mut pair.client, &bytes(300)));
    pair.deliver();
    let before = *pair.client.counts();
    while !pair.client.publish().expect("no fault") {
        pair.deliver();
    }
    let counts = pair.client.counts();
    assert_eq!((counts.writes - before.writes, counts.immediates - before.immediates), (2, 1));
    pair.deliver();
    let len = pair.shown().len();
    pair.server.consume(len);
    assert_eq!(len + pair.shown().len(), LEN - 100 + 1_100 + 300);
}

#[test]
fn doorbells_are_shared_unless_they_are_not() {
    let bells = |batch_doorbells| {
        let settings = Settings {
            batch_doorbells,
            output: SendBuffering::Copied,
            staging_len: 1_000,
            ..in_place()
        };
        let mut pair = Pair::new(settings);
        let before = *pair.client.counts();
        assert!(say(&mut pair.client, &bytes(4_000)));
        (
            pair.client.counts().writes - before.writes,
            pair.client.counts().doorbells - before.doorbells,
        )
    };
    assert_eq!(bells(true), (4, 1));
    assert_eq!(bells(false), (4, 4));
}

#[test]
fn what_is_not_committed_does_not_leave() {
    for (output, inline_max) in [
        (SendBuffering::InPlace, 0),
        (SendBuffering::InPlace, 220),
        (SendBuffering::Copied, 0),
        (SendBuffering::Copied, 220),
    ] {
        let mut pair = Pair::new(Settings { output, inline_max, ..in_place() });
        let said = bytes(300);
        for at in (0..300).step_by(30) {
            pair.client.parts().1.extend_from_slice(&said[at..at + 20]);
            pair.client.commit();
            pair.client.parts().1.extend_from_slice(&said[at + 20..at + 30]);
            assert!(pair.client.publish().expect("no fault"));
            pair.deliver();
            assert_eq!(pair.shown(), &said[..at + 20]);
            pair.client.commit();
            assert_eq!(pair.client.unsent(), 10);
            assert!(pair.client.publish().expect("no fault"));
            pair.deliver();
            assert_eq!(pair.shown(), &said[..at + 30]);
        }
    }
}
