//! A local cluster as its directory has it: which nodes there are, and which process is each.

use super::process::Process;
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use scurry_cluster_client::Address;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const FILE: &str = "cluster.toml";
/// How often is looked, and how long for the end of a node.
pub(super) const POLL_EVERY: Duration = Duration::from_millis(50);
const STOP_POLLS: u32 = 200;
const LOG_TAIL: usize = 600;

/// A local cluster.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Local {
    pub(super) server: PathBuf,
    pub(super) module: PathBuf,
    pub(super) primaries: u16,
    pub(super) replicas: u16,
    /// Primaries first.
    pub(super) nodes: Vec<Node>,
}

/// One node.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Node {
    pub(super) port: u16,
    /// The port at which nodes talk to each other.
    pub(super) bus_port: u16,
    /// None while it is down.
    pub(super) process: Option<Process>,
}

impl Node {
    pub(super) fn address(&self) -> Address {
        Address::new(&format!("127.0.0.1:{}", self.port), None, None)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.process.is_some_and(Process::is_alive)
    }

    fn directory(&self, dir: &Path) -> PathBuf {
        dir.join(format!("node-{}", self.port))
    }

    /// The end of what it has logged.
    pub(super) fn last_words(&self, dir: &Path) -> String {
        let log = fs::read(self.directory(dir).join("log")).unwrap_or_default();
        let tail = &log[log.len().saturating_sub(LOG_TAIL)..];
        let text = String::from_utf8_lossy(tail).trim().to_owned();
        if text.is_empty() { "it logged nothing".to_owned() } else { text }
    }
}

impl Local {
    /// The cluster of a directory, if there is one.
    pub(super) fn read(dir: &Path) -> Result<Option<Local>> {
        let path = dir.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let local = toml::from_str(&text);
                local.map(Some).with_context(|| format!("{} cannot be understood", path.display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
        }
    }

    /// As [`Local::read`], where there has to be one.
    pub(super) fn existing(dir: &Path) -> Result<Local> {
        Local::read(dir)?.with_context(|| {
            format!("{} holds no cluster: `scurry cluster up --dir` makes one", dir.display())
        })
    }

    /// Writes it down. What was there before stays until this is whole.
    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let (path, new) = (dir.join(FILE), dir.join(format!("{FILE}.new")));
        fs::write(&new, toml::to_string(self)?)
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Starts a node's process, and writes down which it is.
    pub(super) fn start(&mut self, dir: &Path, index: usize) -> Result<()> {
        let node = &self.nodes[index];
        let home = node.directory(dir);
        fs::create_dir_all(&home).with_context(|| format!("{} cannot be made", home.display()))?;
        fs::write(home.join("valkey.conf"), self.settings(node))?;
        let log = File::create(home.join("log"))?;
        // A group of its own: Ctrl-C is for this program, which then stops what it has started.
        let child = Command::new(&self.server)
            .arg("valkey.conf")
            .current_dir(&home)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("{} cannot be started", self.server.display()))?;
        let process = Process::of(child.id());
        let process = process.with_context(|| self.nodes[index].last_words(dir))?;
        self.nodes[index].process = Some(process);
        self.write(dir)
    }

    /// docs/cluster.md says why each is so.
    fn settings(&self, node: &Node) -> String {
        let (port, bus_port) = (node.port, node.bus_port);
        let module = self.module.display();
        format!(
            "bind 127.0.0.1\nport {port}\ncluster-port {bus_port}\ndaemonize no\n\
             cluster-enabled yes\ncluster-config-file nodes.conf\ncluster-node-timeout 5000\n\
             appendonly yes\nappendfsync always\nsave \"\"\nmaxmemory-policy noeviction\n\
             repl-diskless-sync-delay 0\nloadmodule {module}\n"
        )
    }

    /// Stops the nodes that run, and waits for their end. Returns how many there were.
    pub(super) fn stop(&mut self, dir: &Path) -> Result<usize> {
        let alive: Vec<Process> =
            self.nodes.iter().filter_map(|node| node.process).filter(|p| p.is_alive()).collect();
        for process in &alive {
            process.signal(Signal::SIGTERM)?;
            // One that is stopped takes its end when it goes on.
            process.signal(Signal::SIGCONT)?;
        }
        for round in 0..=2 * STOP_POLLS {
            let left: Vec<&Process> = alive.iter().filter(|process| process.is_alive()).collect();
            if left.is_empty() {
                break;
            }
            if round == STOP_POLLS {
                for process in &left {
                    eprintln!("process {} does not end: it is killed", process.pid());
                    process.signal(Signal::SIGKILL)?;
                }
            }
            ensure!(round < 2 * STOP_POLLS, "process {} does not end", left[0].pid());
            thread::sleep(POLL_EVERY); // tidy: allow (nobody says when a process of another ends)
        }
        for node in &mut self.nodes {
            node.process = None;
        }
        self.write(dir)?;
        Ok(alive.len())
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
