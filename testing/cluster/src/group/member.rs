//! One `scurry serve` of the group: a child process, which the kernel kills when this program ends.

use super::client::ClientAddress;
use super::disk::{DelayedSyncs, Disk, MountedDevice};
use super::status::Status;
use super::{PORTS, THREADS};
use crate::namespaces::Namespace;
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use scurry_crash::wire::{Trust, Wire, text, words};
use scurry_crash::{Binary, SETTINGS};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Timeout of a reply at the main port.
const PATIENCE: Duration = Duration::from_secs(20);
/// Timeout of a status reply.
const STATUS_PATIENCE: Duration = Duration::from_secs(2);
/// Bound of polls for the end of a node.
const STOP_LOOKS_MAX: u32 = 1_200;
const LOG_TAIL: usize = 2_500;

/// What the nodes of a group have, beside their addresses.
#[derive(Clone, Debug)]
pub(crate) struct NodeSetup {
    pub(crate) disk: Disk,
    /// Library that gives a node its own wall clock.
    pub(crate) clock: Option<PathBuf>,
    /// Text of the settings file.
    pub(crate) settings: &'static str,
    /// Growth of a thread's log after which it writes a snapshot, as `--snapshot-log` takes it.
    pub(crate) snapshot_log: String,
    /// How much of its log a thread keeps, as `--keep-log` takes it. None keeps what it needs itself.
    pub(crate) keep_log: Option<&'static str>,
    /// True if it speaks TLS with the other nodes and with clients.
    pub(crate) tls: bool,
}

impl NodeSetup {
    /// Returns what the nodes of a round have: they forget nothing, and snapshots come quickly.
    pub(crate) fn of_round(disk: Disk, clock: Option<PathBuf>) -> NodeSetup {
        let snapshot_log = "1mb".to_owned();
        NodeSetup { disk, clock, settings: SETTINGS, snapshot_log, keep_log: None, tls: false }
    }
}

/// A node of the group.
pub(crate) struct Member {
    pub(crate) host: String,
    port: u16,
    pub(crate) home: PathBuf,
    pub(crate) namespace: Option<Namespace>,
    pub(crate) disk: Option<MountedDevice>,
    setup: NodeSetup,
    /// True while it uses the second of its ports for nodes.
    has_moved: bool,
    /// Options of the next start, beside those that all nodes have.
    pub(crate) options: Vec<String>,
    /// CA of its ports for clients. None if they are without TLS.
    pub(crate) trust: Option<Trust>,
    binary: Binary,
    child: Option<Child>,
    /// True while the node is stopped, paused or unreachable, so that it is not asked.
    pub(crate) is_away: bool,
    /// True while the fault may make the node end by itself.
    pub(crate) may_end: bool,
}

impl Member {
    /// Prepares a node without starting it.
    pub(crate) fn new(
        (host, port): (String, u16),
        home: PathBuf,
        namespace: Option<Namespace>,
        binary: &Binary,
        setup: NodeSetup,
    ) -> Result<Member> {
        fs::create_dir_all(&home)?;
        let disk = setup.disk.mount(&home.join("disk"))?;
        let binary = binary.clone();
        let (child, has_moved, is_away, may_end) = (None, false, true, false);
        let (options, trust) = (Vec::new(), None);
        Ok(Member {
            host,
            port,
            home,
            namespace,
            disk,
            setup,
            has_moved,
            options,
            trust,
            binary,
            child,
            is_away,
            may_end,
        })
    }

    /// Returns `HOST:PORT` of the main port.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns the address for clients.
    pub(crate) fn main(&self) -> ClientAddress {
        self.address(self.port)
    }

    fn address(&self, port: u16) -> ClientAddress {
        ClientAddress { host: self.host.clone(), port, trust: self.trust.clone() }
    }

    /// Returns the address for other nodes.
    pub(crate) fn peer(&self) -> String {
        format!("{}:{}", self.host, self.port + PORTS - 2 - u16::from(self.has_moved))
    }

    /// Returns the address of its HTTP door.
    pub(crate) fn door(&self) -> ClientAddress {
        self.address(self.port + PORTS - 1)
    }

    /// Returns its machine for clients, and its main port with those of its threads.
    pub(crate) fn client_ports(&self) -> (&str, Vec<u16>) {
        (&self.host, (self.port..=self.port + THREADS).collect())
    }

    /// Makes other nodes reach it at its other port from the next start on.
    pub(crate) fn move_away(&mut self) {
        self.has_moved = !self.has_moved;
    }

    /// Returns its data directory.
    pub(crate) fn store(&self) -> PathBuf {
        self.home.join("disk/store")
    }

    /// Reports whether its log has spare files that will be reused.
    pub(crate) fn has_spares(&self) -> bool {
        let cores = (0..THREADS).map(|core| self.store().join(format!("g1/{core}")));
        let files = cores.filter_map(|core| fs::read_dir(core).ok()).flatten().flatten();
        files
            .filter_map(|file| file.file_name().into_string().ok())
            .any(|name| name.starts_with("spare-0"))
    }

    /// Runs `scurry replica init` in its directory, which an operator does once per group.
    pub(crate) fn begin_group(&self) -> Result<()> {
        let mut command = Command::new(self.binary.path());
        command.args(["replica", "init", "--dir"]).arg(self.store()).stdout(Stdio::null());
        ensure!(command.status()?.success(), "{} begins no group", self.name());
        Ok(())
    }

    /// Starts it on its directory. With an empty one it joins these nodes.
    pub(crate) fn start(&mut self, others: Vec<String>, replaces: Option<&str>) -> Result<()> {
        let settings = self.home.join("settings.toml");
        fs::write(&settings, self.setup.settings)?;
        let log = File::options().create(true).append(true).open(self.home.join("log"))?;
        let prefix = self.namespace.as_ref().map(|own| own.prefix().to_vec()).unwrap_or_default();
        // The node is killed when this program ends, also by SIGKILL.
        let program = ["setpriv", "--pdeathsig", "KILL"].map(str::to_owned);
        let mut all = prefix.into_iter().chain(program);
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all).arg(self.binary.path());
        command.args(["serve", "--listen", &self.name(), "--replicate", &self.peer()]);
        command.args(["--threads", &THREADS.to_string(), "--durability", "fsync"]);
        command.arg("--allow-open-access-without-password");
        command.args(["--snapshot-log", &self.setup.snapshot_log]);
        if let Some(keep) = self.setup.keep_log {
            command.args(["--keep-log", keep]);
        }
        command.args(["--http-listen", &self.door().name()]).args(&self.options);
        command.arg("--config").arg(settings).arg("--dir").arg(self.store());
        if !others.is_empty() {
            command.args(["--join", &others.join(",")]);
        }
        if let Some(id) = replaces {
            command.args(["--replaces", id]);
        }
        if let Some(library) = &self.setup.clock {
            if !self.clock_file().exists() {
                self.set_clock(0)?;
            }
            // libfaketime reads the file every second. It must change the wall clock only, not the monotonic clock or
            // the times of files.
            command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", self.clock_file());
            command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_RESET", "1");
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("NO_FAKE_STAT", "1");
        }
        command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null());
        // Ctrl-C is for the test, which stops its nodes itself.
        command.stdout(Stdio::null()).stderr(log).process_group(0);
        let child = command.spawn().context("setpriv (util-linux) cannot be started")?;
        (self.child, self.is_away) = (Some(child), false);
        Ok(())
    }

    fn clock_file(&self) -> PathBuf {
        self.home.join("clock")
    }

    /// Sets its wall clock by this offset. The node sees it within a second.
    pub(crate) fn set_clock(&self, seconds: i64) -> Result<()> {
        let new = self.home.join("clock.new");
        fs::write(&new, format!("{seconds:+}\n"))?;
        fs::rename(new, self.clock_file()).context("the clock cannot be set")
    }

    /// Sends SIGKILL and waits for the end of the process.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.is_away = true;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Sends SIGSTOP.
    pub(crate) fn pause(&mut self) -> Result<()> {
        self.is_away = true;
        self.signal(Signal::SIGSTOP)
    }

    /// Sends SIGCONT.
    pub(crate) fn resume(&mut self) -> Result<()> {
        self.signal(Signal::SIGCONT)?;
        self.is_away = false;
        Ok(())
    }

    /// Sends SIGTERM, as a process manager does, and waits for the end.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.is_away = true;
        self.signal(Signal::SIGTERM)?;
        self.wait().map(drop)
    }

    /// Waits for the end of a node that is ending.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        for _ in 0..STOP_LOOKS_MAX {
            let child = self.child.as_mut().context("the node does not run")?;
            if let Some(status) = child.try_wait()? {
                (self.child, self.is_away) = (None, true);
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(25)); // tidy: allow (a child that ends says nothing)
        }
        bail!("{} does not end: {}", self.name(), self.log_tail())
    }

    /// Returns the exit status if it has ended by itself. None while it runs.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait()?;
        if status.is_some() {
            (self.child, self.is_away) = (None, true);
        }
        Ok(status)
    }

    /// Delays each of its syncs by this time.
    pub(crate) fn delay_syncs(&self, ms: u32) -> Result<DelayedSyncs> {
        DelayedSyncs::of(self.process()?, ms)
    }

    /// Returns the number of its process.
    pub(crate) fn process(&self) -> Result<u32> {
        Ok(self.child.as_ref().context("the node does not run")?.id())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.process()?).context("the number of a process")?;
        kill(Pid::from_raw(pid), signal).with_context(|| format!("{} to {pid}", signal.as_str()))
    }

    /// Removes its data directory.
    pub(crate) fn empty(&self) -> Result<()> {
        let store = self.store();
        fs::remove_dir_all(&store).with_context(|| format!("{}", store.display()))
    }

    /// Fails if it has ended without a signal of ours.
    pub(crate) fn check(&mut self) -> Result<()> {
        if self.may_end || self.is_away {
            return Ok(());
        }
        match self.ended()? {
            Some(status) => {
                bail!("{} has ended by itself, {status}: {}", self.name(), self.log_tail())
            }
            None => Ok(()),
        }
    }

    /// Returns its whole log.
    pub(crate) fn said(&self) -> String {
        let log = fs::read(self.home.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Returns the end of its log.
    pub(crate) fn log_tail(&self) -> String {
        let said = self.said();
        let start = said.len().saturating_sub(LOG_TAIL);
        said.get(start..).unwrap_or(&said).trim().to_owned()
    }

    /// Connects to the main port.
    pub(crate) fn wire(&self) -> Result<Wire> {
        self.main().wire(PATIENCE)
    }

    /// Connects to the port of a thread, which the node answers itself instead of forwarding to the leader.
    pub(crate) fn thread_wire(&self) -> Result<Wire> {
        self.wire_of_thread(0)
    }

    /// Connects to the port of this thread.
    pub(crate) fn wire_of_thread(&self, thread: u16) -> Result<Wire> {
        self.address(self.port + 1 + thread).wire(STATUS_PATIENCE)
    }

    /// Asks for the node's view of its group.
    pub(crate) fn status(&self) -> Result<Status> {
        let said = self.thread_wire()?.ask(&words("SCUR.REPLICA STATUS"))?;
        Status::read(&text(&said)?)
    }

    /// Returns the files of its log, the longest first.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        walk(&self.store(), &mut found)?;
        found.sort_by_key(|(len, _)| std::cmp::Reverse(*len));
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }
}

fn walk(dir: &Path, found: &mut Vec<(u64, PathBuf)>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("{}", dir.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), found)?;
        } else if entry.file_name().to_string_lossy().starts_with("log-") {
            found.push((entry.metadata()?.len(), entry.path()));
        }
    }
    Ok(())
}

impl Drop for Member {
    fn drop(&mut self) {
        // A frozen device would keep its process from ending.
        if let Some(disk) = &mut self.disk {
            disk.heal();
        }
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.kill();
    }
}
