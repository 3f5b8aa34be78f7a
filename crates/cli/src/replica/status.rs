//! `scurry replica status`.

use super::group::{Group, Node};
use super::view::{ShardLine, View};
use crate::machine::print_table;
use crate::shown::escaped;
use anyhow::Result;
use std::path::Path;

const HEAD: [&str; 9] =
    ["node", "process", "role", "id", "term", "committed", "stored", "applied", "elections"];

pub(super) fn run(dir: &Path) -> Result<()> {
    let group = Group::existing(dir)?;
    let mut lines = vec![HEAD.map(str::to_owned)];
    let mut why = Vec::new();
    let mut can_lose = "no, no node leads".to_owned();
    for node in &group.nodes {
        if !node.is_alive() {
            lines.push(only(node, "down"));
            continue;
        }
        match View::ask(&node.address()) {
            Ok(view) => {
                // The leader knows.
                if view.serves() {
                    view.can_lose().clone_into(&mut can_lose);
                }
                lines.push(line(node, &view));
            }
            Err(error) => {
                lines.push(only(node, "no answer"));
                why.push(format!("127.0.0.1:{} does not answer: {error}", node.port));
            }
        }
    }
    print_table(&lines);
    for why in why {
        println!("{}", escaped(&why));
    }
    println!("can lose a node: {can_lose}");
    Ok(())
}

/// A node that says nothing of itself.
fn only(node: &Node, what: &str) -> [String; HEAD.len()] {
    let mut line: [String; HEAD.len()] = Default::default();
    line[0] = format!("127.0.0.1:{}", node.port);
    line[1] = node.process.map_or(String::new(), |process| process.pid().to_string());
    what.clone_into(&mut line[2]);
    line
}

/// Sequences are those of all threads together.
fn line(node: &Node, view: &View) -> [String; HEAD.len()] {
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
