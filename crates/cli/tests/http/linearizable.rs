//! What clients of several doors see of an entity can be explained by calls that were executed one at
//! a time, while the network between doors and nodes delays, overtakes and breaks off, and nodes are
//! killed and started again. Porcupine decides it (testing/linearizability); no time is asked for.

use crate::node::{Node, keeping};
use crate::proxy::{Way, proxy};
use crate::support::Door;
use scurry_crash::check_histories;
use scurry_crash::clock::ns;
use scurry_crash::history::{Act, Call, Histories, History, Outcome};
use scurry_model::Random;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Writes that were made again under a later version failed with it at four entities.
const SEED: u64 = 5;
const NODES: usize = 3;
const DOORS: usize = 3;
const CLIENTS: usize = 6;
/// Each has entities of its own.
const ROUNDS: usize = 10;
/// Of a client in a round.
const CALLS: usize = 8;
const ENTITIES: usize = 2;
/// Less than two that wait for the slowest messages: some outcomes stay unknown.
const PATIENCE_MS: &str = "600";

/// A call of the entity with this number.
type Called = (usize, Call);

#[test]
fn what_clients_of_several_doors_see_has_one_order() {
    let seed = std::env::var("SCURRY_SEED").map_or(SEED, |seed| seed.parse().expect("a seed"));
    println!("SCURRY_SEED={seed}");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("entities");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    let mut random = Random::new(seed);
    let mut nodes = keeping(NODES);
    let doors: Vec<Door> = (0..DOORS).map(|_| behind_a_network(&nodes, &mut random)).collect();
    doors.iter().for_each(|door| door.wait_until_ready(NODES));
    let (mut histories, mut unknown) = (Histories::new(), 0);
    for round in 0..ROUNDS {
        let calls = run(round, &doors, &mut nodes, &mut random);
        unknown += calls.iter().filter(|(_, call)| call.result.is_none()).count();
        for (entity, call) in calls {
            let empty = || History { kind: "entity", credit: 0, calls: Vec::new() };
            let history = histories.entry(format!("{round}:{entity}")).or_insert_with(empty);
            history.calls.push(call);
        }
    }
    let calls: usize = histories.values().map(|history| history.calls.len()).sum();
    println!("{calls} calls, {unknown} of them without an outcome");
    keep(&directory, &histories);
    check_histories(&directory).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
    // A run that asked nothing would find nothing.
    assert!(calls - unknown > ROUNDS * CLIENTS, "{calls} calls, {unknown} without an outcome");
}

fn keep(directory: &Path, histories: &Histories) {
    let json = serde_json::to_vec(histories).expect("JSON");
    fs::write(directory.join("calls.json"), json).expect("it is written");
}

/// A door that reaches each node by a way of its own.
fn behind_a_network(nodes: &[Node], random: &mut Random) -> Door {
    let mut slow = |node: &Node| {
        let seed = random.next_u64();
        proxy(node.address(), move |number, way| {
            let number = u64::try_from(number).expect("a few") * 2 + u64::from(way == Way::ToDoor);
            let mut random = Random::new(seed ^ number);
            move |_, _: &[u8]| {
                let delay = match random.below(20) {
                    0..12 => 0,
                    12..17 => random.between(1, 5),
                    17..19 => random.between(10, 60),
                    _ => random.between(100, 250),
                };
                let delay = Duration::from_millis(delay.unsigned_abs());
                thread::sleep(delay); // tidy: allow (this network is slow)
                !random.one_in(400)
            }
        })
    };
    let addresses: Vec<String> = nodes.iter().map(&mut slow).collect();
    // One number for all, as they have it unless they are told another.
    Door::before(&addresses, &["--patience-ms", PATIENCE_MS])
}

/// All clients at once; in some rounds a node is killed in the middle.
fn run(round: usize, doors: &[Door], nodes: &mut [Node], random: &mut Random) -> Vec<Called> {
    let done = AtomicUsize::new(0);
    let killed = random.one_in(2).then(|| (random.below(NODES), random.below(CLIENTS * CALLS)));
    let mut calls: Vec<Called> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (done, mut random) = (&done, Random::new(random.next_u64()));
                scope.spawn(move || {
                    let call = |_| {
                        let called = call(round, client, &doors[client % DOORS], &mut random);
                        done.fetch_add(1, Ordering::Relaxed);
                        called
                    };
                    (0..CALLS).filter_map(call).collect::<Vec<Called>>()
                })
            })
            .collect();
        if let Some((node, after)) = killed {
            while done.load(Ordering::Relaxed) < after {
                thread::sleep(Duration::from_millis(1)); // tidy: allow (its moment has to come)
            }
            nodes[node].kill();
            nodes[node].start_again();
        }
        clients.into_iter().flat_map(|client| client.join().expect("no panic")).collect()
    });
    for (client, door) in doors.iter().enumerate() {
        for entity in 0..ENTITIES {
            let read = ask(CLIENTS + client, door, &path(round, entity, "2/3"), Act::Read);
            calls.extend(read.map(|call| (entity, call)));
        }
    }
    calls
}

fn path(round: usize, entity: usize, replicas: &str) -> String {
    format!("/v0/entity?id={round}:{entity}&replicas={replicas}")
}

/// One call of a client; none when it is as if it had not been made.
fn call(round: usize, client: usize, door: &Door, random: &mut Random) -> Option<Called> {
    let entity = random.below(ENTITIES);
    let path = path(round, entity, random.pick(&["2/3", "2/3", "2/3", "3/3"]));
    let act = match random.below(7) {
        0..3 => Act::Set { value: format!("{client} {}", random.next_u64()) },
        3 => Act::Del,
        _ => Act::Read,
    };
    Some((entity, ask(client, door, &path, act)?))
}

fn ask(client: usize, door: &Door, path: &str, act: Act) -> Option<Call> {
    let call = ns();
    let (status, body) = match &act {
        Act::Set { value } => door.put(path, value.as_bytes()),
        Act::Del => door.delete(path),
        _ => door.get(path),
    };
    let end = ns();
    let outcome = |value| Outcome { code: "OK".to_owned(), value, ..Outcome::default() };
    let result = match (&act, status) {
        (Act::Set { .. }, 201) | (Act::Del, 202) | (Act::Read, 404) => Some(outcome(None)),
        (Act::Read, 200) => Some(outcome(Some(String::from_utf8(body).expect("text")))),
        (Act::Read, 504) => return None,
        // It may be executed as long as there is somebody who asks.
        (_, 504) => None,
        _ => panic!("{act:?} of {path}: {status} {}", String::from_utf8_lossy(&body)),
    };
    let end = if result.is_some() { end } else { i64::MAX };
    Some(Call { client, call, end, act, result })
}
