//! Nodes that stop, restart, hang, send garbage, or have wrong clocks.

use crate::node::{Node, forgetting, free_port, keeping};
use crate::support::{Answer, Door, IMPATIENCE_MS};
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

const ID: &str = "/v0/entity?id=x";

#[test]
fn a_majority_is_enough_and_less_is_not() {
    for count in 2..=5 {
        let mut nodes = keeping(count);
        let door = Door::open_impatient(&nodes);
        assert_eq!(door.put(ID, b"1").0, 201);
        let may_stop = count - (count / 2 + 1);
        for (node, stopped) in nodes.iter_mut().zip(1..) {
            node.kill();
            let (expected, expected_read) =
                if stopped <= may_stop { (201, 200) } else { (504, 504) };
            assert_eq!(door.put(ID, b"2").0, expected, "{stopped} of {count} stopped");
            let (status, body) = door.get(ID);
            assert_eq!(status, expected_read, "{stopped} of {count} stopped");
            if status == 504 {
                let body = String::from_utf8(body).expect("text");
                assert!(body.contains("Not Enough Replicas"), "{body}");
                break;
            }
        }
    }
}

#[test]
fn who_missed_a_write_is_told_by_the_next_reader() {
    let mut nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"old").0, 201);
    assert_eq!(door.put("/v0/entity?id=y&replicas=3/3", b"old").0, 201);
    nodes[2].kill();
    door.wait_until_ready(2);
    assert_eq!(door.put(ID, b"new").0, 201);
    assert_eq!(door.delete("/v0/entity?id=y").0, 202);
    nodes[2].start_again();
    door.wait_until_ready(3);
    nodes[0].kill();
    door.wait_until_ready(2);
    // One of the two nodes has the newer value, and the read gives it to the other.
    assert_eq!(door.get(ID), (200, b"new".to_vec()));
    assert_eq!(door.get("/v0/entity?id=y").0, 404);
    assert_eq!(nodes[2].ask(&["ENTITY.GET", "x"]), redis::Value::BulkString(b"new".to_vec()));
    assert_eq!(nodes[2].ask(&["ENTITY.GET", "y"]), redis::Value::Nil);
    assert!(nodes[2].has("y"), "the deletion is not known");
}

#[test]
fn an_emptied_node_counts_when_it_has_what_others_know() {
    let mut nodes = forgetting(3);
    let door = Door::open_impatient(&nodes);
    for id in 0..500 {
        // Some entities are on two nodes only.
        let path = format!("/v0/entity?id={id}&replicas=2/{}", 2 + id % 2);
        assert_eq!(door.put(&path, format!("value {id}").as_bytes()).0, 201);
    }
    nodes[1].kill();
    door.wait_until_ready(2);
    nodes[2].kill();
    nodes[1].start_again();
    // The emptied node may have been part of quorums with the node that is away now, so it must not count.
    thread::sleep(std::time::Duration::from_secs(2)); // tidy: allow (nothing must happen)
    let (_, status) = door.get("/v0/status");
    let status = String::from_utf8(status).expect("text");
    assert!(status.contains("not ready"), "{status}");
    assert_eq!(door.get(ID).0, 504);
}

#[test]
fn an_emptied_node_is_brought_up_to_date() {
    let mut nodes = forgetting(3);
    let door = Door::open(&nodes);
    for id in 0..500 {
        let path = format!("/v0/entity?id={id}");
        assert_eq!(door.put(&path, format!("value {id}").as_bytes()).0, 201);
    }
    for emptied in &mut nodes {
        emptied.kill();
        door.wait_until_ready(2);
        emptied.start_again();
        door.wait_until_ready(3);
    }
    // No reader has repaired the node so far.
    nodes[0].kill();
    door.wait_until_ready(2);
    for id in 0..500 {
        let path = format!("/v0/entity?id={id}");
        assert_eq!(door.get(&path), (200, format!("value {id}").into_bytes()));
    }
}

#[test]
fn a_node_that_hangs_is_not_waited_for() {
    let nodes = keeping(3);
    let addresses: Vec<String> = nodes.iter().map(Node::address).collect();
    let door = Door::before(&addresses, &["--patience-ms", IMPATIENCE_MS]);
    door.wait_until_ready(3);
    nodes[0].pause();
    for turn in 0..50 {
        let value = turn.to_string().into_bytes();
        assert_eq!(door.put(ID, &value).0, 201);
        assert_eq!(door.get(ID), (200, value));
    }
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"x").0, 504);
    nodes[0].go_on();
    door.wait_until_ready(3);
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"last").0, 201);
    assert_eq!(door.get(ID), (200, b"last".to_vec()));
}

/// Returns the detail of a 504.
fn missed((status, body): Answer) -> String {
    let body = String::from_utf8(body).expect("text");
    assert_eq!(status, 504, "{body}");
    body
}

#[test]
fn a_504_counts_the_nodes_that_have_answered() {
    let nodes = keeping(3);
    let door = Door::open_impatient(&nodes);
    let path = "/v0/entity?id=x&replicas=3/3";
    assert_eq!(door.put(path, b"old").0, 201);
    nodes[2].pause();
    // All at once, because a door stops waiting for a node that has been missed for long.
    let (read, written, deleted) = thread::scope(|scope| {
        let written = scope.spawn(|| missed(door.put(path, b"new")));
        let deleted = scope.spawn(|| missed(door.delete(path)));
        let read = missed(door.get(path));
        (read, written.join().expect("an answer"), deleted.join().expect("an answer"))
    });
    for said in [&read, &written, &deleted] {
        assert!(said.contains("2 of the 3 nodes that keep this id answered"), "{said}");
    }
    // The nodes had only been asked for their versions, so nothing was written.
    assert!(!read.contains("written") && !read.contains("may "), "{read}");
    for said in [&written, &deleted] {
        assert!(said.contains("nothing was written"), "{said}");
    }
    assert_eq!(door.get(ID), (200, b"old".to_vec()));
}

#[test]
fn a_504_says_what_may_have_been_written() {
    let mut nodes = keeping(3);
    let door = Door::open_impatient(&nodes);
    let path = "/v0/entity?id=x&replicas=3/3";
    assert_eq!(door.put(path, b"old").0, 201);
    nodes[2].kill();
    door.wait_until_ready(2);
    // The first request waits for the node and the next ones do not, because it has been missed for too long by then.
    for _ in 0..20 {
        let said = missed(door.get(path));
        assert!(!said.contains("written") && !said.contains("may "), "{said}");
        let said = missed(door.put(path, b"new"));
        assert!(said.contains("nothing was written") && !said.contains("may "), "{said}");
    }
    assert_eq!(door.get(ID), (200, b"old".to_vec()));
}

#[test]
fn a_node_that_answers_garbage_does_not_count() {
    let nodes = keeping(2);
    let liar = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut addresses: Vec<String> = nodes.iter().map(Node::address).collect();
    addresses.push(liar.local_addr().expect("an address").to_string());
    thread::spawn(move || {
        for stream in liar.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.write_all(b"+OK\r\n$3\r\nabc\r\n*2\r\n:1\r\n:7\r\n!!\r\n");
        }
    });
    // New nodes must all answer once, so the third one is real at first.
    let mut third = keeping(1);
    let mut real = addresses.clone();
    real[2] = third[0].address();
    let forming = Door::before(&real, &[]);
    forming.wait_until_ready(3);
    third[0].kill();
    let door = Door::before(&addresses, &["--number", "1", "--patience-ms", IMPATIENCE_MS]);
    door.wait_until_ready(2);
    assert_eq!(door.put(ID, b"1").0, 201);
    assert_eq!(door.get(ID), (200, b"1".to_vec()));
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"2").0, 504);
}

#[test]
fn a_write_wins_over_what_a_faster_clock_wrote() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(door.put(ID, b"1").0, 201);
    // Written as by a door with a clock that is two seconds ahead.
    let now = now_ms();
    let ahead = ((now + 2_000) << 19).to_string();
    for node in &nodes[..2] {
        node.ask(&["ENTITY.PUT", "x", "ahead", "VERSION", &ahead]);
    }
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"2").0, 201);
    assert_eq!(door.get("/v0/entity?id=x&replicas=3/3"), (200, b"2".to_vec()));
    let ahead = ((now + 3_000) << 19).to_string();
    nodes[0].ask(&["ENTITY.PUT", "x", "ahead", "VERSION", &ahead]);
    assert_eq!(door.delete("/v0/entity?id=x&replicas=3/3").0, 202);
    assert_eq!(door.get("/v0/entity?id=x&replicas=3/3").0, 404);
}

#[expect(clippy::disallowed_methods, reason = "the servers of this test use the same clock")]
fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis()
}

#[test]
fn new_nodes_wait_for_each_other() {
    let nodes = keeping(2);
    let mut addresses: Vec<String> = nodes.iter().map(Node::address).collect();
    addresses.push(format!("127.0.0.1:{}", free_port()));
    let door = Door::before(&addresses, &["--patience-ms", IMPATIENCE_MS]);
    thread::sleep(std::time::Duration::from_secs(2)); // tidy: allow (nothing must happen)
    assert_eq!(door.put(ID, b"1").0, 504);
    assert_eq!(door.get("/readyz").0, 503);
}

#[test]
fn a_deletion_goes_to_an_emptied_node_like_a_value() {
    let mut nodes = forgetting(3);
    let door = Door::open(&nodes);
    assert_eq!(door.put("/v0/entity?id=x&replicas=3/3", b"1").0, 201);
    assert_eq!(door.delete("/v0/entity?id=x&replicas=3/3").0, 202);
    nodes[1].kill();
    door.wait_until_ready(2);
    nodes[1].start_again();
    door.wait_until_ready(3);
    assert!(nodes[1].has("x"), "the deletion is not known");
}
