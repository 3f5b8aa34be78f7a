//! How many nodes keep an entity, and which.

use crate::node::{Node, forgetting};
use crate::support::Door;

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
            // Every copy is there when the answer is.
            let path = format!("/v0/entity?id={id}&replicas={from}/{from}");
            assert_eq!(door.put(&path, b"x").0, 201);
            assert_eq!(holders(&nodes, &id).len(), from, "{id}");
            // The nodes of one id, for more and more copies.
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
