//! Nodes that are Valkey with the module: the same promises, alone and together with `scurry serve`.

use crate::node::{Node, forgetting_valkey, keeping, valkey};
use crate::support::Door;

const ID: &str = "/v0/entity?id=x";

/// Runs a test on three nodes: Valkey alone, and both kinds mixed.
fn each_kind(test: impl Fn(Vec<Node>)) {
    test(valkey(3));
    test(valkey(2).into_iter().chain(keeping(1)).collect());
    test(valkey(1).into_iter().chain(keeping(2)).collect());
}

#[test]
fn an_entity_is_put_read_and_deleted() {
    each_kind(|nodes| {
        let door = Door::open(&nodes);
        assert_eq!(door.get(ID).0, 404);
        let value: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", &value).0, 201);
        assert_eq!(door.get("/v0/entity?id=x&replicas=3/3"), (200, value));
        assert_eq!(door.delete("/v0/entity?id=x&replicas=3/3").0, 202);
        assert_eq!(door.get(ID).0, 404);
        assert!(nodes.iter().all(|node| node.has("x")), "the deletion is known everywhere");
        assert_eq!(door.put(ID, b"again").0, 201);
        assert_eq!(door.get(ID), (200, b"again".to_vec()));
        assert_eq!(door.put_for(ID, b"brief", "1").0, 201);
        door.wait_until_gone(ID);
        let status = String::from_utf8(door.get("/v0/status").1).expect("text");
        assert!(status.contains(r#""ready":true"#), "{status}");
    });
}

#[test]
fn a_node_that_was_stopped_learns_what_it_has_missed() {
    each_kind(|mut nodes| {
        let door = Door::open_impatient(&nodes);
        for id in ["changed", "deleted"] {
            let path = format!("/v0/entity?id={id}&replicas=3/3");
            assert_eq!(door.put(&path, b"old").0, 201);
        }
        nodes[0].kill();
        door.wait_until_ready(2);
        assert_eq!(door.put("/v0/entity?id=changed&replicas=3/3", b"new").0, 504);
        assert_eq!(door.put("/v0/entity?id=changed", b"new").0, 201);
        assert_eq!(door.delete("/v0/entity?id=deleted").0, 202);
        nodes[0].start_again();
        door.wait_until_ready(3);
        nodes[2].kill();
        door.wait_until_ready(2);
        // The first node has old copies, and the second has the newer values.
        assert_eq!(door.get("/v0/entity?id=changed"), (200, b"new".to_vec()));
        assert_eq!(door.get("/v0/entity?id=deleted").0, 404);
        let told = nodes[0].ask(&["ENTITY.GET", "changed"]);
        assert_eq!(told, redis::Value::BulkString(b"new".to_vec()));
        nodes[1].kill();
        door.wait_until_ready(1);
        assert_eq!(door.get("/v0/entity?id=changed").0, 504);
    });
}

#[test]
fn an_emptied_node_is_brought_up_to_date() {
    let mut nodes: Vec<Node> = forgetting_valkey(2).into_iter().chain(keeping(1)).collect();
    let door = Door::open(&nodes);
    for id in 0..200 {
        let path = format!("/v0/entity?id={id}&replicas=3/3");
        assert_eq!(door.put(&path, format!("value {id}").as_bytes()).0, 201);
    }
    assert_eq!(door.delete("/v0/entity?id=7&replicas=3/3").0, 202);
    // It has lost everything, including its mark.
    nodes[0].kill();
    door.wait_until_ready(2);
    nodes[0].start_again();
    door.wait_until_ready(3);
    assert!(nodes[0].has("7"), "the deletion is not known");
    nodes[2].kill();
    door.wait_until_ready(2);
    for id in 0..200 {
        let expected = if id == 7 { None } else { Some(format!("value {id}").into_bytes()) };
        let (status, body) = door.get(&format!("/v0/entity?id={id}"));
        assert_eq!((status == 200).then_some(body), expected, "{id}");
    }
}

/// The state that two doors with the same number leave.
#[test]
fn of_two_values_with_one_version_one_stands_everywhere() {
    each_kind(|nodes| {
        let door = Door::open(&nodes);
        let version = "1000000000";
        for (node, value) in nodes.iter().zip(["b", "a", "b"]) {
            node.ask(&["ENTITY.PUT", "x", value, "VERSION", version]);
        }
        for (node, value) in nodes.iter().zip(["a", "b", "a"]) {
            node.ask(&["ENTITY.PUT", "x", value, "VERSION", version]);
            node.ask(&["ENTITY.DEL", "x", "VERSION", version]);
        }
        let greater = redis::Value::BulkString(b"b".to_vec());
        assert!(nodes.iter().all(|node| node.ask(&["ENTITY.GET", "x"]) == greater));
        assert_eq!(door.get("/v0/entity?id=x&replicas=3/3"), (200, b"b".to_vec()));
    });
}
