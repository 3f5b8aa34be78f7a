//! `scurry replica up`: lays out a new group or restarts nodes that are down, and waits until it is complete.

use super::UpArgs;
use super::group::{Group, GroupNode};
use super::view::View;
use crate::machine::{InterruptibleWait, Process, free_ports, lock_directory};
use crate::store::count_text;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;

pub(super) fn run(up: &UpArgs) -> Result<()> {
    let patience = InterruptibleWait::new()?;
    fs::create_dir_all(&up.place.dir)
        .with_context(|| format!("{} cannot be made", up.place.dir.display()))?;
    let dir = up.place.dir.canonicalize()?;
    let _lock = lock_directory(&dir)?;
    let mut group = match Group::read(&dir)? {
        Some(group) => check_existing(group, up, &dir)?,
        None => lay_out(up, &dir)?,
    };
    let is_new = !group.is_made;
    if let Err(error) = start(&mut group, &dir, &patience) {
        if !is_new {
            // The nodes that run may be the majority that a third node needs to join again, so they are not stopped.
            return Err(error).context("the group is not whole; the nodes that are up go on");
        }
        let stopped = group.stop(&dir);
        // Removes a new group that failed, so that the next attempt starts from an empty directory.
        group.remove(&dir);
        stopped.context("not all nodes could be stopped")?;
        return Err(error).context("the group was not started, and its nodes are stopped again");
    }
    let port = group.nodes[0].port;
    let shown = up.place.dir.display();
    println!(
        "ready. The main port of any node leads to the one that leads the group:\n  \
         scurry cli -p {port} PING\n  scurry replica status --dir {shown}\n  \
         scurry replica down --dir {shown}"
    );
    Ok(())
}

/// Checks that a group, or some of its nodes, is down and that its options and ports still fit.
fn check_existing(group: Group, up: &UpArgs, dir: &Path) -> Result<Group> {
    let shown = dir.display();
    if group.nodes.iter().all(GroupNode::is_alive) {
        bail!(
            "{shown} holds a group that runs: use it, stop it with `scurry replica down --dir \
             {shown}`, or give another --dir"
        );
    }
    ensure!(
        (group.nodes.len(), group.threads) == (usize::from(up.nodes), up.threads),
        "{shown} holds a group of {} with {} each: say so with --nodes and --threads, or give \
         another --dir",
        count_text(group.nodes.len() as u64, "node"),
        count_text(group.threads.into(), "thread")
    );
    let first = group.nodes[0].port;
    ensure!(
        up.port.is_none_or(|port| port == first),
        "{shown} holds a group at port {first}: leave --port out, or give another --dir"
    );
    for node in group.nodes.iter().filter(|node| !node.is_alive()) {
        free_ports(Some(node.port), Group::ports_of_node(group.threads))?;
    }
    Ok(group)
}

/// Lays out a new group in an empty directory.
fn lay_out(up: &UpArgs, dir: &Path) -> Result<Group> {
    let is_empty = fs::read_dir(dir)?.next().is_none();
    ensure!(
        is_empty,
        "{} holds other things: give --dir an empty directory, or one that is not there",
        dir.display()
    );
    let first = free_ports(up.port, up.nodes * Group::ports_of_node(up.threads))?;
    let group = Group::new(up.nodes, up.threads, first);
    group.write(dir)?;
    group.order_begin(dir)?;
    Ok(group)
}

fn start(group: &mut Group, dir: &Path, patience: &InterruptibleWait) -> Result<()> {
    // Nodes that have joined before. They are still members unless they were removed; the others join.
    let was_admitted =
        |node: &&GroupNode| matches!(scurry_disk::read_group(&node.store(dir)), Ok(Some(_)));
    let admitted: Vec<u16> =
        group.nodes.iter().filter(was_admitted).map(|node| node.port).collect();
    for index in 0..group.nodes.len() {
        patience.check()?;
        if !group.nodes[index].is_alive() {
            group.start(dir, index)?;
        }
        if !group.is_made {
            // A node can only join a running group, so the nodes of a new group start one after another.
            wait(group, dir, patience, index + 1, &[])?;
        }
    }
    for node in &group.nodes {
        println!("  127.0.0.1:{}  process {}", node.port, node.process.map_or(0, Process::pid));
    }
    wait(group, dir, patience, group.nodes.len(), &admitted)?;
    group.is_made = true;
    group.write(dir)
}

/// Waits until each of the first `count` nodes has a vote, all of them know it, and one of them serves. Fails at once
/// if a node of `admitted` (main ports) was removed from the group.
fn wait(
    group: &Group,
    dir: &Path,
    patience: &InterruptibleWait,
    count: usize,
    admitted: &[u16],
) -> Result<()> {
    let nodes = &group.nodes[..count];
    let is_there = patience.until(|| {
        group.check(dir)?;
        let views: Option<Vec<View>> =
            nodes.iter().map(|node| View::ask(&node.address()).ok()).collect();
        let Some(views) = views else { return Ok(false) };
        if let Some(view) = views.iter().find(|view| view.serves()) {
            let removed = nodes.iter().find(|node| admitted.contains(&node.port) && !view.has(node.port));
            if let Some(node) = removed {
                bail!(
                    "the node at port {} was removed from the group. To have it join again, stop it (process {}), \
                     remove {} and run this command again",
                    node.port,
                    node.process.map_or(0, Process::pid),
                    node.store(dir).display()
                );
            }
        }
        Ok(views.iter().all(|view| view.voters() == count && is_led(view))
            && views.iter().any(View::serves))
    })?;
    let words = nodes[count - 1].log_tail(dir);
    ensure!(
        is_there,
        "{} did not become a group within two minutes; the log of the last one ends with: {words}",
        count_text(count as u64, "node")
    );
    Ok(())
}

fn is_led(view: &View) -> bool {
    view.shards().next().is_some() && view.shards().all(|shard| shard.leader.is_some())
}
