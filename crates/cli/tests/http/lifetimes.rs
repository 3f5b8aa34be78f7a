//! What ends: entities that expire, and deletions that are forgotten.

use crate::node::{Node, keeping};
use crate::support::Door;
use std::time::{SystemTime, UNIX_EPOCH};

const ID: &str = "/v0/entity?id=x";
/// Longer than nodes remember deletions here, ms: two days.
const LONG_MS: u128 = 2 * 86_400_000;

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

/// The third node is as one that was away for two days: it has what it had then, its mark is of then,
/// and the others have forgotten that one of its entities was deleted since.
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
