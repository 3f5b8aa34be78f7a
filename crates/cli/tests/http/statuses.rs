//! The status of each request.

use crate::node::keeping;
use crate::support::Door;

#[test]
fn an_entity_is_put_read_and_deleted() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    let path = "/v0/entity?id=user:7";
    assert_eq!(door.get(path).0, 404);
    assert_eq!(door.put(path, b"blue").0, 201);
    assert_eq!(door.get(path), (200, b"blue".to_vec()));
    assert_eq!(door.put(path, b"").0, 201);
    assert_eq!(door.get(path), (200, vec![]));
    assert_eq!(door.delete(path).0, 202);
    assert_eq!(door.get(path).0, 404);
    // Deleting a missing entity is not an error: the deletion is remembered all the same.
    assert_eq!(door.delete("/v0/entity?id=nobody").0, 202);
    assert_eq!(door.put(path, b"green").0, 201);
    assert_eq!(door.get("/v0/entity?id=user:7&replicas=3/3"), (200, b"green".to_vec()));
}

#[test]
fn ids_and_values_are_any_bytes() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    let value: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(door.put("/v0/entity?id=%00%ff%26+x", &value).0, 201);
    assert_eq!(door.get("/v0/entity?id=%00%FF%26%20x"), (200, value));
}

#[test]
fn nonsense_is_refused_and_changes_nothing() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(door.put("/v0/entity?id=a", b"1").0, 201);
    let long = format!("/v0/entity?id={}", "a".repeat(16_385));
    for path in [
        "/v0/entity",
        "/v0/entity?",
        "/v0/entity?id=",
        "/v0/entity?id",
        "/v0/entity?replicas=2/3",
        "/v0/entity?id=a&replicas=0/3",
        "/v0/entity?id=a&replicas=4/3",
        "/v0/entity?id=a&replicas=2/4",
        "/v0/entity?id=a&replicas=x",
        "/v0/entity?id=a&replicas=",
        "/v0/entity?id=a&replica=2/3",
        "/v0/entity?id=a&id=b",
        &long,
    ] {
        for (status, body) in [door.get(path), door.put(path, b"2"), door.delete(path)] {
            let body = String::from_utf8(body).expect("text");
            assert_eq!(status, 400, "{path}: {body}");
            assert!(body.contains(r#""status":400"#) && body.contains("detail"), "{body}");
        }
    }
    for ttl in ["0", "-1", "x", "1.5", "99999999999999999999"] {
        assert_eq!(door.put_for("/v0/entity?id=a", b"2", ttl).0, 400, "{ttl}");
    }
    assert_eq!(door.get("/v0/entity?id=a"), (200, b"1".to_vec()));
    assert_eq!(door.get("/v0/entitys?id=a").0, 404);
    assert_eq!(door.put("/v0/status", b"").0, 405);
}

#[test]
fn the_status_says_who_counts() {
    let mut nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(door.get("/healthz").0, 200);
    assert_eq!(door.get("/readyz").0, 200);
    nodes[1].kill();
    door.wait_until_ready(2);
    let (status, body) = door.get("/v0/status");
    let body = String::from_utf8(body).expect("text");
    assert_eq!(status, 200);
    assert!(body.contains(r#""ready":true"#) && body.contains(r#""state":"away""#), "{body}");
    nodes[2].kill();
    door.wait_until_ready(1);
    assert_eq!(door.get("/readyz").0, 503);
    assert_eq!(door.get("/healthz").0, 200);
}
