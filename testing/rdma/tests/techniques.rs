//! What each technique does, by its counts, and the rules of windows and vectors one by one.

use scurry_rdma_fabric::{Fabric, Limits, SimQueue};
use scurry_rdma_proto::{
    Counts, Endpoint, Fault, Handling, Progress, Role, Settings, WINDOW_LEN_MIN,
};

const LEN: usize = WINDOW_LEN_MIN;

/// A server and a client.
struct Pair {
    fabric: Fabric,
    ends: [usize; 2],
    server: Endpoint<SimQueue>,
    client: Endpoint<SimQueue>,
    now_ms: i64,
}

impl Pair {
    /// Both with these settings and windows of 64 KiB.
    fn new(settings: Settings) -> Pair {
        Pair::limited(Settings { window_len: LEN, ..settings }, Limits::default())
    }

    fn limited(settings: Settings, server: Limits) -> Pair {
        let fabric = Fabric::default();
        let ends = fabric.connect([server, Limits::default()]);
        let [server, client] =
            [(ends[0], Role::Server), (ends[1], Role::Client)].map(|(end, role)| {
                let queue = SimQueue::new(&fabric, end);
                let mut endpoint =
                    Endpoint::new(queue, role, settings, 0).expect("there is memory");
                endpoint.open(0).expect("nothing is wrong");
                endpoint
            });
        let mut pair = Pair { fabric, ends, server, client, now_ms: 0 };
        pair.deliver();
        pair
    }

    /// Everything that is under way arrives.
    fn deliver(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (end, endpoint) in self.ends.into_iter().zip([&mut self.server, &mut self.client]) {
                while self.fabric.carry(end) || self.fabric.complete(end) {
                    changed = true;
                }
                while let Some(told) = self.fabric.take(end) {
                    endpoint.event(told.event(), self.now_ms).expect("no fault");
                    changed = true;
                }
            }
        }
    }

    /// The server's input, when no more of it can be shown.
    fn shown(&mut self) -> &[u8] {
        while let Progress::More(_) = self.server.progress() {}
        self.server.input()
    }
}

/// Forms and publishes; whether all of it left.
fn say(endpoint: &mut Endpoint<SimQueue>, bytes: &[u8]) -> bool {
    endpoint.parts().1.extend_from_slice(bytes);
    endpoint.commit();
    endpoint.publish().expect("no fault")
}

/// Bytes that can be told from others.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8 ^ (i / 251 % 256) as u8).collect()
}

fn in_place() -> Settings {
    Settings { windows: 2, ..Settings::default() }
}

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
    // One of 16 is signalled.
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
    // The vector is used again and again.
    assert!(counts.signalled >= 100 && counts.registrations == 1, "{counts:?}");
}

#[test]
fn output_may_be_copied_to_what_is_registered() {
    let settings =
        Settings { output: Handling::Copied, inline_max: 0, staging_len: 1_000, ..in_place() };
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
        Settings { output: Handling::Copied, staging_len: 1_000, stagings: 1, ..in_place() };
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
    // The fabric watches: a vector that is touched while it is sent from is a panic.
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
    assert_eq!(pair.client.counts().registered_anew, 1);
    assert!(pair.client.pinned_bytes() >= usual + 50_000);
    pair.deliver();
    assert_eq!(pair.client.pinned_bytes(), usual);
    assert!(pair.shown() == bytes(50_000));
}

#[test]
fn one_immediate_tells_of_all_that_leaves_together() {
    let settings = Settings { in_flight_max: 1, inline_max: 0, ..in_place() };
    let mut pair = Pair::new(settings);
    // The window's end splits the first; its rest leaves with what came later.
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
            output: Handling::Copied,
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
