//! Three real nodes of a group on this machine. Nodes are killed and stopped; everything acknowledged must be there
//! afterwards exactly once, on all of them. No time is checked: a test waits for conditions.

use crate::nodes::{self, Client, Nodes};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;

/// Makes debits of one unit each by these transactions, repeated until each has an answer.
fn debit(nodes: &Nodes, from: u32, to: u32) {
    let mut client = None;
    for number in from..to {
        nodes.until("a debit is answered", || {
            let open = match client.take() {
                Some(open) => open,
                None => Client::connect(nodes.any_port())?,
            };
            let open = client.insert(open);
            let reply = open.ask(&["SCUR.DEBIT", "purse", &format!("txn-{number}"), "cent", "1"]);
            match reply {
                Ok(reply) if !reply.starts_with('-') => Some(()),
                // No node leads, or the connection has ended: the outcome is unknown.
                _ => {
                    client = None;
                    None
                }
            }
        });
    }
}

/// Returns the balance of the purse from the leader.
fn left(nodes: &Nodes) -> String {
    nodes.until("the leader answers", || {
        let mut client = Client::connect(nodes.any_port())?;
        let reply = client.ask(&["SCUR.GET", "purse"]).ok()?;
        let at = reply.find("cent")?;
        reply[at..].split_whitespace().nth(1).map(str::to_owned)
    })
}

#[test]
fn a_leader_that_is_killed_again_and_again_loses_nothing_and_does_nothing_twice() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "10000"]);
    let mut led = BTreeSet::new();
    for round in 0..3 {
        debit(&nodes, round * 100, round * 100 + 50);
        let leader = nodes.leader();
        led.insert(leader);
        nodes.signal(leader, Signal::SIGKILL);
        debit(&nodes, round * 100 + 50, round * 100 + 100);
        nodes.start_again(leader);
        nodes.wait_for_all();
    }
    assert_eq!(left(&nodes), ":9700");
    assert!(led.len() > 1, "another node has led");
    // The same requests get the same answers and change nothing.
    debit(&nodes, 0, 300);
    assert_eq!(left(&nodes), ":9700");
}

#[test]
fn a_leader_that_was_stopped_says_nothing_old_and_forgets_what_was_not_committed() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "10000"]);
    debit(&nodes, 0, 10);
    let (old, others, mut writer) = execute_alone(&mut nodes);
    let mut reader = Client::connect(nodes.thread_port(old)).expect("it listens");
    nodes.signal(old, Signal::SIGSTOP);
    others.iter().for_each(|node| nodes.start_again(*node));
    nodes.until("another node leads", || nodes.leader_of(&others));
    debit_through(&nodes, &others, 10, 20);
    reader.send(&["SCUR.GET", "purse"]);
    nodes.signal(old, Signal::SIGCONT);
    let said = reader.read();
    let is_refused = |said: &String| said.starts_with("-MOVED") || said.starts_with("-CLUSTERDOWN");
    assert!(said.as_ref().map_or(true, is_refused), "it was no leader any more: {said:?}");
    assert!(writer.read().is_err(), "what nobody agreed to has no answer");
    nodes.wait_for_all();
    assert_eq!(left(&nodes), ":9980");
    // The node that had executed more becomes leader again, with the others' data.
    let id = nodes.id(old);
    nodes.until("it leads again", || {
        if nodes.leader_of(&[old]).is_some() {
            return Some(());
        }
        nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &id]);
        None
    });
    assert_eq!(left(&nodes), ":9980");
    debit(&nodes, 0, 30);
    assert_eq!(left(&nodes), ":9970");
}

#[test]
fn a_leader_that_was_stopped_shows_no_events_of_its_old_log() {
    let nodes = Nodes::start(3, 2);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "10000"]);
    for round in 0..3 {
        let old = nodes.leader();
        let others: Vec<usize> = (0..3).filter(|node| *node != old).collect();
        // Both kinds of ports; the account's thread is that of the first connection or the other one.
        let ports = [nodes.main_port(old), nodes.main_port(old), nodes.thread_port(old)];
        let mut readers = ports.map(|port| Client::connect(port).expect("it listens"));
        nodes.signal(old, Signal::SIGSTOP);
        nodes.until("another node leads", || nodes.leader_of(&others));
        debit_through(&nodes, &others, round, round + 1);
        let leader = nodes.leader_of(&others).expect("it leads");
        let transaction = format!("txn-{round}");
        let statement = ["SCUR.STATEMENT", "purse", "TRANSACTION", &transaction];
        let mut client = Client::connect(nodes.main_port(leader)).expect("it listens");
        let shown = client.ask(&statement).expect("a reply");
        // The position of the debit, which is in no log of the former leader.
        let is_position = |line: &&str| line.starts_with(['0', '1']) && line.contains(':');
        let position = shown.lines().find(is_position).expect("a position");
        readers[0].send(&statement);
        readers[1].send(&["SCUR.WATCH", position]);
        readers[2].send(&statement);
        nodes.signal(old, Signal::SIGCONT);
        for (place, reader) in readers.iter_mut().enumerate() {
            // A node that leads again meanwhile shows the debit.
            let is_right = |said: &String| {
                let refusals = ["-MOVED", "-CLUSTERDOWN", "-READONLY another node leads now"];
                refusals.iter().any(|begin| said.starts_with(begin)) || said.contains(&transaction)
            };
            let said = reader.read();
            assert!(said.as_ref().map_or(true, is_right), "reader {place}: {said:?}");
        }
        nodes.wait_for_all();
    }
}

#[test]
fn a_connection_is_not_refused_for_ever_after_a_change_of_leader() {
    let nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "value"]);
    let mut clients = Vec::new();
    for round in 0..6 {
        let next = nodes.id((nodes.leader() + 1 + round % 2) % 3);
        nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &next]);
        // Some connect to a node that was elected and has not taken over.
        for place in 0..60 {
            clients.extend(Client::connect(nodes.main_port(place % 3)));
        }
    }
    nodes.wait_for_all();
    for mut client in clients {
        nodes.until("it is answered, or its connection ends", || {
            let reply = client.ask(&["GET", "key"]);
            if reply.as_ref().is_ok_and(|reply| reply.starts_with("-READONLY")) {
                assert!(client.ask(&["GET", "key"]).is_err(), "the connection ends");
            }
            reply.map_or(Some(()), |reply| (reply == "$value").then_some(()))
        });
    }
}

#[test]
fn a_statement_behind_a_read_waits_for_no_later_change() {
    let nodes = Nodes::start(3, 1);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "10000"]);
    let mut client = Client::connect(nodes.main_port(nodes.leader())).expect("it listens");
    // Each read is a turn of its own, and no change.
    for _ in 0..200 {
        client.ask(&["SCUR.GET", "purse"]).expect("a reply");
    }
    for _ in 0..20 {
        client.send(&["SCUR.GET", "purse"]);
        client.send(&["SCUR.STATEMENT", "purse"]);
        client.read().expect("the account");
        let statement = client.read().expect("a statement");
        assert!(statement.contains("10000"), "{statement}");
    }
}

/// Kills the followers, and makes the leader alone execute and store a debit. Returns the leader, the others, and the
/// connection without an answer.
fn execute_alone(nodes: &mut Nodes) -> (usize, Vec<usize>, Client) {
    for attempt in 0.. {
        let old = nodes.leader();
        let others: Vec<usize> = (0..3).filter(|node| *node != old).collect();
        let stored = nodes.number(old, "stored").expect("it says so");
        let mut writer = Client::connect(nodes.thread_port(old)).expect("it listens");
        others.iter().for_each(|node| nodes.signal(*node, Signal::SIGKILL));
        writer.send(&["SCUR.DEBIT", "purse", &format!("nobody-agrees-{attempt}"), "cent", "5000"]);
        let is_stored = nodes.until("the leader has stored it, or leads no more", || {
            let is_stored = nodes.number(old, "stored")? > stored;
            (is_stored || nodes.leader_of(&[old]).is_none()).then_some(is_stored)
        });
        if is_stored {
            return (old, others, writer);
        }
        // The leader noticed that it was alone before the request arrived.
        others.iter().for_each(|node| nodes.start_again(*node));
        nodes.wait_for_all();
    }
    unreachable!("it is tried until it works");
}

/// Makes debits as [`debit`] does, through these nodes only.
fn debit_through(nodes: &Nodes, by: &[usize], from: u32, to: u32) {
    for number in from..to {
        nodes.until("a debit is answered", || {
            let leader = nodes.leader_of(by)?;
            let mut client = Client::connect(nodes.main_port(leader))?;
            let txn = format!("txn-{number}");
            let reply = client.ask(&["SCUR.DEBIT", "purse", &txn, "cent", "1"]).ok()?;
            (!reply.starts_with('-')).then_some(())
        });
    }
}

#[test]
fn nodes_of_several_threads_are_led_by_one_and_a_node_is_removed_and_replaced() {
    let mut nodes = Nodes::start(3, 2);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "10000"]);
    for key in 0..50 {
        nodes.execute(&["SET", &format!("key-{key}"), "value"]);
    }
    debit(&nodes, 0, 20);
    let leader = nodes.leader();
    let gone = (leader + 1) % 3;
    let id = nodes.id(gone);
    nodes.signal(gone, Signal::SIGKILL);
    nodes.until("it is removed", || {
        nodes.try_execute(&["SCUR.REPLICA", "REMOVE", &id]);
        (!nodes.status(nodes.leader())?.contains(&id)).then_some(())
    });
    debit(&nodes, 20, 40);
    nodes.start_anew(gone);
    nodes.wait_for_all();
    assert_ne!(nodes.id(gone), id, "it has another id");
    nodes.signal(leader, Signal::SIGKILL);
    debit(&nodes, 40, 60);
    assert_eq!(left(&nodes), ":9940");
    for key in 0..50 {
        assert_eq!(nodes.execute(&["GET", &format!("key-{key}")]), "$value");
    }
}

#[test]
fn a_leader_that_is_told_to_stop_has_another_node_lead_first() {
    let mut nodes = Nodes::start(3, 2);
    // If the machine stalls at that moment, no other node can take over in time, so this is tried again.
    let hands_over = (0..10).any(|_| {
        let leader = nodes.leader();
        nodes.execute(&["SET", "key", "value"]);
        nodes.stop(leader);
        let hands_over = nodes.log(leader).contains("this node stops and does not lead");
        nodes.start_again(leader);
        nodes.wait_for_all();
        hands_over
    });
    assert!(hands_over, "{}", nodes.log(0));
    assert_eq!(nodes.execute(&["GET", "key"]), "$value");
}

#[test]
fn a_directory_and_options_that_do_not_fit_are_refused_in_words() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    let path = path.to_str().expect("text");
    let peer = format!("127.0.0.1:{}", nodes::free_ports(1));
    for mode in ["none", "write"] {
        let said = nodes::refused(&["--replicate", &peer, "--dir", path, "--durability", mode]);
        assert!(said.contains("fsync"), "{said}");
    }
    let mut node = Nodes::start(1, 1);
    node.execute(&["SET", "key", "value"]);
    let dir = node.stop(0);
    let dir = dir.to_str().expect("text");
    let said = nodes::refused(&["--dir", dir]);
    assert!(said.contains("--replicate"), "{said}");
    let said = nodes::refused(&["--dir", dir, "--replicate", &peer, "--threads", "2"]);
    assert!(said.contains("--threads 1"), "{said}");
}
