//! Conditions on entity tags: a read is judged by what it has read, a write under one is refused.

use crate::node::keeping;
use crate::support::Door;

const ID: &str = "/v0/entity?id=x";

#[test]
fn a_read_is_answered_with_the_value_only_where_its_conditions_hold() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    let get = format!("GET {ID}");
    // There is nothing to judge.
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
    // A later version is another one.
    assert_eq!(door.put(ID, b"2").0, 201);
    assert_eq!(door.ask(&get, &[("If-None-Match", tag)], "").status, 200);
    assert_eq!(door.ask(&get, &[("If-Match", tag)], "").status, 412);
}

#[test]
fn a_write_under_a_condition_is_refused_and_writes_nothing() {
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    for (header, value) in [("If-Match", "*"), ("If-Match", "\"1\""), ("If-None-Match", "*")] {
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
