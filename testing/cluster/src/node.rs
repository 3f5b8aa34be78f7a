//! One valkey-server of the cluster: a child process, so that no other process is ever stopped. The kernel kills it
//! when this program ends, in whatever way.

use crate::module::Module;
use crate::namespaces::Namespace;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use scurry_conformance::Value;
use scurry_crash::views;
use scurry_crash::wire::{Wire, words};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Silence after which the other nodes consider a node failed, ms.
pub(crate) const NODE_TIMEOUT_MS: u64 = 1_500;
/// Options of the module: the same bounds as `scurry_crash::limits`.
const LIMITS: &str = "tombstone_ms 86400000 transaction_ms 86400000 validity_ms_default 43200000 \
                      session_ids_max 16384 transactions_max 16384";
/// Bound of polls for the end of a node.
const STOP_LOOKS_MAX: u32 = 400;
const LOG_TAIL: usize = 1_500;

/// A node of the cluster.
#[derive(Debug)]
pub struct ClusterNode {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) bus_port: u16,
    pub(crate) home: PathBuf,
    pub(crate) namespace: Option<Namespace>,
    pub(crate) module: Module,
    child: Option<Child>,
    /// True while the node is stopped, paused or cut off, so that it is not asked.
    pub(crate) is_away: bool,
}

impl ClusterNode {
    /// Prepares a node with its own directory, without starting it.
    pub(crate) fn new(
        (host, port, bus_port): (String, u16, u16),
        home: PathBuf,
        namespace: Option<Namespace>,
        module: Module,
    ) -> Result<ClusterNode> {
        fs::create_dir_all(&home)?;
        Ok(ClusterNode {
            host,
            port,
            bus_port,
            home,
            namespace,
            module,
            child: None,
            is_away: true,
        })
    }

    /// Returns `HOST:PORT`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Starts it on its directory.
    pub fn start(&mut self) -> Result<()> {
        fs::write(self.home.join("valkey.conf"), self.settings())?;
        let log = File::options().create(true).append(true).open(self.home.join("log"))?;
        let prefix = self.namespace.as_ref().map(|own| own.prefix().to_vec()).unwrap_or_default();
        let program = ["setpriv", "--pdeathsig", "KILL", "valkey-server", "valkey.conf"];
        let mut all = prefix.into_iter().chain(program.map(str::to_owned));
        let child = Command::new(all.next().unwrap_or_default())
            .args(all)
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("setpriv (util-linux) cannot be started")?;
        (self.child, self.is_away) = (Some(child), false);
        Ok(())
    }

    /// Returns the settings of docs/cluster.md, except for a node timeout that is short enough for a test.
    fn settings(&self) -> String {
        let ClusterNode { host, port, bus_port, .. } = self;
        let module = self.module.0.display();
        format!(
            "bind {host}\nport {port}\ncluster-port {bus_port}\ndaemonize no\nprotected-mode no\n\
             cluster-enabled yes\ncluster-config-file nodes.conf\n\
             cluster-node-timeout {NODE_TIMEOUT_MS}\ncluster-allow-replica-migration no\n\
             appendonly yes\nappendfsync always\nsave \"\"\nmaxmemory-policy noeviction\n\
             repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\nshutdown-timeout 1\n\
             enable-debug-command yes\nloadmodule {module} {LIMITS}\n"
        )
    }

    /// Sends SIGKILL and waits for the end of the process.
    pub fn kill(&mut self) -> Result<()> {
        self.is_away = true;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Sends SIGSTOP.
    pub fn pause(&mut self) -> Result<()> {
        self.is_away = true;
        self.signal(Signal::SIGSTOP)
    }

    /// Sends SIGCONT.
    pub fn resume(&mut self) -> Result<()> {
        self.signal(Signal::SIGCONT)?;
        self.is_away = false;
        Ok(())
    }

    /// Sends SIGTERM, as a process manager does, and waits for the end.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.is_away = true;
        self.signal(Signal::SIGTERM)?;
        for _ in 0..STOP_LOOKS_MAX {
            let Some(child) = &mut self.child else { return Ok(()) };
            if child.try_wait()?.is_some() {
                self.child = None;
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(25)); // tidy: allow (a child that ends says nothing)
        }
        bail!("{} does not end: {}", self.address(), self.log_tail())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().context("the node does not run")?;
        let pid = i32::try_from(child.id()).context("the number of a process")?;
        kill(Pid::from_raw(pid), signal).with_context(|| format!("{} to {pid}", signal.as_str()))
    }

    /// Removes its data but not its identity in the cluster.
    pub(crate) fn empty(&self) -> Result<()> {
        let files = self.home.join("appendonlydir");
        fs::remove_dir_all(&files).with_context(|| format!("{}", files.display()))
    }

    /// Fails if it has ended without a signal of ours.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait()?
        {
            bail!("{} has ended by itself, {status}: {}", self.address(), self.log_tail());
        }
        Ok(())
    }

    /// Returns the end of its log.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(self.home.join("log")).unwrap_or_default();
        let tail = &log[log.len().saturating_sub(LOG_TAIL)..];
        String::from_utf8_lossy(tail).trim().to_owned()
    }

    /// Connects to it.
    pub(crate) fn wire(&self) -> Result<Wire> {
        let connected = Wire::connect_to((self.host.as_str(), self.port));
        connected.with_context(|| self.address())
    }

    /// Sends a command given as one line. An error of the server is an error.
    pub fn ask(&self, line: &str) -> Result<Value> {
        match self.wire()?.ask(&words(line))? {
            Value::Error(error) => bail!("{line} at {}: {error}", self.address()),
            reply => Ok(reply),
        }
    }

    /// Returns the node's reply to SCUR.GET as text, also from a replica.
    pub fn read(&self, id: &str) -> Result<String> {
        let mut wire = self.wire()?;
        let replies = wire.ask_all(&[words("READONLY"), views::get(id)])?;
        Ok(replies[1].to_string())
    }

    /// Sends a command as [`ClusterNode::ask`] does, and returns its text reply.
    pub fn text(&self, line: &str) -> Result<String> {
        scurry_crash::wire::text(&self.ask(line)?)
    }
}

impl Drop for ClusterNode {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.kill();
    }
}
