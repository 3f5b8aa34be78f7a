//! Nodes restarted with their directories at other addresses, as on another machine with the same disk.

use crate::nodes::Nodes;
use nix::sys::signal::Signal;

/// Waits until this node reaches all others at their present ports.
fn wait_until_it_reaches_all(nodes: &Nodes, node: usize) {
    nodes.until("the node reaches all others where they are", || {
        let said = nodes.status(node)?;
        let is_reached = |other: &usize| {
            let peer = format!("peer={},", nodes.peer_address(*other));
            let port = format!("port={},", nodes.main_port(*other));
            let words = [&peer, &port, "votes=yes", "connected=yes"];
            said.lines().any(|line| words.iter().all(|word| line.contains(word)))
        };
        (0..3).all(|other| is_reached(&other)).then_some(())
    });
}

/// Waits until every node names the present ports of all nodes to clients.
fn wait_until_clients_find_all(nodes: &Nodes) {
    let leader = nodes.leader();
    let main = nodes.main_port(leader).to_string();
    let ports: Vec<String> = (0..3).map(|node| format!(":{}", nodes.thread_port(node))).collect();
    for node in 0..3 {
        wait_until_it_reaches_all(nodes, node);
        nodes.until("clients find all nodes", || {
            let slots = nodes.ask_node(node, &["CLUSTER", "SLOTS"])?;
            let address =
                nodes.ask_node(node, &["SENTINEL", "get-master-addr-by-name", "scurry"])?;
            let has = |port: &String| slots.lines().any(|line| line == port);
            (ports.iter().all(has) && address.contains(&main)).then_some(())
        });
    }
}

#[test]
fn nodes_that_are_started_at_other_addresses_are_found_there_by_each_other_and_by_clients() {
    let mut nodes = Nodes::start(3, 1);
    assert_eq!(nodes.execute(&["SET", "key", "before"]), "+OK");
    let (leader, ids) = (nodes.leader(), [0, 1, 2].map(|node| nodes.id(node)));
    let (moved, stays) = ((leader + 1) % 3, (leader + 2) % 3);
    nodes.start_elsewhere(moved);
    nodes.wait_for_all();
    wait_until_clients_find_all(&nodes);
    // Two nodes that have moved can find each other only through the group.
    nodes.start_elsewhere(leader);
    nodes.wait_for_all();
    wait_until_clients_find_all(&nodes);
    nodes.signal(stays, Signal::SIGKILL);
    assert_eq!(nodes.execute(&["SET", "key", "after"]), "+OK");
    // The data is there when only nodes run that were not part of it before.
    for node in [leader, moved] {
        nodes.signal(node, Signal::SIGKILL);
    }
    for node in 0..3 {
        nodes.start_again(node);
    }
    nodes.wait_for_all();
    wait_until_clients_find_all(&nodes);
    assert_eq!(nodes.execute(&["GET", "key"]), "$after");
    assert_eq!([0, 1, 2].map(|node| nodes.id(node)), ids, "the same nodes");
}

#[test]
fn two_nodes_that_move_while_the_third_leads_find_each_other() {
    let mut nodes = Nodes::start(3, 1);
    let leader = nodes.leader();
    for node in (0..3).filter(|node| *node != leader) {
        nodes.stop(node);
    }
    for node in (0..3).filter(|node| *node != leader) {
        nodes.start_elsewhere(node);
    }
    nodes.wait_for_all();
    wait_until_clients_find_all(&nodes);
    nodes.signal(leader, Signal::SIGKILL);
    assert_eq!(nodes.execute(&["SET", "key", "value"]), "+OK");
}
