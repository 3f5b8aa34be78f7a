//! Log lines of nodes about their group: each change once, and no warning while nothing is wrong. No time is checked: a
//! test waits for lines.

use super::http;
use super::nodes::Nodes;
use nix::sys::signal::Signal;

/// Waits until the log of a node has all of these texts in one line.
fn until_said(nodes: &Nodes, node: usize, words: &[&str]) {
    nodes
        .until(&format!("node {node} says {words:?}"), || count(nodes, node, words).checked_sub(1));
}

/// Counts the lines of a node's log that have all of these texts.
fn count(nodes: &Nodes, node: usize, words: &[&str]) -> usize {
    let log = nodes.log(node);
    log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

#[test]
fn the_log_tells_who_is_lost_who_leads_and_when_clients_are_refused() {
    let mut nodes = Nodes::start(3, 1);
    let leader = nodes.leader();
    let (one, other) = ((leader + 1) % 3, (leader + 2) % 3);
    let ids = [0, 1, 2].map(|node| nodes.id(node));
    let named = |node: usize| format!("node {} at {}", ids[node], nodes.peer_address(node));
    let [lost_one, lost_other] = [named(one), named(other)];
    nodes.signal(one, Signal::SIGKILL);
    until_said(&nodes, leader, &["WARN", &lost_one, "is lost"]);
    nodes.signal(other, Signal::SIGKILL);
    until_said(&nodes, leader, &["WARN", &lost_other, "is lost", "reaches 1 of 3 with a vote"]);
    until_said(&nodes, leader, &["this node leads no more: shard 0 in term"]);
    let refused =
        ["WARN", "clients are refused: no node leads shard 0: this node reaches 1 of the 3"];
    until_said(&nodes, leader, &refused);
    nodes.start_again(one);
    until_said(&nodes, leader, &["INFO clients are served again"]);
    until_said(&nodes, one, &["leads: shard 0 in term"]);
    nodes.start_again(other);
    nodes.wait_for_all();
    assert!(count(&nodes, leader, &[&lost_one, "is connected"]) > 1, "{}", nodes.log(leader));
    let now = nodes.leader();
    until_said(&nodes, now, &["this node serves: shard 0 in term"]);
    until_said(&nodes, (now + 1) % 3, &[&format!("node {} leads: shard 0 in term", ids[now])]);
}

/// Nodes that join, hand over, and are asked through each other's doors meanwhile are not reported as unknown, and no
/// warning appears.
#[test]
fn nothing_is_told_as_wrong_where_nodes_join_and_leadership_moves() {
    const NODES: usize = 5;
    let nodes = Nodes::start_with_doors(NODES, 2, Vec::new());
    for round in 0..12 {
        let to = nodes.id((nodes.leader() + 1) % NODES);
        nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &to]);
        for node in (0..NODES).cycle().take(3 * NODES) {
            http::ask(&nodes, node, &format!("GET /v1/accounts/account-{round}"), "", "");
        }
        nodes.wait_for_all();
    }
    for node in 0..NODES {
        let log = nodes.log(node);
        for words in [
            "is no member",
            "has no directory",
            "has dialled itself",
            "is another one",
            "was not taken:",
        ] {
            assert!(!log.contains(words), "{words}: {log}");
        }
    }
}
