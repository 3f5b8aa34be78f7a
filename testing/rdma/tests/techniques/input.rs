//! How received bytes become input: windows, and the copy of their bytes.

use crate::pair::{LEN, Pair, bytes, in_place, say};
use scurry_rdma_fabric::Limits;
use scurry_rdma_proto::{Progress, Settings};

#[test]
fn every_byte_is_copied_once() {
    let mut pair = Pair::new(in_place());
    let said = bytes(3 * LEN);
    // Requests of 1,000 bytes: the 66th spans two windows.
    let (mut sent, mut read) = (0, 0);
    while read + 1_000 <= said.len() {
        if sent < said.len() {
            let more = 700.min(said.len() - sent);
            say(&mut pair.client, &said[sent..sent + more]);
            sent += more;
        }
        pair.client.publish().expect("no fault");
        pair.deliver();
        while let Progress::More(_) = pair.server.progress() {
            if pair.server.input().len() >= 1_000 {
                break;
            }
        }
        while pair.server.input().len() >= 1_000 {
            assert_eq!(pair.server.input()[..1_000], said[read..read + 1_000]);
            pair.server.consume(1_000);
            read += 1_000;
        }
    }
    let counts = *pair.server.counts();
    assert!(counts.announcements >= 3, "{counts:?}");
    assert_eq!(counts.copied_in_bytes, (read + pair.server.input().len()) as u64);
}

#[test]
fn what_is_left_is_looked_at_again_before_more_is_copied() {
    let mut pair = Pair::new(in_place());
    let said = bytes(LEN + 20_000);
    say(&mut pair.client, &said);
    pair.deliver();
    pair.client.publish().expect("no fault");
    pair.deliver();
    assert_eq!(pair.server.progress(), Progress::More(LEN));
    for _ in 0..2 {
        pair.server.consume(1_000);
        assert_eq!(pair.server.progress(), Progress::More(0));
    }
    assert_eq!(pair.server.counts().copied_in_bytes, LEN as u64);
    // Nothing was consumed, so the rest is an incomplete request, and more is copied.
    assert_eq!(pair.server.progress(), Progress::Drained(20_000));
    assert_eq!(pair.server.input(), &said[2_000..]);
}

#[test]
fn a_request_longer_than_all_windows_is_whole_at_last() {
    for windows in [1, 2, 3] {
        let mut pair = Pair::new(Settings { windows, ..Settings::default() });
        let said = bytes(5 * LEN + 123);
        say(&mut pair.client, &said);
        while pair.shown().len() < said.len() {
            pair.deliver();
            pair.client.publish().expect("no fault");
        }
        assert!(pair.server.input() == said);
        pair.server.consume(said.len());
        pair.server.release_memory();
        assert!(pair.server.input().is_empty());
        let windows = windows * LEN;
        assert!(pair.server.memory_bytes() < (windows + 150_000) as u64, "the copy is given back");
    }
}

#[test]
fn a_second_window_is_announced_when_the_first_is_full_and_the_same_when_it_is_read() {
    for (windows, before, after) in [(1, 1, 2), (2, 2, 2)] {
        let mut pair = Pair::new(Settings { windows, ..Settings::default() });
        assert_eq!(pair.server.counts().announcements, 1);
        say(&mut pair.client, &bytes(LEN - 1));
        pair.deliver();
        pair.server.progress();
        assert_eq!(pair.server.counts().announcements, 1, "one byte is left");
        say(&mut pair.client, &bytes(1));
        pair.deliver();
        assert_eq!(pair.server.counts().announcements, before);
        assert_eq!(pair.client.is_writable(), windows == 2);
        pair.server.progress();
        assert_eq!(pair.server.counts().announcements, after);
        pair.deliver();
        assert!(pair.client.is_writable());
        assert_eq!(pair.server.pinned_bytes(), (windows * LEN + 256 * 32) as u64);
    }
}

#[test]
fn a_second_window_that_is_refused_leaves_one() {
    let limits = Limits { pinned_max: LEN + 1_000, ..Limits::default() };
    let mut pair = Pair::limited(Settings { window_len: LEN, ..in_place() }, limits);
    let said = bytes(3 * LEN);
    say(&mut pair.client, &said);
    let mut read = 0;
    while read < said.len() {
        pair.deliver();
        pair.client.publish().expect("no fault");
        let len = pair.shown().len();
        assert!(pair.server.input() == &said[read..read + len]);
        pair.server.consume(len);
        read += len;
    }
    let counts = pair.server.counts();
    assert_eq!((counts.windows_refused, counts.announcements), (1, 4));
}

#[test]
fn input_is_not_needed_where_it_lay() {
    let mut pair = Pair::new(Settings { windows: 1, ..Settings::default() });
    let said = bytes(LEN);
    say(&mut pair.client, &said);
    pair.deliver();
    assert!(pair.shown() == said);
    // Nothing was consumed, but the window is already announced again.
    assert_eq!(pair.server.counts().announcements, 2);
    assert_eq!(pair.server.counts().copied_in_bytes, LEN as u64);
}

/// Regression: input grew ahead of a program that reads a little in each turn, as long as the peer
/// sent more.
#[test]
fn input_does_not_run_ahead_of_who_reads_it() {
    let mut pair = Pair::new(Settings::default());
    say(&mut pair.client, &bytes(20 * LEN));
    for _ in 0..200 {
        pair.deliver();
        pair.client.publish().expect("no fault");
        pair.server.progress();
        assert!(pair.server.input().len() <= LEN + 4 * 1024);
        pair.server.consume(100);
    }
    assert!(pair.server.memory_bytes() < 4 * LEN as u64);
}
