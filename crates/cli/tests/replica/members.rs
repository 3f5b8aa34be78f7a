//! Changes of members: a change that would end service, and a node that joins in a wrong way, are refused.

use super::nodes::{self, Client, Nodes};
use nix::sys::signal::Signal;

fn members(nodes: &Nodes) -> usize {
    let said = nodes.status(nodes.leader()).unwrap_or_default();
    said.lines().filter(|line| line.starts_with("member")).count()
}

#[test]
fn of_two_nodes_one_is_removed_and_the_other_serves() {
    let nodes = Nodes::start(2, 1);
    let (leader, gone) = nodes.until("one is removed", || {
        let leader = nodes.leader();
        let gone = nodes.id(1 - leader);
        let mut client = Client::connect(nodes.thread_port(leader))?;
        let reply = client.ask(&["SCUR.REPLICA", "REMOVE", &gone]).ok()?;
        // On a stalled machine the answer to an earlier attempt may have said that another node leads now.
        let is_over = reply.starts_with("+OK") || reply.contains("is no node of this group");
        is_over.then_some((leader, gone))
    });
    nodes.signal(1 - leader, Signal::SIGKILL);
    nodes.until("the other serves", || {
        let reply = nodes.ask_node(leader, &["SET", "key", "value"])?;
        reply.starts_with("+OK").then_some(())
    });
    assert!(!nodes.status(leader).unwrap_or_default().contains(&gone));
}

#[test]
fn a_node_without_which_there_is_no_majority_is_not_removed() {
    let mut nodes = Nodes::start(3, 1);
    let leader = nodes.leader();
    let (away, stays) = ((leader + 1) % 3, (leader + 2) % 3);
    let (away_id, stays_id) = (nodes.id(away), nodes.id(stays));
    nodes.signal(away, Signal::SIGKILL);
    nodes.until("its end is noticed", || {
        nodes.status(leader)?.contains("connected=no").then_some(())
    });
    let said = nodes.ask_node(leader, &["SCUR.REPLICA", "REMOVE", &stays_id]).unwrap_or_default();
    assert!(said.contains("no majority"), "{said}");
    nodes.until("it serves on", || {
        let reply = nodes.ask_node(leader, &["SET", "key", "value"])?;
        reply.starts_with("+OK").then_some(())
    });
    // The node that is away may be removed, and joins again without data.
    nodes.until("it is removed", || {
        let mut client = Client::connect(nodes.thread_port(nodes.leader_of(&[leader, stays])?))?;
        let said = client.ask(&["SCUR.REPLICA", "REMOVE", &away_id]).ok()?;
        (said.starts_with("+OK") || said.contains("is no node of this group")).then_some(())
    });
    nodes.start_anew(away);
    nodes.wait_for_all();
}

#[test]
fn who_joins_in_a_wrong_way_is_refused_in_words_and_leaves_nothing_behind() {
    let mut nodes = Nodes::start(3, 1);
    let leader = nodes.leader();
    let (lost, other) = ((leader + 1) % 3, (leader + 2) % 3);
    let lost_id = nodes.id(lost);
    let directory = tempfile::tempdir().expect("a directory");
    let dir = directory.path().join("node");
    let dir = dir.to_str().expect("text");
    let own = format!("127.0.0.1:{}", nodes::free_ports(4) + 3);
    let join = nodes.peer_address(other);
    let line = |own: &str, more: &[&str]| {
        let words = ["--durability", "fsync", "--dir", dir, "--join", &join, "--replicate", own];
        nodes::refused(&[&words, more].concat())
    };
    let said = line(&own, &["--threads", "2"]);
    assert!(said.contains("start it with --threads 1"), "{said}");
    let said = line(&own, &["--threads", "1", "--replaces", "00000000deadbeef"]);
    assert!(said.contains("there is no node 00000000deadbeef"), "{said}");
    // A supervisor restarts a node with the same options after its disk was replaced.
    nodes.stop(lost);
    let place = nodes.peer_address(lost);
    let said = line(&place, &["--threads", "1"]);
    assert!(said.contains(&format!("--replaces {lost_id}")), "{said}");
    assert_eq!(members(&nodes), 3);
    nodes.start_anew(lost);
    nodes.wait_for_all();
    assert_eq!(members(&nodes), 3);
    assert_ne!(nodes.id(lost), lost_id);
}
