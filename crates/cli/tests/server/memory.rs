//! Memory that clients make the server hold is counted, wherever it is, and is at most a few times the size of their
//! requests. The memory of the process matches INFO, whether many clients send big requests or do not read replies.

use crate::random::Random;
use crate::support::{Client, Server, array};
use std::io::Write;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Keys of a long request. None of them exists.
const KEYS: usize = 500_000;
/// Keys with values of this length, bytes, spread over both of two threads.
const VALUES: usize = 60;
const VALUE_LEN: usize = 100_000;
/// Bytes of the process that it does not count: code, stacks, caches of the allocator.
const BESIDE: u64 = 96 << 20;
/// Bound of repeated requests: each is a round trip, so this ends.
const TRIES_MAX: usize = 1_000_000;

/// Returns numbers of INFO by name.
fn info<const N: usize>(client: &mut Client, names: [&str; N]) -> [u64; N] {
    client.send("INFO\r\n");
    let text = client.bulk();
    names.map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
    })
}

fn request(name: &str, keys: impl Iterator<Item = String>) -> Vec<u8> {
    let keys: Vec<String> = keys.collect();
    let words = std::iter::once(name).chain(keys.iter().map(String::as_str));
    array(&words.map(str::as_bytes).collect::<Vec<_>>())
}

/// Returns bytes that one client sends before it reads, and the expected reply.
fn demand(random: &mut Random) -> (Vec<u8>, String) {
    let first = random.below(VALUES);
    let absent = |count: usize| (0..count).map(|at| format!("{at:06}"));
    let present = || (0..VALUES).map(|at| format!("value{}", (first + at) % VALUES));
    let value = "v".repeat(VALUE_LEN);
    match random.below(6) {
        0..=2 => (request("MGET", absent(KEYS)), format!("*{KEYS}\r\n{}", "$-1\r\n".repeat(KEYS))),
        3 => (request("EXISTS", absent(KEYS)), ":0\r\n".to_owned()),
        4 => {
            let values = format!("${VALUE_LEN}\r\n{value}\r\n").repeat(VALUES);
            (request("MGET", present()), format!("*{VALUES}\r\n{values}"))
        }
        // All keys of a transaction must belong to one thread.
        _ => {
            let mut all = b"MULTI\r\n".to_vec();
            all.extend(request("EXISTS", absent(KEYS / 4).map(|key| format!("{{a}}{key}"))));
            (all, "+OK\r\n+QUEUED\r\n".to_owned())
        }
    }
}

#[test]
fn what_big_requests_and_slow_readers_make_the_server_hold_is_counted() {
    const SEED: u64 = 0x0012_1993;
    const CLIENTS: usize = 14;
    const ROUNDS: usize = 2;
    let server = Server::start(&["--threads", "2", "--max-memory", "1gb"]);
    let mut observer = server.connect();
    for at in 0..VALUES {
        let (key, value) = (format!("value{at}"), vec![b'v'; VALUE_LEN]);
        observer.send(array(&[b"SET", key.as_bytes(), &value]));
        observer.expect("+OK\r\n");
    }
    let names = ["used_memory", "used_memory_rss", "used_memory_connections"];
    let [used_before, rss_before, connections_before] = info(&mut observer, names);
    let (sent, all_sent, may_read) =
        (AtomicUsize::new(0), Barrier::new(CLIENTS + 1), Barrier::new(CLIENTS + 1));
    let mut faults = Vec::new();
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (server, sent, all_sent, may_read) = (&server, &sent, &all_sent, &may_read);
            scope.spawn(move || {
                let mut random = Random::new(SEED + number as u64);
                for _ in 0..ROUNDS {
                    let (bytes, reply) = demand(&mut random);
                    let mut client = server.connect();
                    client.stream_mut().write_all(&bytes).expect("the server takes it");
                    sent.fetch_add(bytes.len(), Ordering::Relaxed);
                    all_sent.wait();
                    may_read.wait();
                    client.expect(&reply);
                }
            });
        }
        let mut used_most = used_before;
        let mut sent_before = 0;
        for round in 0..ROUNDS {
            all_sent.wait();
            let sent_now = sent.load(Ordering::Relaxed) - sent_before;
            sent_before += sent_now;
            // A failure is kept until the clients have continued, and reported then.
            let mut fault = Some(format!("round {round}: the server does not take all"));
            for _ in 0..TRIES_MAX {
                let [taken] = info(&mut observer, ["total_net_input_bytes"]);
                let [used, rss, _] = info(&mut observer, names);
                used_most = used_most.max(used);
                let taken = usize::try_from(taken).expect("few");
                if taken >= sent_before {
                    let held = rss.saturating_sub(rss_before);
                    let counted = used_most - used_before;
                    let is_much = held > counted + counted / 4 + BESIDE
                        || used - used_before > 4 * sent_now as u64 + (32 << 20);
                    fault = is_much.then(|| {
                        format!("{sent_now} bytes came, {held} are held, {counted} counted")
                    });
                    break;
                }
            }
            faults.extend(fault);
            may_read.wait();
        }
    });
    assert!(faults.is_empty(), "seed {SEED:#x}: {faults:?}");
    // Their memory is freed, except for the part that is kept for new connections.
    let mut connections = 0;
    for _ in 0..TRIES_MAX {
        [_, _, connections] = info(&mut observer, names);
        if connections < connections_before + (8 << 20) {
            return;
        }
    }
    panic!("{connections} bytes are still counted for clients that are gone");
}
