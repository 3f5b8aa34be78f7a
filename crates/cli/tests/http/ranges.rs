//! Entities in a range of ids: their content and order, and the effects of stopped and outdated nodes.

use crate::node::{Node, keeping, valkey};
use crate::support::Door;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Returns the entities of a range as they are sent, concatenated.
fn range(door: &Door, query: &str) -> String {
    let (status, body) = door.get(&format!("/v0/entities?{query}"));
    let body = String::from_utf8(body).expect("text");
    assert_eq!(status, 200, "{query}: {body}");
    body
}

fn put(door: &Door, id: &str, value: &str) {
    let path = format!("/v0/entity?id={id}&replicas=3/3");
    assert_eq!(door.put(&path, value.as_bytes()).0, 201);
}

fn ask_for_ranges(nodes: &[Node]) {
    let door = Door::open(nodes);
    assert_eq!(range(&door, "start=a"), "");
    for (id, value) in
        [("b", "2"), ("a", "1"), ("a*b", "star"), ("d", "4"), ("c", "3"), ("%00", "")]
    {
        put(&door, id, value);
    }
    assert_eq!(range(&door, "start="), "%00\na\n1a*b\nstarb\n2c\n3d\n4");
    assert_eq!(range(&door, "start=b"), "b\n2c\n3d\n4");
    assert_eq!(range(&door, "start=b&end=d"), "b\n2c\n3");
    assert_eq!(range(&door, "end=b"), "%00\na\n1a*b\nstar");
    assert_eq!(range(&door, "start=a*&end=a*z"), "a*b\nstar");
    assert_eq!(range(&door, "start=d&end=b"), "");
    assert_eq!(range(&door, "start=a&limit=2"), "a\n1a*b\nstar");
    assert_eq!(range(&door, "start=a&limit=2&after=a*b"), "b\n2c\n3");
    // Deleted and changed entities, and keys that are no entities, are left out or updated.
    assert_eq!(door.delete("/v0/entity?id=b&replicas=3/3").0, 202);
    put(&door, "c", "new");
    nodes[0].ask(&["SET", "bb", "a plain value"]);
    assert_eq!(range(&door, "start=b&replicas=2/3&limit=2"), "c\nnewd\n4");
}

#[test]
fn a_range_has_its_entities_in_the_order_of_their_ids() {
    ask_for_ranges(&keeping(3));
}

#[test]
fn nodes_of_valkey_have_ranges_too() {
    ask_for_ranges(&valkey(3));
}

#[test]
fn each_entity_is_a_chunk() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    put(&door, "a", "x\ny");
    put(&door, "b", "z");
    let mut stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
    let request =
        "GET /v0/entities?start=a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    assert_eq!(body, "5\r\na\nx\ny\r\n3\r\nb\nz\r\n0\r\n\r\n");
}

/// More than a page of ids and more than one step of a node.
#[test]
fn a_long_range_is_whole() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let count = 4_500;
    for number in 0..count {
        // As a door would have written it.
        nodes[0].ask(&["ENTITY.PUT", &format!("id{number:05}"), "v", "VERSION", "7"]);
    }
    let expected = |range: std::ops::Range<usize>| -> String {
        range.map(|number| format!("id{number:05}\nv")).collect()
    };
    assert!(range(&door, "start=id") == expected(0..count), "something is missing or twice");
    assert!(range(&door, "start=id00100&limit=4200") == expected(100..4_300));
}

#[test]
fn what_a_node_has_missed_is_in_the_range_and_what_it_has_kept_is_not() {
    let mut nodes = keeping(3);
    let door = Door::open_impatient(&nodes);
    put(&door, "changed", "old");
    put(&door, "deleted", "old");
    nodes[2].kill();
    door.wait_until_ready(2);
    assert_eq!(door.put("/v0/entity?id=changed", b"new").0, 201);
    assert_eq!(door.delete("/v0/entity?id=deleted").0, 202);
    assert_eq!(door.put("/v0/entity?id=new", b"new").0, 201);
    nodes[2].start_again();
    door.wait_until_ready(3);
    nodes[0].kill();
    door.wait_until_ready(2);
    assert_eq!(range(&door, "start=a"), "changed\nnewnew\nnew");
    nodes[1].kill();
    door.wait_until_ready(1);
    assert_eq!(door.get("/v0/entities?start=a").0, 504);
}

#[test]
fn nonsense_is_refused() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let long = format!("start={}", "a".repeat(16_385));
    for query in ["start=a&value=b", "start=a&start=b", "start=a&limit=0", "end=a&limit=x", &long] {
        assert_eq!(door.get(&format!("/v0/entities?{query}")).0, 400, "{query}");
    }
}
