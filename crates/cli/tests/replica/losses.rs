//! A group's statements are true at the moment when they are made: whether it can lose a node, and that a change is
//! complete. A further node is lost at that moment.

use super::nodes::{Client, Nodes};
use nix::sys::signal::Signal;

/// Returns the leader's answer, however long it takes. None if the connection is lost.
fn ask_leader(nodes: &Nodes, words: &[&str]) -> Option<String> {
    Client::connect(nodes.thread_port(nodes.leader()))?.ask(words).ok()
}

#[test]
fn a_follower_that_stands_still_is_missed_though_nothing_is_written() {
    let nodes = Nodes::start(3, 1);
    nodes.until("it can lose a node", || {
        nodes.status(nodes.leader())?.contains("can_lose_a_node:yes").then_some(())
    });
    let still = (nodes.leader() + 1) % 3;
    let id = nodes.id(still);
    nodes.signal(still, Signal::SIGSTOP);
    let others: Vec<usize> = (0..3).filter(|node| *node != still).collect();
    let words = format!("can_lose_a_node:no, nothing was heard of node {id} lately");
    nodes.until("it is missed", || {
        let said = nodes.status(nodes.leader_of(&others)?)?;
        if said.contains("can_lose_a_node:no, no connection") {
            // The machine stalled for so long that connections ended: try again.
            nodes.signal(still, Signal::SIGCONT);
            nodes.until("it is back", || {
                nodes.status(nodes.leader())?.contains("can_lose_a_node:yes").then_some(())
            });
            nodes.signal(still, Signal::SIGSTOP);
        }
        said.contains(&words).then_some(())
    });
    // Leadership is not transferred to this node, and the other one is not removed.
    let said = ask_leader(&nodes, &["SCUR.REPLICA", "TRANSFER", &id]).unwrap_or_default();
    assert!(said.starts_with('-'), "{said}");
    nodes.signal(still, Signal::SIGCONT);
    nodes.until("it can lose a node again", || {
        nodes.status(nodes.leader())?.contains("can_lose_a_node:yes").then_some(())
    });
}

#[test]
fn who_is_told_that_another_node_leads_may_rely_on_it() {
    let nodes = Nodes::start(3, 1);
    nodes.until("another node leads", || {
        let leader = nodes.leader();
        let term = nodes.number(leader, "term")?;
        let id = nodes.id((leader + 1) % 3);
        let mut client = Client::connect(nodes.thread_port(leader))?;
        // On a stalled machine the transfer may fail.
        client.ask(&["SCUR.REPLICA", "TRANSFER", &id]).ok().filter(|it| it.starts_with("+OK"))?;
        let now = nodes.until("it says so", || nodes.number(leader, "term"));
        assert!(now > term, "node {id} leads, in a term of its own: {now}");
        Some(())
    });
    // A client of the leader's main port gets its answer before its connection ends.
    let after = nodes.until("another node leads", || {
        let leader = nodes.leader();
        let id = nodes.id((leader + 1) % 3);
        let mut client = Client::connect(nodes.main_port(leader))?;
        let reply = client.ask(&["SCUR.REPLICA", "TRANSFER", &id]).ok()?;
        reply.starts_with("+OK").then(|| client.ask(&["GET", "key"]))
    });
    assert!(after.is_err(), "it has to find the new one: {after:?}");
    // A repeated request gets the answer from the new leader.
    nodes.until("it leads", || {
        let leader = nodes.leader();
        let reply = nodes.ask_node(leader, &["SCUR.REPLICA", "TRANSFER", &nodes.id(leader)])?;
        reply.starts_with("+OK").then_some(())
    });
}

#[test]
fn the_leader_may_die_as_soon_as_a_third_node_has_a_vote() {
    let mut nodes = Nodes::start(2, 1);
    let known = [nodes.id(0), nodes.id(1)];
    nodes.begin_one_more();
    // The line about the second node may appear only now, so lines are told apart by the id in them.
    let third_has_a_vote = |nodes: &Nodes| {
        (0..nodes.count()).any(|node| {
            let log = nodes.log(node);
            let voters = log.split("a node has a vote node=").skip(1);
            voters
                .filter_map(|rest| rest.split_whitespace().next())
                .any(|id| !known.iter().any(|it| it == id))
        })
    };
    let leader = nodes.until("the third node has a vote", || {
        let leader = nodes.leader_of(&[0, 1])?;
        let can_lose = || nodes.status(leader).is_some_and(|it| it.contains("lose_a_node:yes"));
        (third_has_a_vote(&nodes) || can_lose()).then_some(leader)
    });
    nodes.signal(leader, Signal::SIGKILL);
    let left: Vec<usize> = (0..3).filter(|node| *node != leader).collect();
    nodes.until("another node serves", || nodes.leader_of(&left));
}
