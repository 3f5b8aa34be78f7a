//! A group on this machine as its directory has it: which nodes there are, and which process is each.

use crate::machine::{self, Process};
use anyhow::{Context, Result, bail};
use scurry_cluster_client::Address;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const FILE: &str = "group.toml";
/// The store of a node, in the directory of the node.
const STORE: &str = "data";

/// An answer that takes longer is none: a node that stands still says nothing.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// A group of servers on this machine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Group {
    /// Of each node.
    pub(super) threads: u16,
    /// All nodes have had a vote: a directory that is empty now joins.
    pub(super) is_made: bool,
    /// The one that begins the group first.
    pub(super) nodes: Vec<Node>,
}

/// One node.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Node {
    /// The main port. Those of the threads come behind it, and then the one for other nodes.
    pub(super) port: u16,
    /// None while it is down.
    pub(super) process: Option<Process>,
}

impl Node {
    /// The port of the first thread: it answers by itself, where the main port asks the leader.
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

    /// The store in its directory.
    pub(super) fn store(&self, dir: &Path) -> PathBuf {
        self.directory(dir).join(STORE)
    }

    /// The end of what it has logged.
    pub(super) fn last_words(&self, dir: &Path) -> String {
        machine::last_words(&self.directory(dir))
    }
}

impl Group {
    /// A new group of so many nodes, from this port on.
    pub(super) fn new(nodes: u16, threads: u16, first: u16) -> Group {
        let step = Group::ports_of_node(threads);
        let node = |index| Node { port: first + index * step, process: None };
        Group { threads, is_made: false, nodes: (0..nodes).map(node).collect() }
    }

    /// Ports that a node takes.
    pub(super) fn ports_of_node(threads: u16) -> u16 {
        threads + 2
    }

    /// The group of a directory, if there is one.
    pub(super) fn read(dir: &Path) -> Result<Option<Group>> {
        machine::read(dir, FILE)
    }

    /// As [`Group::read`], where there has to be one.
    pub(super) fn existing(dir: &Path) -> Result<Group> {
        Group::read(dir)?.with_context(|| {
            format!("{} holds no group: `scurry replica up --dir` makes one", dir.display())
        })
    }

    /// Writes it down.
    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        machine::write(dir, FILE, self)
    }

    /// Takes away what a start that has failed has left of a new group.
    pub(super) fn remove(&self, dir: &Path) {
        // The next start says what is in its way.
        let _ = fs::remove_file(dir.join(FILE));
        for node in &self.nodes {
            let _ = fs::remove_dir_all(node.directory(dir));
        }
    }

    /// Has the first node begin the group when it is started: said once.
    pub(super) fn order_begin(&self, dir: &Path) -> Result<()> {
        let home = self.nodes[0].directory(dir);
        fs::create_dir_all(&home).with_context(|| format!("{} cannot be made", home.display()))?;
        Ok(scurry_disk::order_begin(&self.nodes[0].store(dir))?)
    }

    /// Starts a node's process, and writes down which it is.
    pub(super) fn start(&mut self, dir: &Path, index: usize) -> Result<()> {
        let home = self.nodes[index].directory(dir);
        fs::create_dir_all(&home).with_context(|| format!("{} cannot be made", home.display()))?;
        let program = std::env::current_exe().context("this program's own place is not known")?;
        let mut command = Command::new(program);
        // A password of this shell's server is none of these, which listen on this machine alone.
        command.args(self.arguments(index)).env_remove("SCURRY_REQUIREPASS");
        self.nodes[index].process = Some(machine::start(&mut command, &home)?);
        self.write(dir)
    }

    fn arguments(&self, index: usize) -> Vec<String> {
        let port = self.nodes[index].port;
        let own = |port: u16| format!("127.0.0.1:{port}");
        let peer = |node: &Node| own(node.port + 1 + self.threads);
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

    /// Stops the nodes that run, and waits for their end. Returns how many there were.
    pub(super) fn stop(&mut self, dir: &Path) -> Result<usize> {
        let stopped = machine::stop(self.nodes.iter().filter_map(|node| node.process))?;
        for node in &mut self.nodes {
            node.process = None;
        }
        self.write(dir)?;
        Ok(stopped)
    }

    /// Fails when a node has ended.
    pub(super) fn check(&self, dir: &Path) -> Result<()> {
        for node in self.nodes.iter().filter(|node| node.process.is_some()) {
            if !node.is_alive() {
                bail!("the node at port {} has ended: {}", node.port, node.last_words(dir));
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
