//! One entity: the nodes that keep it, conditions on its tag (for a read they are checked against the value, a write is
//! refused), and expiry of entities and of remembered deletions.

use crate::node::{Node, forgetting, keeping};
use crate::support::Door;
use std::time::{SystemTime, UNIX_EPOCH};

const ID: &str = "/v0/entity?id=x";
/// Longer than nodes remember deletions here, ms: two days.
const LONG_MS: u128 = 2 * 86_400_000;

fn holders(nodes: &[Node], id: &str) -> Vec<usize> {
    (0..nodes.len()).filter(|&node| nodes[node].has(id)).collect()
}

#[test]
fn no_more_nodes_than_asked_for_keep_it_and_fewer_are_among_more() {
    let nodes = forgetting(5);
    let door = Door::open(&nodes);
    for name in ["a", "b", "c", "d"] {
        let mut fewer: Vec<usize> = vec![];
        for from in 1..=5 {
            let id = format!("{name}{from}");
            // The answer is sent after every copy is written.
            let path = format!("/v0/entity?id={id}&replicas={from}/{from}");
            assert_eq!(door.put(&path, b"x").0, 201);
            assert_eq!(holders(&nodes, &id).len(), from, "{id}");
            // The nodes of one id, for an increasing number of copies.
            let path = format!("/v0/entity?id={name}&replicas={from}/{from}");
            assert_eq!(door.put(&path, b"x").0, 201);
            let more = holders(&nodes, name);
            assert_eq!(more.len(), from, "{name}");
            assert!(fewer.iter().all(|node| more.contains(node)), "{fewer:?} {more:?}");
            fewer = more;
        }
    }
}

#[test]
fn two_doors_agree_however_the_nodes_are_named() {
    let nodes = forgetting(4);
    let door = Door::open(&nodes);
    let turned: Vec<String> = nodes.iter().rev().map(Node::address).collect();
    let other = Door::before(&turned, &["--number", "1"]);
    other.wait_until_ready(4);
    for id in 0..20 {
        let path = format!("/v0/entity?id={id}&replicas=1/1");
        assert_eq!(door.put(&path, b"1").0, 201);
        assert_eq!(other.get(&path), (200, b"1".to_vec()));
        assert_eq!(other.put(&path, b"2").0, 201);
        assert_eq!(door.get(&path), (200, b"2".to_vec()));
    }
}

#[test]
fn a_read_is_answered_with_the_value_only_where_its_conditions_hold() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let get = format!("GET {ID}");
    // No entity, so no tag to compare.
    assert_eq!(door.ask(&get, &[("If-None-Match", "*")], "").status, 404);
    assert_eq!(door.put(ID, b"1").0, 201);
    let first = door.ask(&get, &[], "");
    let tag = first.header("ETag");
    assert!(first.status == 200 && tag.len() > 2, "{tag}");
    for (name, value, status) in [
        ("If-None-Match", tag, 304),
        ("If-None-Match", &format!("W/{tag}"), 304),
        ("If-None-Match", &format!("\"no\", {tag}"), 304),
        ("If-None-Match", "*", 304),
        ("If-None-Match", "\"no\"", 200),
        ("If-None-Match", "no", 400),
        ("If-Match", tag, 200),
        ("If-Match", "*", 200),
        ("If-Match", "\"no\"", 412),
        ("If-Match", &format!("W/{tag}"), 412),
    ] {
        let reply = door.ask(&get, &[(name, value)], "");
        assert_eq!(reply.status, status, "{name}: {value}");
        if status == 304 {
            assert_eq!(reply.header("ETag"), tag);
        }
    }
    // A later version has another tag.
    assert_eq!(door.put(ID, b"2").0, 201);
    assert_eq!(door.ask(&get, &[("If-None-Match", tag)], "").status, 200);
    assert_eq!(door.ask(&get, &[("If-Match", tag)], "").status, 412);
}

#[test]
fn a_write_under_a_condition_is_refused_and_writes_nothing() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    for (header, value) in [
        ("If-Match", "*"),
        ("If-Match", "\"1\""),
        ("If-None-Match", "*"),
        ("If-Unmodified-Since", "Sat, 01 Jan 2000 00:00:00 GMT"),
    ] {
        for method in ["PUT", "DELETE"] {
            let reply = door.ask(&format!("{method} {ID}"), &[(header, value)], "");
            assert_eq!(reply.status, 501, "{method} {header}: {}", reply.body);
            let why = reply.body["detail"].as_str().expect("text");
            assert!(why.contains("nothing was written"), "{why}");
        }
        assert_eq!(door.get(ID).0, 404);
        assert!(!nodes[0].has("x"), "a deletion was written");
    }
}

#[test]
fn what_has_expired_is_gone_and_hides_what_was_before() {
    let mut nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"old").0, 201);
    nodes[2].kill();
    door.wait_until_ready(2);
    assert_eq!(door.put_for(ID, b"new", "60000").0, 201);
    let lives = door.ask("GET /v0/entity?id=x", &[], "");
    assert_eq!(lives.status, 200);
    let left: u64 = lives.header("Entity-TTL-Ms").parse().expect("a number");
    assert!((1..=60_000).contains(&left), "{left} ms are left");
    assert_eq!(door.put_for(ID, b"brief", "1").0, 201);
    door.wait_until_gone(ID);
    nodes[2].start_again();
    door.wait_until_ready(3);
    nodes[0].kill();
    door.wait_until_ready(2);
    assert_eq!(door.get(ID).0, 404);
    assert_eq!(door.put(ID, b"again").0, 201);
    assert_eq!(door.get(ID), (200, b"again".to_vec()));
}

/// The third node was away for two days: it has its old entities and its old mark, and the others have forgotten the
/// tombstone of an entity that was deleted since.
#[test]
fn a_node_that_was_away_too_long_brings_nothing_back() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(door.put("/v0/entity?id=y&replicas=3/3", b"1").0, 201);
    drop(door);
    let then = now_ms() - LONG_MS;
    let version = (then << 19).to_string();
    nodes[2].ask(&["ENTITY.PUT", "x", "deleted since", "VERSION", &version]);
    nodes[2].ask(&["SET", "scurry:entities:whole", &then.to_string()]);
    let door = Door::open(&nodes);
    assert_eq!(door.get("/v0/entity?id=x&replicas=3/3").0, 404);
    assert!(nodes.iter().all(|node: &Node| !node.has("x")), "what was deleted is back");
    assert_eq!(door.get("/v0/entity?id=y&replicas=3/3"), (200, b"1".to_vec()));
}

#[expect(clippy::disallowed_methods, reason = "the servers of this test use the same clock")]
fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis()
}
