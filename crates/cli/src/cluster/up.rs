//! `scurry cluster up`.

use super::binary::{check_server, find_module};
use super::local::{Local, Node};
use super::{Up, join};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where free blocks are looked for: below the ports that the kernel gives to clients.
const PORTS: std::ops::Range<u16> = 21_000..32_000;

pub(super) fn run(up: &Up) -> Result<()> {
    let version = check_server(&up.server)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    fs::create_dir_all(&up.place.dir)
        .with_context(|| format!("{} cannot be made", up.place.dir.display()))?;
    let dir = up.place.dir.canonicalize()?;
    let (mut local, is_new) = match Local::read(&dir)? {
        Some(local) => (again(local, up, &dir)?, false),
        None => (lay_out(up, &dir)?, true),
    };
    println!("valkey-server {version}, module {}", local.module.display());
    let patience = join::Patience { dir: &dir, interrupted: &interrupted };
    let outcome = start(&mut local, &patience, is_new);
    if let Err(error) = outcome {
        let stopped = local.stop(&dir);
        if is_new {
            // So that the next attempt begins anew.
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

/// A cluster that is down.
fn again(mut local: Local, up: &Up, dir: &Path) -> Result<Local> {
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

/// A new cluster in an empty directory.
fn lay_out(up: &Up, dir: &Path) -> Result<Local> {
    let is_empty = fs::read_dir(dir)?.next().is_none();
    ensure!(
        is_empty,
        "{} holds other things: give --dir an empty directory, or one that is not there",
        dir.display()
    );
    let module = find_module(up.module.as_deref())?;
    let count = up.primaries * (1 + up.replicas);
    let first = free_ports(up.port, 2 * count)?;
    let node = |index| Node { port: first + index, bus_port: first + count + index, process: None };
    Ok(Local {
        server: up.server.clone(),
        module,
        primaries: up.primaries,
        replicas: up.replicas,
        nodes: (0..count).map(node).collect(),
    })
}

fn start(local: &mut Local, patience: &join::Patience<'_>, is_new: bool) -> Result<()> {
    for index in 0..local.nodes.len() {
        ensure!(!patience.interrupted.load(Ordering::Relaxed), "interrupted");
        local.start(patience.dir, index)?;
    }
    join::wait_for_answers(local, patience)?;
    for node in &local.nodes {
        let pid = node.process.map_or(0, super::process::Process::pid);
        println!("  127.0.0.1:{}  process {pid}", node.port);
    }
    if is_new {
        join::join(local, patience)?;
    }
    join::wait_until_ok(local, patience)
}

/// The first of so many ports that nobody uses: the one that was asked for, or any.
fn free_ports(first: Option<u16>, count: u16) -> Result<u16> {
    if let Some(first) = first {
        return match taken(first, count) {
            None => Ok(first),
            Some(port) => bail!(
                "port {port} is taken: stop what listens there, or give another --port ({count} \
                 ports from there on are needed)"
            ),
        };
    }
    // A cluster that starts at the same time begins elsewhere.
    let blocks = (PORTS.end - PORTS.start) / count;
    let begin = u16::try_from(std::process::id() % u32::from(blocks)).unwrap_or(0);
    for block in 0..blocks {
        let first = PORTS.start + (begin + block) % blocks * count;
        if taken(first, count).is_none() {
            return Ok(first);
        }
    }
    bail!("no {count} free ports between {} and {}: give --port", PORTS.start, PORTS.end)
}

/// A port of these that cannot be listened on.
fn taken(first: u16, count: u16) -> Option<u16> {
    (first..first.saturating_add(count))
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_named_and_passed_over() {
        let _alone = crate::cluster::CHILDREN.lock().expect("no test has failed");
        let first = free_ports(None, 4).expect("ports");
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, first + 2)).expect("it was free");
        let error = free_ports(Some(first), 4).expect_err("one is taken").to_string();
        assert!(error.contains(&format!("port {} is taken", first + 2)), "{error}");
        assert_ne!(free_ports(None, 4).expect("ports"), first);
        drop(other);
        assert_eq!(free_ports(Some(first), 4).expect("all are free"), first);
    }
}
