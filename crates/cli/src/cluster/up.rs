//! `scurry cluster up`: lays out a new cluster or restarts an existing one, and waits until it serves.

use super::binary::{check_server, find_module};
use super::local::{Local, RunningNode};
use super::{UpArgs, join};
use crate::machine::{self, Process, free_ports};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;

pub(super) fn run(up: &UpArgs) -> Result<()> {
    let version = check_server(&up.server)?;
    let waits = machine::InterruptibleWait::new()?;
    fs::create_dir_all(&up.place.dir)
        .with_context(|| format!("{} cannot be made", up.place.dir.display()))?;
    let dir = up.place.dir.canonicalize()?;
    let _lock = machine::lock_directory(&dir)?;
    let (mut local, is_new) = match Local::read(&dir)? {
        Some(local) => (check_existing(local, up, &dir)?, false),
        None => (lay_out(up, &dir)?, true),
    };
    println!("valkey-server {version}, module {}", local.module.display());
    let patience = join::StartupWait { dir: &dir, machine: waits };
    let outcome = start(&mut local, &patience, is_new);
    if let Err(error) = outcome {
        let stopped = local.stop(&dir);
        if is_new {
            // Removes the files of a failed first start, so that the next attempt starts from an empty directory.
            let _ = fs::remove_file(dir.join("cluster.toml"));
            for node in &local.nodes {
                let _ = fs::remove_dir_all(dir.join(format!("node-{}", node.port)));
            }
        }
        stopped.context("not all nodes could be stopped")?;
        return Err(error).context("the cluster was not started, and its nodes are stopped again");
    }
    let port = local.nodes[0].port;
    let shown = up.place.dir.display();
    println!(
        "ready. Connect to any node as a client of a cluster:\n  valkey-cli -c -p {port}\n  \
         scurry cluster status --dir {shown}\n  scurry cluster down --dir {shown}"
    );
    Ok(())
}

/// Checks that an existing cluster is down and that its options and ports still fit.
fn check_existing(mut local: Local, up: &UpArgs, dir: &Path) -> Result<Local> {
    let shown = dir.display();
    if let Some(node) = local.nodes.iter().find(|node| node.is_alive()) {
        bail!(
            "{shown} holds a cluster that runs (process of port {}): use it, stop it with `scurry \
             cluster down --dir {shown}`, or give another --dir",
            node.port
        );
    }
    ensure!(
        (local.primaries, local.replicas) == (up.primaries, up.replicas),
        "{shown} holds a cluster of {} primaries with {} replicas each: say so with --primaries \
         and --replicas, or give another --dir",
        local.primaries,
        local.replicas
    );
    let first = local.nodes[0].port;
    ensure!(
        up.port.is_none_or(|port| port == first),
        "{shown} holds a cluster at port {first}: leave --port out, or give another --dir"
    );
    for node in &local.nodes {
        for port in [node.port, node.bus_port] {
            free_ports(Some(port), 1)?;
        }
    }
    local.module = find_module(up.module.as_deref())?;
    local.server.clone_from(&up.server);
    Ok(local)
}

/// Lays out a new cluster in an empty directory.
fn lay_out(up: &UpArgs, dir: &Path) -> Result<Local> {
    let is_empty = fs::read_dir(dir)?.next().is_none();
    ensure!(
        is_empty,
        "{} holds other things: give --dir an empty directory, or one that is not there",
        dir.display()
    );
    let module = find_module(up.module.as_deref())?;
    let count = up.primaries * (1 + up.replicas);
    let first = free_ports(up.port, 2 * count)?;
    let node =
        |index| RunningNode { port: first + index, bus_port: first + count + index, process: None };
    Ok(Local {
        server: up.server.clone(),
        module,
        primaries: up.primaries,
        replicas: up.replicas,
        nodes: (0..count).map(node).collect(),
    })
}

fn start(local: &mut Local, patience: &join::StartupWait<'_>, is_new: bool) -> Result<()> {
    for index in 0..local.nodes.len() {
        patience.machine.check()?;
        local.start(patience.dir, index)?;
    }
    join::wait_for_answers(local, patience)?;
    for node in &local.nodes {
        let pid = node.process.map_or(0, Process::pid);
        println!("  127.0.0.1:{}  process {pid}", node.port);
    }
    if is_new {
        join::join(local, patience)?;
    }
    join::wait_until_ok(local, patience)
}
