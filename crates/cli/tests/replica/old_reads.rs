//! Reads of a client that said READONLY: a follower answers them from its own memory, as long as that is not old.

use super::nodes::{Client, Nodes};
use nix::sys::signal::Signal;

/// Connects to the port of a node's thread, and says READONLY.
fn reader(nodes: &Nodes, node: usize) -> Client {
    let mut client = Client::connect(nodes.thread_port(node)).expect("it listens");
    assert!(client.ask(&["READONLY"]).expect("an answer").starts_with("+OK"));
    client
}

/// Returns the age in ms that a node's line has.
fn age_ms(nodes: &Nodes, node: usize) -> Option<u64> {
    nodes.number(node, "age_ms")
}

#[test]
fn a_follower_answers_reads_of_those_who_accept_old_values() {
    let nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "first"]);
    nodes.execute(&["SCUR.CREATE", "alice", "BUCKET", "main", "cent", "100"]);
    let leader = nodes.leader();
    let follower = (leader + 1) % 3;
    let mut client = reader(&nodes, follower);
    nodes.until("it answers", || {
        let said = client.ask(&["GET", "key"]).expect("an answer");
        said.contains("first").then_some(())
    });
    nodes.until("it shows the account", || {
        let said = client.ask(&["SCUR.GET", "alice"]).expect("an answer");
        (said.contains("main") && said.contains("100")).then_some(())
    });
    nodes.execute(&["SET", "key", "second"]);
    nodes.until("it shows what was written since", || {
        client.ask(&["GET", "key"]).ok().filter(|said| said.contains("second")).map(drop)
    });
    let refused = |client: &mut Client, words: &[&str], error: &str| {
        let said = client.ask(words).expect("an answer");
        assert!(said.starts_with(error), "{words:?}: {said}");
    };
    refused(&mut client, &["SET", "key", "third"], "-MOVED");
    refused(&mut client, &["SCUR.DEBIT", "alice", "d", "cent", "1"], "-MOVED");
    refused(&mut client, &["SCUR.STATEMENT", "alice"], "-ASK");
    // A transaction is executed by the leader alone.
    assert!(client.ask(&["MULTI"]).expect("an answer").starts_with("+OK"));
    refused(&mut client, &["GET", "key"], "-ASK");
    client.ask(&["DISCARD"]).expect("an answer");
    client.ask(&["READWRITE"]).expect("an answer");
    refused(&mut client, &["GET", "key"], "-MOVED");
    assert_eq!(age_ms(&nodes, leader), Some(0));
    assert!(nodes.until("its age is known", || age_ms(&nodes, follower)) < 5_000);
}

#[test]
fn a_follower_that_hears_no_leader_says_how_old_it_is_and_then_answers_no_more() {
    let nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "value"]);
    let leader = nodes.leader();
    let follower = (leader + 1) % 3;
    let mut client = reader(&nodes, follower);
    nodes.until("it answers", || {
        client.ask(&["GET", "key"]).ok().filter(|said| said.contains("value")).map(drop)
    });
    for node in (0..3).filter(|node| *node != follower) {
        nodes.signal(node, Signal::SIGSTOP);
    }
    nodes.until("it is older", || age_ms(&nodes, follower).filter(|age| *age > 1_000));
    nodes.until("it is too old", || {
        let said = client.ask(&["GET", "key"]).expect("an answer");
        (said.starts_with("-CLUSTERDOWN") || said.starts_with("-ASK")).then_some(())
    });
    assert!(age_ms(&nodes, follower).is_none_or(|age| age > 3_000));
    for node in (0..3).filter(|node| *node != follower) {
        nodes.signal(node, Signal::SIGCONT);
    }
    nodes.until("it answers again, or leads", || {
        client.ask(&["GET", "key"]).ok().filter(|said| said.contains("value")).map(drop)
    });
}
