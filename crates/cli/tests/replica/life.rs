//! One group from its start to its end.

use crate::said::scurry;
use crate::support::{Group, Line, ask, end, said};
use scurry_cluster_client::redis::Value;

fn of_role(nodes: &[Line], role: &str) -> Vec<Line> {
    nodes.iter().filter(|node| node.role == role).cloned().collect()
}

#[test]
fn a_group_loses_its_leader_and_keeps_what_it_has_acknowledged() {
    let group = Group::up(2);
    let status = group.wait_for(&["can lose a node: yes"]);
    let nodes = group.nodes();
    let (leaders, followers) = (of_role(&nodes, "leader"), of_role(&nodes, "follower"));
    assert_eq!((leaders.len(), followers.len()), (1, 2), "{status}");
    group.up_again().refused(&["holds a group that runs"]);

    let picture = scurry(&["top", "--once", "-p", &leaders[0].port.to_string()]).well();
    assert!(picture.contains("this is a leader   can lose a node: yes"), "{picture}");
    let count = |word: &str| picture.matches(&format!("   {word}   ")).count();
    assert_eq!((count("leads"), count("follows"), count("votes")), (1, 2, 3), "{picture}");

    every_port_leads_to_the_leader(&nodes, &leaders[0], &followers);
    every_node_tells_who_leads(&nodes, &leaders[0]);
    for (number, node) in nodes.iter().enumerate() {
        assert_eq!(said(node.port, &format!("SET k{number} v{number}")), "OK");
    }

    end(leaders[0].process);
    group.wait_for(&["leader", "can lose a node: no, no connection to node"]);
    let alive = followers[0].port;
    for number in 0..nodes.len() {
        assert_eq!(said(alive, &format!("GET k{number}")), format!("v{number}"));
    }
    assert_eq!(said(alive, "SET k0 w"), "OK");

    group.up_again().well();
    group.wait_for(&["can lose a node: yes"]);
    let ids = |nodes: &[Line]| nodes.iter().map(|node| node.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&group.nodes()), ids(&nodes), "the same nodes");

    // Finds the directories of the running nodes through that of the group.
    let same = scurry(&["replica", "verify", "--dir", group.path()]).well();
    assert_eq!(same.matches("3 nodes have the same").count(), 2, "{same}");
    let busy = std::fs::File::open(group.path()).expect("it is there");
    busy.lock().expect("nobody else has it");
    let words = "another command starts or stops nodes";
    scurry(&["replica", "up", "--dir", group.path(), "--threads", "2"]).refused(&[words]);
    group.down().refused(&[words]);
    drop(busy);

    group.down().well();
    let threads = scurry(&["replica", "up", "--dir", group.path(), "--threads", "3"]);
    threads.refused(&["a group of 3 nodes with 2 threads each"]);
    assert_eq!(group.status().matches("down").count(), 3);
    group.up_again().well();
    assert_eq!(said(nodes[2].port, "GET k0"), "w");

    // A node that has lost its directory does not keep the others from starting; they must let it join again.
    group.down().well();
    let lost = format!("{}/node-{}/data", group.path(), nodes[1].port);
    std::fs::remove_dir_all(lost).expect("it was there");
    group.up_again().refused(&["the group is not whole", "--replaces"]);
    group.wait_for(&["leader", "down"]);
    assert_eq!(said(nodes[2].port, "GET k0"), "w");
}

#[test]
fn a_group_that_is_started_again_says_at_once_which_node_was_removed() {
    let group = Group::up(1);
    group.wait_for(&["can lose a node: yes"]);
    let nodes = group.nodes();
    let leader = of_role(&nodes, "leader")[0].clone();
    let removed = of_role(&nodes, "follower")[0].clone();
    assert_eq!(said(leader.port, &format!("SCUR.REPLICA REMOVE {}", removed.id)), "OK");
    group.down().well();
    group
        .up_again()
        .refused(&[&format!("the node at port {} was removed", removed.port), "remove "]);
    // Follows the instructions of the message.
    end(group.nodes().iter().find(|node| node.port == removed.port).expect("it runs").process);
    let store = format!("{}/node-{}/data", group.path(), removed.port);
    std::fs::remove_dir_all(store).expect("it was there");
    group.up_again().well();
    group.wait_for(&["can lose a node: yes"]);
}

/// Checks that main ports serve every key, and that a thread's port of a follower answers MOVED.
fn every_port_leads_to_the_leader(nodes: &[Line], leader: &Line, followers: &[Line]) {
    for node in nodes {
        assert!(said(node.port, "INCR counted").parse::<u32>().is_ok());
    }
    assert_eq!(said(leader.port, "GET counted"), "3");
    let slot = said(leader.port, "CLUSTER KEYSLOT counted");
    let thread = u16::from(slot.parse::<u16>().expect("a slot") >= 8_192);
    let moved = format!("MOVED {slot} 127.0.0.1:{}", leader.port + 1 + thread);
    for follower in followers {
        for thread in [1, 2] {
            assert_eq!(said(follower.port + thread, "GET counted"), moved);
            let refused = said(follower.port + thread, "DBSIZE");
            assert!(refused.starts_with("MOVED "), "{refused}");
            assert_eq!(said(follower.port + thread, "READONLY"), "OK");
        }
    }
}

fn every_node_tells_who_leads(nodes: &[Line], leader: &Line) {
    let slots: Vec<Value> = nodes.iter().map(|node| ask(node.port + 1, "CLUSTER SLOTS")).collect();
    assert!(
        slots.iter().all(|shown| format!("{shown:?}").contains(&(leader.port + 2).to_string()))
    );
    for node in nodes {
        let info = said(node.port + 1, "CLUSTER INFO");
        assert!(info.contains("cluster_state:ok"), "{info}");
        let role = format!("{:?}", ask(node.port + 1, "ROLE"));
        let expected = if node.port == leader.port { "master" } else { "slave" };
        assert!(role.contains(expected) || role.contains(&format!("{:?}", expected.as_bytes())));
        let address = ask(node.port + 1, "SENTINEL get-master-addr-by-name scurry");
        let port = leader.port.to_string();
        let expected = ["127.0.0.1", &port].map(|text| Value::BulkString(text.into()));
        assert_eq!(address, Value::Array(expected.to_vec()));
    }
}
