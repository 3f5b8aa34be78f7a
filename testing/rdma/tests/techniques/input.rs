//! How bytes become input: windows, and what is carried from one to the next.

use crate::pair::{LEN, Pair, bytes, in_place, say};
use scurry_rdma_fabric::Limits;
use scurry_rdma_proto::{Handling, Progress, Settings};

#[test]
fn input_is_read_in_place_and_only_what_is_split_is_copied() {
    let mut pair = Pair::new(in_place());
    let said = bytes(3 * LEN);
    // Requests of 1,000 bytes: the 66th lies in two windows.
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
    assert!(counts.copies_in > 0 && counts.copied_in_bytes < 2 * 4_096, "{counts:?}");
}

#[test]
fn a_carry_takes_a_little_and_goes_back() {
    let mut pair = Pair::new(in_place());
    let said = bytes(LEN + 20_000);
    say(&mut pair.client, &said);
    pair.deliver();
    pair.client.publish().expect("no fault");
    pair.deliver();
    assert_eq!(pair.server.progress(), Progress::More(LEN));
    pair.server.consume(LEN - 10);
    // A tail of 10 bytes, and 512 behind it.
    assert_eq!(pair.server.progress(), Progress::More(512));
    assert_eq!(pair.server.input(), &said[LEN - 10..LEN + 512]);
    // More of the tail than of the window, then into the window: it is read in place again.
    pair.server.consume(4);
    assert_eq!(pair.server.input(), &said[LEN - 6..LEN + 512]);
    pair.server.consume(30);
    assert_eq!(pair.server.input(), &said[LEN + 24..LEN + 512]);
    assert_eq!(pair.server.progress(), Progress::Drained(20_000 - 512));
    assert_eq!(pair.server.input(), &said[LEN + 24..]);
    assert_eq!(pair.server.counts().copied_in_bytes, 522);
}

#[test]
fn a_long_tail_is_looked_at_again_before_it_is_carried() {
    let mut pair = Pair::new(in_place());
    let said = bytes(LEN);
    say(&mut pair.client, &said);
    pair.deliver();
    assert_eq!(pair.server.progress(), Progress::More(LEN));
    pair.server.consume(1_000);
    assert_eq!(pair.server.progress(), Progress::More(0));
    pair.server.consume(1_000);
    assert_eq!(pair.server.progress(), Progress::More(0));
    assert_eq!(pair.server.counts().copied_in_bytes, 0);
    // Nothing could be used: the rest belongs to a request that goes on.
    assert_eq!(pair.server.progress(), Progress::Drained(0));
    assert_eq!(pair.server.input(), &said[2_000..]);
    assert_eq!(pair.server.counts().copied_in_bytes, LEN as u64 - 2_000);
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
        pair.server.settle();
        assert!(pair.server.input().is_empty());
        let windows = windows * LEN;
        assert!(pair.server.memory_bytes() < (windows + 150_000) as u64, "the carry is given back");
    }
}

#[test]
fn a_second_window_is_announced_when_the_first_is_full_and_the_same_when_it_is_read() {
    for (windows, before, after) in [(1, 1, 2), (2, 2, 2)] {
        let mut pair = Pair::new(Settings { windows, ..Settings::default() });
        assert_eq!(pair.server.counts().announcements, 1);
        say(&mut pair.client, &bytes(LEN - 1));
        pair.deliver();
        assert_eq!(pair.server.counts().announcements, 1, "one byte is left");
        say(&mut pair.client, &bytes(1));
        pair.deliver();
        assert_eq!(pair.server.counts().announcements, before);
        assert_eq!(pair.client.is_writable(), windows == 2);
        pair.server.progress();
        pair.server.consume(LEN - 1);
        assert_eq!(pair.server.counts().announcements, before, "a byte is needed");
        pair.server.consume(1);
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
fn copied_input_is_not_needed_where_it_lay() {
    let mut pair =
        Pair::new(Settings { input: Handling::Copied, windows: 1, ..Settings::default() });
    let said = bytes(LEN);
    say(&mut pair.client, &said);
    pair.deliver();
    assert!(pair.shown() == said);
    // Nothing was consumed, and the window is the peer's again.
    assert_eq!(pair.server.counts().announcements, 2);
    assert_eq!(pair.server.counts().copied_in_bytes, LEN as u64);
}

/// Copied input ran ahead of a program that reads a little in each turn, as far as the peer said more.
#[test]
fn copied_input_does_not_run_ahead_of_who_reads_it() {
    let settings = Settings { input: Handling::Copied, ..Settings::default() };
    let mut pair = Pair::new(settings);
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
