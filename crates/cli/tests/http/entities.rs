//! Entities by value: the content of a page, and the effects of stopped, outdated and foreign nodes.

use crate::node::{Node, indexed, keeping, valkey};
use crate::support::{Door, Reply};
use serde_json::{Value, json};

const BLUE: &str = "GET /v0/entities?value=blue";

fn find(door: &Door, request: &str) -> Reply {
    door.ask(request, &[], "")
}

/// Returns the ids of the first page.
fn ids(door: &Door, request: &str) -> Value {
    let reply = find(door, request);
    assert_eq!(reply.status, 200, "{request}: {}", reply.body);
    reply.body["ids"].clone()
}

#[test]
fn entities_are_listed_by_value_in_the_order_of_their_ids() {
    let nodes = indexed(3);
    let door = Door::open(&nodes);
    assert_eq!(find(&door, BLUE).body, json!({"ids": []}));
    for id in ["user:7", "b", "%00%ff%26+x", "a/b", "caf%C3%A9"] {
        assert_eq!(door.put(&format!("/v0/entity?id={id}&replicas=3/3"), b"blue").0, 201);
    }
    assert_eq!(door.put("/v0/entity?id=other", b"blue2").0, 201);
    assert_eq!(door.put("/v0/entity?id=empty", b"").0, 201);
    assert_eq!(door.put("/v0/entity?id=bytes", b"\0\xff +").0, 201);
    let all = json!(["%00%FF%26%20x", "a/b", "b", "caf%C3%A9", "user:7"]);
    assert_eq!(find(&door, BLUE).body, json!({"ids": all}));
    // Each id can be used in a request to the door.
    for id in all.as_array().expect("a list") {
        let id = id.as_str().expect("text");
        assert_eq!(door.get(&format!("/v0/entity?id={id}")), (200, b"blue".to_vec()));
    }
    assert_eq!(ids(&door, "GET /v0/entities?value="), json!(["empty"]));
    assert_eq!(ids(&door, "GET /v0/entities?value=%00%ff+%2b"), json!(["bytes"]));
    // Values that the entities no longer have.
    assert_eq!(door.put("/v0/entity?id=b", b"green").0, 201);
    assert_eq!(door.delete("/v0/entity?id=a/b").0, 202);
    assert_eq!(door.put_for("/v0/entity?id=user:7", b"blue", "1").0, 201);
    door.wait_until_gone("/v0/entity?id=user:7");
    assert_eq!(ids(&door, BLUE), json!(["%00%FF%26%20x", "caf%C3%A9"]));
    assert_eq!(ids(&door, "GET /v0/entities?value=green&replicas=3/3"), json!(["b"]));
}

#[test]
fn pages_follow_each_other_and_nothing_is_listed_twice_or_left_out() {
    let nodes = indexed(3);
    let door = Door::open(&nodes);
    let name = |number: usize| format!("id{number:03}");
    for number in 0..250 {
        // On two nodes each, not always the same two.
        let path = format!("/v0/entity?id={}&replicas=2/2", name(number));
        assert_eq!(door.put(&path, b"blue").0, 201);
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let request = format!("{BLUE}&replicas=2/2&limit=70&after={after}");
        let page = find(&door, &request).body;
        let listed = page["ids"].as_array().expect("a list");
        seen.extend(listed.iter().map(|id| id.as_str().expect("text").to_owned()));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
        assert_eq!(listed.len(), 70);
    }
    assert_eq!(seen, (0..250).map(name).collect::<Vec<String>>());
    assert_eq!(pages, 4);
    assert_eq!(ids(&door, &format!("{BLUE}&replicas=2/2")).as_array().map(Vec::len), Some(100));
    // Both a full page and the last one.
    let last = find(&door, &format!("{BLUE}&replicas=2/2&limit=5&after=id244")).body;
    assert_eq!(last["ids"].as_array().map(Vec::len), Some(5));
    assert!(last.get("next").is_none(), "{last}");
}

#[test]
fn what_a_node_has_missed_is_not_shown_and_not_lost() {
    let mut nodes = indexed(3);
    let door = Door::open_impatient(&nodes);
    for id in ["changed", "deleted", "kept"] {
        assert_eq!(door.put(&format!("/v0/entity?id={id}&replicas=3/3"), b"blue").0, 201);
    }
    nodes[2].kill();
    door.wait_until_ready(2);
    assert_eq!(door.put("/v0/entity?id=changed", b"green").0, 201);
    assert_eq!(door.delete("/v0/entity?id=deleted").0, 202);
    assert_eq!(door.put("/v0/entity?id=new", b"blue").0, 201);
    nodes[2].start_again();
    door.wait_until_ready(3);
    nodes[0].kill();
    door.wait_until_ready(2);
    // One of the two nodes missed the changes, and its index has the old values.
    assert_eq!(ids(&door, BLUE), json!(["kept", "new"]));
    assert_eq!(ids(&door, "GET /v0/entities?value=green"), json!(["changed"]));
    // The door wrote the entity to a quorum before it listed it.
    assert!(nodes[2].has("new"), "a quorum has what was listed");
    nodes[1].kill();
    door.wait_until_ready(1);
    let refused = find(&door, BLUE);
    assert_eq!(refused.status, 504, "{}", refused.body);
    assert_eq!(refused.body["title"], "Not Enough Replicas");
    assert_eq!(find(&door, "GET /v0/entities?value=blue&replicas=1/3").status, 200);
}

/// At least one of the two nodes of an id must be among those that answer.
#[test]
fn with_fewer_copies_than_nodes_more_nodes_must_answer() {
    let mut nodes = indexed(3);
    let door = Door::open_impatient(&nodes);
    let wanted: Vec<String> = (0..20).map(|number| format!("id{number:02}")).collect();
    for id in &wanted {
        assert_eq!(door.put(&format!("/v0/entity?id={id}&replicas=2/2"), b"blue").0, 201);
    }
    assert_eq!(ids(&door, &format!("{BLUE}&replicas=2/2")), json!(wanted));
    nodes[1].kill();
    door.wait_until_ready(2);
    assert_eq!(find(&door, &format!("{BLUE}&replicas=2/2")).status, 504);
    assert_eq!(ids(&door, &format!("{BLUE}&replicas=1/2")), json!(wanted));
}

#[test]
fn nonsense_is_refused() {
    let nodes = indexed(1);
    let door = Door::open(&nodes);
    let long = format!("value=a&after={}", "a".repeat(16_385));
    for query in [
        "",
        "limit=1",
        "id=a",
        "value=a&value=b",
        "value=a&limit=0",
        "value=a&limit=1001",
        "value=a&limit=",
        "value=a&limit=x",
        "value=a&replicas=0/1",
        "value=a&replicas=2/1",
        "value=a&replicas=x",
        "value=a&until=b",
        &long,
    ] {
        let reply = find(&door, &format!("GET /v0/entities?{query}"));
        assert_eq!(reply.status, 400, "{query}: {}", reply.body);
        assert_eq!(reply.header("Content-Type"), "application/problem+json");
        assert!(reply.body["detail"].is_string(), "{}", reply.body);
    }
    assert_eq!(door.put("/v0/entities?value=a", b"x").0, 405);
}

fn together(some: Vec<Node>, others: Vec<Node>) -> Vec<Node> {
    some.into_iter().chain(others).collect()
}

#[test]
fn a_node_that_has_no_index_does_not_answer() {
    // Any one of three nodes may be missing, but not two.
    let mixed = [
        (together(indexed(2), keeping(1)), 200),
        (together(indexed(2), valkey(1)), 200),
        (together(indexed(1), keeping(2)), 501),
        (together(indexed(1), valkey(2)), 501),
    ];
    for (nodes, status) in mixed {
        let door = Door::open(&nodes);
        assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"blue").0, 201);
        let reply = find(&door, BLUE);
        assert_eq!(reply.status, status, "{}", reply.body);
        if status == 200 {
            assert_eq!(reply.body, json!({"ids": ["x"]}));
        } else {
            let why = reply.body["detail"].as_str().expect("text");
            assert!(why.contains(&nodes[1].address()) && why.contains("--entity-index"), "{why}");
        }
    }
}
