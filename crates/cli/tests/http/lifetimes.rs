//! What ends: entities that expire, and deletions that are forgotten.

use crate::support::{Door, Node, keeping, remembering};
use std::thread;
use std::time::Duration;

const ID: &str = "/v0/entity?id=x";
/// How long deletions are remembered in the last test, ms.
const REMEMBERED_MS: u32 = 3_000;

fn wait(ms: u64) {
    thread::sleep(Duration::from_millis(ms)); // tidy: allow (lifetimes are of real time)
}

#[test]
fn what_has_expired_is_gone_and_hides_what_was_before() {
    let mut nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"old").0, 201);
    nodes[2].kill();
    door.wait_until_ready(2);
    assert_eq!(door.put_for(ID, b"new", "700").0, 201);
    assert_eq!(door.get(ID), (200, b"new".to_vec()));
    wait(800);
    assert_eq!(door.get(ID).0, 404);
    nodes[2].start_again();
    door.wait_until_ready(3);
    nodes[0].kill();
    door.wait_until_ready(2);
    assert_eq!(door.get(ID).0, 404);
    assert_eq!(door.put(ID, b"again").0, 201);
    assert_eq!(door.get(ID), (200, b"again".to_vec()));
}

#[test]
fn a_node_that_was_away_too_long_brings_nothing_back() {
    let mut nodes = remembering(3, REMEMBERED_MS);
    let addresses: Vec<String> = nodes.iter().map(Node::address).collect();
    let lifetime = REMEMBERED_MS.to_string();
    let door = Door::before(&addresses, &["--entity-tombstone-ms", &lifetime]);
    door.wait_until_ready(3);
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"1").0, 201);
    assert_eq!(door.put("/v0/entity?id=y&replicas=3/3", b"1").0, 201);
    nodes[2].kill();
    door.wait_until_ready(2);
    assert_eq!(door.delete(ID).0, 202);
    wait(u64::from(REMEMBERED_MS) + 500);
    assert!(!nodes[0].has("x"), "the deletion is still remembered");
    nodes[2].start_again();
    door.wait_until_ready(3);
    assert_eq!(door.get("/v0/entity?id=x&replicas=3/3").0, 404);
    assert!(!nodes[2].has("x"), "what was deleted is back");
    assert_eq!(door.get("/v0/entity?id=y&replicas=3/3"), (200, b"1".to_vec()));
}
