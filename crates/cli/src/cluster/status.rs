//! `scurry cluster status`: prints one line for each node.

use super::local::{Local, RunningNode as LocalNode};
use crate::machine::print_table;
use crate::size::format_bytes;
use crate::terminal_escape::escaped;
use anyhow::Result;
use scurry_cluster_client::Totals;
use scurry_cluster_client::form::field;
use scurry_cluster_client::redis::{Value, cmd};
use scurry_cluster_client::{ClientError, Node};
use std::path::Path;

pub(super) fn run(dir: &Path) -> Result<()> {
    let local = Local::existing(dir)?;
    let mut why = Vec::new();
    let mut lines = vec![StatusLine::HEAD.map(str::to_owned)];
    for node in &local.nodes {
        lines.push(if node.is_alive() {
            let asked = ask(node);
            asked.unwrap_or_else(|error| {
                why.push(format!("127.0.0.1:{} does not answer: {error}", node.port));
                StatusLine::only(node, "no answer")
            })
        } else {
            StatusLine::only(node, "down")
        });
    }
    print_table(&lines);
    for why in why {
        println!("{}", escaped(&why));
    }
    Ok(())
}

struct StatusLine;

impl StatusLine {
    const HEAD: [&'static str; 8] =
        ["node", "process", "role", "slots", "link", "memory", "accounts", "keys"];

    /// Returns the line of a node that could not be asked, or the start of a full line.
    fn only(node: &LocalNode, what: &str) -> [String; StatusLine::HEAD.len()] {
        let mut line: [String; StatusLine::HEAD.len()] = Default::default();
        line[0] = format!("127.0.0.1:{}", node.port);
        line[1] = node.process.map_or(String::new(), |process| process.pid().to_string());
        what.clone_into(&mut line[2]);
        line
    }
}

fn ask(local: &LocalNode) -> Result<[String; StatusLine::HEAD.len()], ClientError> {
    let mut node = Node::connect(&local.address())?;
    let replication = node.text("INFO", cmd("INFO").arg("replication"))?;
    let memory = node.text("INFO", cmd("INFO").arg("memory"))?;
    let nodes = node.text("CLUSTER NODES", cmd("CLUSTER").arg("NODES"))?;
    let of = |name: &str| field(&replication, name).unwrap_or("-").to_owned();
    let is_primary = of("role") == "master";
    let (role, link) = if is_primary {
        ("primary".to_owned(), format!("replicas {}", of("connected_slaves")))
    } else {
        let primary = format!("of {}:{}", of("master_host"), of("master_port"));
        (format!("replica {primary}"), of("master_link_status"))
    };
    let used = field(&memory, "used_memory").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    let keys = match node.ask(&cmd("DBSIZE"))? {
        Value::Int(keys) => keys.to_string(),
        _ => "-".to_owned(),
    };
    let accounts = Totals::of(&mut node).ok();
    let accounts = accounts.map_or("-".to_owned(), |totals| totals.accounts.to_string());
    let mut line = StatusLine::only(local, &role);
    for (cell, text) in
        line.iter_mut().skip(3).zip([slots(&nodes), link, format_bytes(used), accounts, keys])
    {
        *cell = text;
    }
    Ok(line)
}

/// Returns the slots from the line that a node has about itself in CLUSTER NODES.
fn slots(nodes: &str) -> String {
    let own = nodes.lines().find(|line| line.contains("myself"));
    let ranges: Vec<&str> =
        own.into_iter().flat_map(|line| line.split_whitespace().skip(8)).collect();
    if ranges.is_empty() { "-".to_owned() } else { ranges.join(" ") }
}
