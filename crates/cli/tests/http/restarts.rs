//! Nodes that restart at any moment under requests, and doors that have just been opened: a client waits for a node
//! that answers within the timeout, and gets no error.

use crate::node::{Node, keeping};
use crate::random::Random;
use crate::support::Door;
use std::io::{Read, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Requests of one client in one run.
const REQUESTS: usize = 120;
/// Average number of requests between two restarts.
const RESTART_EVERY: usize = 12;
/// Entities used by the requests.
const IDS: usize = 4;

/// Makes one run: a client writes and reads and checks each answer, while nodes are killed and restarted. The seed
/// decides which node, when, and which requests.
fn run(seed: u64) {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    let mut random = Random::new(seed);
    let mut written: Vec<Option<Vec<u8>>> = vec![None; IDS];
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    let mut restarting: Option<(usize, thread::JoinHandle<Node>)> = None;
    for number in 0..REQUESTS {
        if random.one_in(RESTART_EVERY) {
            // One at a time: the previous node must be back first.
            if let Some((which, restarted)) = restarting.take() {
                nodes[which] = Some(restarted.join().expect("it starts again"));
            }
            let which = random.below(3);
            let mut node = nodes[which].take().expect("it is here");
            let at_once = random.one_in(2);
            if at_once {
                node.kill();
            }
            restarting = Some((
                which,
                thread::spawn(move || {
                    // Otherwise it is killed while requests are under way.
                    node.kill();
                    node.start_again();
                    node
                }),
            ));
        }
        let id = random.below(IDS);
        let replicas = random.of(&["2/3", "3/3"]);
        let path = format!("/v0/entity?id={id}&replicas={replicas}");
        let told = |what: &str, status| {
            format!("seed {seed}, request {number}: {what} {replicas} was answered {status}")
        };
        match random.below(8) {
            0 => {
                let status = door.delete(&path).0;
                assert_eq!(status, 202, "{}", told("DELETE", status));
                written[id] = None;
            }
            1..4 => {
                let value = format!("{number}").into_bytes();
                let status = door.put(&path, &value).0;
                assert_eq!(status, 201, "{}", told("PUT", status));
                written[id] = Some(value);
            }
            _ => {
                let (status, body) = door.get(&path);
                let expected = if written[id].is_some() { 200 } else { 404 };
                assert_eq!(status, expected, "{}", told("GET", status));
                if let Some(value) = &written[id] {
                    assert_eq!(&body, value, "{}", told("GET", status));
                }
            }
        }
    }
    if let Some((_, restarted)) = restarting {
        restarted.join().expect("it starts again");
    }
}

#[test]
fn no_request_fails_while_every_node_answers_within_the_patience() {
    for seed in 1..=6 {
        run(seed);
    }
}

#[test]
fn the_first_request_of_a_door_waits_for_the_nodes() {
    let nodes = keeping(3);
    let addresses: Vec<String> = nodes.iter().map(Node::address).collect();
    // First new nodes that no door has used, then a second door before nodes that count.
    for number in ["0", "1"] {
        let door = Door::before(&addresses, &["--number", number]);
        assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"1").0, 201, "door {number}");
        assert_eq!(door.get("/v0/entity?id=x&replicas=3/3").0, 200, "door {number}");
    }
}

/// Starts a proxy before a node that, `cuts` times, closes a connection instead of passing on a request about an
/// entity. Returns its address.
fn cutter(node: String, cuts: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for door in listener.incoming() {
            let (mut door, cuts) = (door.expect("it comes"), Arc::clone(&cuts));
            let mut node = TcpStream::connect(&node).expect("it listens");
            let mut replies = node.try_clone().expect("a copy");
            let mut to_door = door.try_clone().expect("a copy");
            thread::spawn(move || copy(&mut replies, &mut to_door));
            thread::spawn(move || {
                let mut room = [0; 4_096];
                while let Ok(len @ 1..) = door.read(&mut room) {
                    let asked = room[..len].windows(7).any(|word| word == b"ENTITY.");
                    let one_less = |cuts: usize| cuts.checked_sub(1);
                    let order = Ordering::Relaxed;
                    if asked && cuts.fetch_update(order, order, one_less).is_ok() {
                        break;
                    }
                    node.write_all(&room[..len]).expect("it is taken");
                }
                // Ends the other thread's copies too. They may be closed already.
                let _ = door.shutdown(Shutdown::Both);
                let _ = node.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

#[test]
fn a_request_outlives_the_connection_that_it_was_sent_on() {
    let nodes = keeping(1);
    let cuts = Arc::new(AtomicUsize::new(0));
    let door = Door::before(&[cutter(nodes[0].address(), Arc::clone(&cuts))], &[]);
    door.wait_until_ready(1);
    for turn in 1..=3 {
        cuts.store(turn, Ordering::Relaxed);
        assert_eq!(door.put("/v0/entity?id=x", &[b'x'; 3]).0, 201, "cut {turn} times");
        cuts.store(turn, Ordering::Relaxed);
        assert_eq!(door.get("/v0/entity?id=x").0, 200, "cut {turn} times");
        assert_eq!(cuts.load(Ordering::Relaxed), 0, "it was asked again each time");
    }
}
