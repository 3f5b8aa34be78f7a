//! Writes of one entity have a single order, whichever doors they come through: no deleted value returns, and of two
//! writes with the same version the same one wins everywhere.

use crate::node::{Node, keeping};
use crate::proxy::{Hold, proxy};
use crate::support::Door;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

const ALL: &str = "/v0/entity?id=x&replicas=3/3";
/// Long enough that no request reaches this timeout.
const PATIENCE_MS: &str = "100000";

fn addresses(nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(Node::address).collect()
}

fn value_at(node: &Node, id: &str) -> redis::Value {
    node.ask(&["ENTITY.GET", id])
}

/// One client's PUT has reached only the first node when another client reads the entity and deletes it.
#[test]
fn what_was_deleted_does_not_come_back_with_the_rest_of_its_write() {
    let nodes = keeping(3);
    let hold = Hold::default();
    let mut before = vec![nodes[0].address()];
    for node in &nodes[1..] {
        let hold = hold.clone();
        before.push(proxy(node.address(), move |_, _| hold.rule()));
    }
    let slow = Door::before(&before, &["--patience-ms", PATIENCE_MS]);
    slow.wait_until_ready(3);
    let fast = Door::before(&addresses(&nodes), &["--number", "1", "--patience-ms", PATIENCE_MS]);
    fast.wait_until_ready(3);
    thread::scope(|scope| {
        let first = scope.spawn(|| slow.put("/v0/entity?id=x", b"back again").0);
        hold.wait_for(2);
        // The write to the first node is still on its way too.
        while !nodes[0].has("x") {
            thread::yield_now();
        }
        assert_eq!(fast.get(ALL), (200, b"back again".to_vec()));
        assert_eq!(fast.delete(ALL).0, 202);
        assert_eq!(fast.get(ALL).0, 404);
        hold.let_go();
        assert_eq!(first.join().expect("no panic"), 201);
        assert_eq!(fast.get(ALL).0, 404);
    });
}

/// The nodes may know a version that this door's clock would not reach for long.
#[test]
fn a_version_is_above_what_any_quorum_knows() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    for number in 0..48 {
        let id = format!("x{number}");
        let ahead = ((now_ms() + 3_000) << 19).to_string();
        for node in (0..3).filter(|node| *node != number % 3) {
            nodes[node].ask(&["ENTITY.PUT", &id, "ahead", "VERSION", &ahead]);
        }
        let path = format!("/v0/entity?id={id}");
        assert_eq!(door.put(&path, b"later").0, 201);
        assert_eq!(door.get(&path), (200, b"later".to_vec()), "{id}");
    }
}

/// The state that two doors with the same number leave.
#[test]
fn of_two_values_with_one_version_one_stands_everywhere() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    let version = (now_ms() << 19).to_string();
    for (number, one) in ["a", "b", "c"].iter().enumerate() {
        for (node, value) in nodes.iter().zip(["a", "b", "c"].iter().cycle().skip(number)) {
            node.ask(&["ENTITY.PUT", &format!("x{one}"), value, "VERSION", &version]);
        }
        let path = format!("/v0/entity?id=x{one}&replicas=3/3");
        assert_eq!(door.get(&path), (200, b"c".to_vec()));
        for node in &nodes {
            assert_eq!(value_at(node, &format!("x{one}")), redis::Value::BulkString(b"c".to_vec()));
        }
    }
    // The result is the same if a node receives the losing write later.
    for late in ["a", "b", "c"] {
        nodes[0].ask(&["ENTITY.PUT", "xa", late, "VERSION", &version]);
    }
    nodes[0].ask(&["ENTITY.DEL", "xa", "VERSION", &version]);
    assert_eq!(value_at(&nodes[0], "xa"), redis::Value::BulkString(b"c".to_vec()));
}

#[test]
fn two_values_with_one_version_have_two_tags() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    let version = (now_ms() << 19).to_string();
    let tags = ["a", "b"].map(|value| {
        for node in &nodes {
            node.ask(&["ENTITY.PUT", "x", value, "VERSION", &version]);
        }
        let shown = door.ask("GET /v0/entity?id=x&replicas=3/3", &[], "");
        assert_eq!(shown.status, 200);
        shown.header("ETag").to_owned()
    });
    assert!(tags[0] != tags[1] && tags.iter().all(|tag| tag.contains(&version)), "{tags:?}");
}

/// The third node was away for two days, and its value has lost to another write of the same version.
#[test]
fn a_node_that_is_brought_up_to_date_gets_the_value_that_stands() {
    let nodes = keeping(3);
    drop(Door::open(&nodes));
    let version = (now_ms() << 19).to_string();
    for (node, value) in nodes.iter().zip(["b", "b", "a"]) {
        node.ask(&["ENTITY.PUT", "x", value, "VERSION", &version]);
    }
    let then = (now_ms() - 2 * 86_400_000).to_string();
    nodes[2].ask(&["SET", "scurry:entities:whole", &then]);
    let _door = Door::open(&nodes);
    assert_eq!(value_at(&nodes[2], "x"), redis::Value::BulkString(b"b".to_vec()));
}

/// Both doors have the default number.
#[test]
fn doors_with_one_number_never_disagree() {
    let nodes = keeping(3);
    let doors = [Door::open(&nodes), Door::open(&nodes)];
    for number in 0..300 {
        let path = format!("/v0/entity?id={number}");
        let put = |door: usize| {
            let request = format!("PUT {path}");
            let reply = doors[door].ask(&request, &[], &format!("door {door}"));
            assert_eq!(reply.status, 201);
            reply.header("ETag").to_owned()
        };
        let tags = thread::scope(|scope| {
            let other = scope.spawn(|| put(1));
            [put(0), other.join().expect("no panic")]
        });
        assert_ne!(tags[0], tags[1], "two values of entity {number} have one tag");
        let all = format!("{path}&replicas=3/3");
        let [one, other] =
            [0, 1].map(|door: usize| doors[door].ask(&format!("GET {all}"), &[], ""));
        assert_eq!(one.header("ETag"), other.header("ETag"), "entity {number}");
        assert!(tags.iter().any(|tag| tag == one.header("ETag")), "entity {number}");
        let values: Vec<redis::Value> =
            nodes.iter().map(|node| value_at(node, &number.to_string())).collect();
        assert!(values.iter().all(|value| *value == values[0]), "entity {number}: {values:?}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the servers of this test use the same clock")]
fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis()
}
