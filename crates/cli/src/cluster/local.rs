//! A local cluster as recorded in its directory: its nodes and their processes.

use crate::machine::{self, Process};
use anyhow::{Context, Result, bail};
use scurry_cluster_client::Address;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE: &str = "cluster.toml";

/// A local cluster.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Local {
    pub(super) server: PathBuf,
    pub(super) module: PathBuf,
    pub(super) primaries: u16,
    pub(super) replicas: u16,
    /// Primaries first.
    pub(super) nodes: Vec<RunningNode>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunningNode {
    pub(super) port: u16,
    /// Port of the cluster bus, on which the nodes talk to each other.
    pub(super) bus_port: u16,
    /// None while it is down.
    pub(super) process: Option<Process>,
}

impl RunningNode {
    pub(super) fn address(&self) -> Address {
        Address::new(&format!("127.0.0.1:{}", self.port), None, None)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.process.is_some_and(Process::is_alive)
    }

    fn directory(&self, dir: &Path) -> PathBuf {
        dir.join(format!("node-{}", self.port))
    }

    /// Returns the end of the node's log.
    pub(super) fn log_tail(&self, dir: &Path) -> String {
        machine::log_tail(&self.directory(dir))
    }
}

impl Local {
    /// Reads the cluster of a directory. None if the directory has no cluster.
    pub(super) fn read(dir: &Path) -> Result<Option<Local>> {
        machine::read(dir, FILE)
    }

    /// Reads the cluster of a directory. Fails if the directory has no cluster.
    pub(super) fn existing(dir: &Path) -> Result<Local> {
        Local::read(dir)?.with_context(|| {
            format!("{} holds no cluster: `scurry cluster up --dir` makes one", dir.display())
        })
    }

    /// Starts a node's process and records which one it is.
    pub(super) fn start(&mut self, dir: &Path, index: usize) -> Result<()> {
        let node = &self.nodes[index];
        let home = node.directory(dir);
        fs::create_dir_all(&home).with_context(|| format!("{} cannot be made", home.display()))?;
        fs::write(home.join("valkey.conf"), self.settings(node))?;
        let process = machine::start(Command::new(&self.server).arg("valkey.conf"), &home)?;
        self.nodes[index].process = Some(process);
        machine::write(dir, FILE, self)
    }

    /// Returns the node's settings. docs/cluster.md gives the reason for each.
    fn settings(&self, node: &RunningNode) -> String {
        let (port, bus_port) = (node.port, node.bus_port);
        let module = self.module.display();
        format!(
            "bind 127.0.0.1\nport {port}\ncluster-port {bus_port}\ndaemonize no\n\
             cluster-enabled yes\ncluster-config-file nodes.conf\ncluster-node-timeout 5000\n\
             appendonly yes\nappendfsync always\nsave \"\"\nmaxmemory-policy noeviction\n\
             repl-diskless-sync-delay 0\nloadmodule {module}\n"
        )
    }

    /// Stops the running nodes and waits for their end. Returns how many were running.
    pub(super) fn stop(&mut self, dir: &Path) -> Result<usize> {
        let stopped = machine::stop(self.nodes.iter().filter_map(|node| node.process))?;
        for node in &mut self.nodes {
            node.process = None;
        }
        machine::write(dir, FILE, self)?;
        Ok(stopped)
    }

    /// Fails if a node that was started has ended.
    pub(super) fn check(&self, dir: &Path) -> Result<()> {
        for node in self.nodes.iter().filter(|node| node.process.is_some()) {
            if !node.is_alive() {
                bail!("the node at port {} has ended: {}", node.port, node.log_tail(dir));
            }
        }
        Ok(())
    }
}
