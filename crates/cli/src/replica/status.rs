//! `scurry replica status`: prints one line per node, and whether the group can lose a node.

use super::group::{Group, GroupNode};
use super::view::{ShardLine, View};
use crate::machine::print_table;
use crate::terminal_escape::escaped;
use anyhow::Result;
use std::path::Path;
use std::thread;

const HEAD: [&str; 9] =
    ["node", "process", "role", "id", "term", "committed", "stored", "applied", "elections"];

pub(super) fn run(dir: &Path) -> Result<()> {
    let group = Group::existing(dir)?;
    let answers = ask_all(&group.nodes);
    let mut lines = vec![HEAD.map(str::to_owned)];
    for (node, answer) in group.nodes.iter().zip(&answers) {
        lines.push(match answer {
            None => only(node, "down"),
            Some(Ok(view)) => line(node, view),
            Some(Err(_)) => only(node, "no answer"),
        });
    }
    print_table(&lines);
    for (node, answer) in group.nodes.iter().zip(&answers) {
        if let Some(Err(error)) = answer {
            let why = format!("127.0.0.1:{} does not answer: {error}", node.port);
            println!("{}", escaped(&why));
        }
    }
    let answers = group.nodes.iter().zip(answers);
    let (views, silent) = answers.fold((Vec::new(), Vec::new()), |(mut views, mut silent), it| {
        match it {
            (_, Some(Ok(view))) => views.push(view),
            (node, Some(Err(_))) => silent.push(node.port),
            (_, None) => {}
        }
        (views, silent)
    });
    println!("can lose a node: {}", can_lose(&views, &silent));
    Ok(())
}

/// Asks all nodes at once, because a stopped node costs its whole timeout. None for a node that is down.
fn ask_all(nodes: &[GroupNode]) -> Vec<Option<Result<View, String>>> {
    thread::scope(|scope| {
        let asked = nodes.iter().map(|node| {
            let ask = || View::ask(&node.address()).map_err(|error| error.to_string());
            node.is_alive().then(|| scope.spawn(ask))
        });
        let asked: Vec<_> = asked.collect();
        let panicked = || Err("the thread that asked it has panicked".to_owned());
        asked.into_iter().map(|it| it.map(|it| it.join().unwrap_or_else(|_| panicked()))).collect()
    })
}

/// Returns the leader's statement on whether a node may be lost, unless the leader does not answer or counts a silent
/// node as well. `silent` has the main ports of the nodes that run and do not answer.
fn can_lose(views: &[View], silent: &[u16]) -> String {
    let Some(leader) = views.iter().find(|view| view.serves()) else {
        let mut known = views.iter().flat_map(View::shards).filter_map(|shard| shard.leader);
        return match known.find(|id| views.iter().all(|view| view.id() != *id)) {
            Some(id) => format!("no, node {id} led when it was last heard, and does not answer"),
            None => "no, no node leads".to_owned(),
        };
    };
    let is_missed = |port: &&u16| {
        let mut members = leader.members();
        !members.any(|member| member.port == port.to_string() && !member.is_heard)
    };
    match silent.iter().find(is_missed) {
        Some(port) if !leader.can_lose().starts_with("no") => {
            format!("no, 127.0.0.1:{port} does not answer, and the leader has not missed it yet")
        }
        _ => leader.can_lose().to_owned(),
    }
}

/// Returns the line of a node that could not be asked, or the start of a full line.
fn only(node: &GroupNode, what: &str) -> [String; HEAD.len()] {
    let mut line: [String; HEAD.len()] = Default::default();
    line[0] = format!("127.0.0.1:{}", node.port);
    line[1] = node.process.map_or(String::new(), |process| process.pid().to_string());
    what.clone_into(&mut line[2]);
    line
}

/// Returns the line of a node. Sequences are sums over all threads.
fn line(node: &GroupNode, view: &View) -> [String; HEAD.len()] {
    let mut roles: Vec<&str> = view.shards().map(|shard| shard.role).collect();
    roles.dedup();
    let sum = |of: fn(&ShardLine<'_>) -> u64| view.shards().map(|shard| of(&shard)).sum::<u64>();
    let term = view.shards().map(|shard| shard.term).max().unwrap_or(0);
    let mut line = only(node, &roles.join("+"));
    let cells = [
        view.id().to_owned(),
        term.to_string(),
        sum(|shard| shard.committed).to_string(),
        sum(|shard| shard.stored).to_string(),
        sum(|shard| shard.applied).to_string(),
        sum(|shard| shard.elections).to_string(),
    ];
    for (cell, text) in line.iter_mut().skip(3).zip(cells) {
        *cell = text;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a node's view of itself and of another member at port 2.
    fn view(id: &str, serves: &str, leader: &str, heard: &str) -> View {
        let text = format!(
            "scurry_group_node:{id}\r\ncan_lose_a_node:yes\r\n\
             member0:id=a2,votes=yes,connected=yes,heard={heard},peer=127.0.0.1:4,ip=127.0.0.1,port=2,lag=0\r\n\
             shard0:role=follower,term=3,leader={leader},serves={serves},committed=9,stored=8,applied=7,elections=2\r\n"
        );
        View::from_info(&text).expect("a view")
    }

    #[test]
    fn only_a_leader_that_knows_of_every_node_says_yes() {
        let leader = |heard| view("a1", "yes", "a1", heard);
        assert_eq!(can_lose(&[leader("yes")], &[]), "yes");
        let missed = can_lose(&[leader("yes")], &[2]);
        assert!(missed.starts_with("no, 127.0.0.1:2 does not answer"), "{missed}");
        assert_eq!(can_lose(&[leader("no")], &[2]), "yes", "of five: it knows, and says so");
        let follower = || view("a2", "no", "a1", "yes");
        let stopped = can_lose(&[follower()], &[1]);
        assert_eq!(stopped, "no, node a1 led when it was last heard, and does not answer");
        assert_eq!(can_lose(&[view("a2", "no", "none", "yes")], &[1]), "no, no node leads");
        assert_eq!(can_lose(&[], &[]), "no, no node leads");
    }
}
