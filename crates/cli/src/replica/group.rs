//! A group on this machine as recorded in its directory: its nodes and their processes.

use crate::machine::{self, Process};
use anyhow::{Context, Result, bail};
use scurry_cluster_client::Address;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const FILE: &str = "group.toml";
/// Name of a node's data directory within the node's directory.
const STORE: &str = "data";

/// Timeout of a reply: a stopped node does not answer at all.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// A group of servers on this machine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Group {
    /// Threads of each node.
    pub(super) threads: u16,
    /// True once all nodes have had a vote. After that a node with an empty directory joins.
    pub(super) is_made: bool,
    /// Nodes. The first one founds the group.
    pub(super) nodes: Vec<GroupNode>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GroupNode {
    /// Main port. The ports of the threads follow it, then the port for other nodes.
    pub(super) port: u16,
    /// None while it is down.
    pub(super) process: Option<Process>,
}

impl GroupNode {
    /// Returns the address of the first thread. It answers for this node, while the main port forwards to the leader.
    pub(super) fn address(&self) -> Address {
        let address = Address::new(&format!("127.0.0.1:{}", self.port + 1), None, None);
        address.with_patience(ANSWER_PATIENCE)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.process.is_some_and(Process::is_alive)
    }

    pub(super) fn directory(&self, dir: &Path) -> PathBuf {
        dir.join(format!("node-{}", self.port))
    }

    /// Returns the node's data directory.
    pub(super) fn store(&self, dir: &Path) -> PathBuf {
        self.directory(dir).join(STORE)
    }

    /// Returns the end of the node's log.
    pub(super) fn log_tail(&self, dir: &Path) -> String {
        machine::log_tail(&self.directory(dir))
    }
}

impl Group {
    /// Lays out a new group of `nodes` nodes, from port `first` on.
    pub(super) fn new(nodes: u16, threads: u16, first: u16) -> Group {
        let step = Group::ports_of_node(threads);
        let node = |index| GroupNode { port: first + index * step, process: None };
        Group { threads, is_made: false, nodes: (0..nodes).map(node).collect() }
    }

    /// Returns the number of ports that a node uses.
    pub(super) fn ports_of_node(threads: u16) -> u16 {
        threads + 2
    }

    /// Reads the group of a directory. None if the directory has no group.
    pub(super) fn read(dir: &Path) -> Result<Option<Group>> {
        machine::read(dir, FILE)
    }

    /// Reads the group of a directory. Fails if the directory has no group.
    pub(super) fn existing(dir: &Path) -> Result<Group> {
        Group::read(dir)?.with_context(|| {
            format!("{} holds no group: `scurry replica up --dir` makes one", dir.display())
        })
    }

    /// Writes the group to its file.
    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        machine::write(dir, FILE, self)
    }

    /// Removes the files that a failed start of a new group left.
    pub(super) fn remove(&self, dir: &Path) {
        // Errors are ignored: the next start reports any obstacle.
        let _ = fs::remove_file(dir.join(FILE));
        for node in &self.nodes {
            let _ = fs::remove_dir_all(node.directory(dir));
        }
    }

    /// Orders the first node to found the group at its next start. Called once per group.
    pub(super) fn order_begin(&self, dir: &Path) -> Result<()> {
        let home = self.nodes[0].directory(dir);
        fs::create_dir_all(&home).with_context(|| format!("{} cannot be made", home.display()))?;
        Ok(scurry_disk::order_begin(&self.nodes[0].store(dir))?)
    }

    /// Starts a node's process and records which one it is.
    pub(super) fn start(&mut self, dir: &Path, index: usize) -> Result<()> {
        let home = self.nodes[index].directory(dir);
        fs::create_dir_all(&home).with_context(|| format!("{} cannot be made", home.display()))?;
        let program = std::env::current_exe().context("this program's own place is not known")?;
        let mut command = Command::new(program);
        // These nodes listen on this machine only and have no password, so the password in the environment is not
        // theirs.
        command.args(self.arguments(index)).env_remove("SCURRY_REQUIREPASS");
        self.nodes[index].process = Some(machine::start(&mut command, &home)?);
        self.write(dir)
    }

    fn arguments(&self, index: usize) -> Vec<String> {
        let port = self.nodes[index].port;
        let own = |port: u16| format!("127.0.0.1:{port}");
        let peer = |node: &GroupNode| own(node.port + 1 + self.threads);
        let mut words: Vec<String> = vec!["serve".to_owned()];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        option("--listen", own(port));
        option("--threads", self.threads.to_string());
        option("--core-port", (port + 1).to_string());
        option("--replicate", peer(&self.nodes[index]));
        option("--dir", STORE.to_owned());
        if self.is_made || index > 0 {
            let others = self.nodes.iter().filter(|node| node.port != port);
            let others: Vec<String> = others.map(peer).collect();
            if !others.is_empty() {
                option("--join", others.join(","));
            }
        }
        words
    }

    /// Stops the running nodes and waits for their end. Returns how many were running.
    pub(super) fn stop(&mut self, dir: &Path) -> Result<usize> {
        let stopped = machine::stop(self.nodes.iter().filter_map(|node| node.process))?;
        for node in &mut self.nodes {
            node.process = None;
        }
        self.write(dir)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(group: &Group, index: usize) -> String {
        group.arguments(index).join(" ")
    }

    #[test]
    fn the_first_node_begins_the_group_once_and_the_others_join() {
        let mut group = Group::new(3, 2, 7_000);
        assert_eq!(
            said(&group, 0),
            "serve --listen 127.0.0.1:7000 --threads 2 --core-port 7001 --replicate 127.0.0.1:7003 \
             --dir data"
        );
        let second = said(&group, 1);
        assert!(second.contains("--replicate 127.0.0.1:7007 "), "{second}");
        assert!(second.ends_with("--join 127.0.0.1:7003,127.0.0.1:7011"), "{second}");
        group.is_made = true;
        let first = said(&group, 0);
        assert!(first.ends_with("--join 127.0.0.1:7007,127.0.0.1:7011"), "{first}");
        let mut alone = Group::new(1, 1, 7_000);
        alone.is_made = true;
        assert!(!said(&alone, 0).contains("--join"));
    }
}
