//! Nodes of a group as processes, and a client that reads replies as text.

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Timeout of conditions and replies, long enough for a stalled machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Interval of polls.
const PAUSE: Duration = Duration::from_millis(20);

struct Node {
    child: Option<Child>,
    main: u16,
    peer: u16,
}

/// Nodes, stopped when dropped.
pub(crate) struct Nodes {
    directory: TempDir,
    nodes: Vec<Node>,
    threads: u16,
    /// Options of every node started from now on.
    options: Vec<String>,
    /// True if every node has an HTTP door.
    has_doors: bool,
    /// Configuration that trusts the ports for clients, if they use TLS.
    trust: Option<Arc<ClientConfig>>,
    /// Library that gives each node its own wall clock.
    clocks: Option<PathBuf>,
    /// Binary of nodes started from now on.
    pub(crate) binary: PathBuf,
    /// Number that selects the next node to ask.
    next: AtomicUsize,
}

impl Nodes {
    /// Starts `count` nodes with `threads` threads each: the first founds the group, and the others join it.
    pub(crate) fn start(count: usize, threads: u16) -> Nodes {
        Nodes::start_with(count, threads, Vec::new())
    }

    /// Starts a group with more options.
    pub(crate) fn start_with(count: usize, threads: u16, options: Vec<String>) -> Nodes {
        Nodes::start_trusted(count, threads, options, None)
    }

    /// Starts a group with an HTTP door at each node.
    pub(crate) fn start_with_doors(count: usize, threads: u16, options: Vec<String>) -> Nodes {
        let mut nodes = Nodes::of(threads);
        (nodes.options, nodes.has_doors) = (options, true);
        nodes.and(count)
    }

    /// Starts a group whose ports for clients use TLS.
    pub(crate) fn start_trusted(
        count: usize,
        threads: u16,
        options: Vec<String>,
        trust: Option<Arc<ClientConfig>>,
    ) -> Nodes {
        let mut nodes = Nodes::of(threads);
        (nodes.options, nodes.trust) = (options, trust);
        nodes.and(count)
    }

    /// Starts a group with another version of the binary.
    pub(crate) fn start_of(binary: PathBuf, count: usize, threads: u16) -> Nodes {
        let mut nodes = Nodes::of(threads);
        nodes.binary = binary;
        nodes.and(count)
    }

    /// Starts a group that the first node founds with the existing store in this directory.
    pub(crate) fn start_from(store: &Path, count: usize, threads: u16) -> Nodes {
        Nodes::start_from_with(store, count, threads, Vec::new())
    }

    /// Starts such a group with more options.
    pub(crate) fn start_from_with(
        store: &Path,
        count: usize,
        threads: u16,
        options: Vec<String>,
    ) -> Nodes {
        let mut nodes = Nodes::of(threads);
        nodes.options = options;
        std::fs::rename(store, nodes.path("node-0")).expect("it is moved");
        nodes.and(count)
    }

    /// Starts a group whose nodes have wall clocks that can be set. None if the library is not installed.
    pub(crate) fn start_with_clocks(count: usize, threads: u16) -> Option<Nodes> {
        let libraries = std::fs::read_dir("/usr/lib").expect("it is there").flatten();
        let mut places = libraries.map(|of| of.path().join("faketime/libfaketimeMT.so.1"));
        let Some(library) = places.find(|library| library.exists()) else {
            println!(
                "left out: no libfaketime (the package faketime) sets the clock of one process"
            );
            return None;
        };
        let mut nodes = Nodes::of(threads);
        nodes.clocks = Some(library);
        Some(nodes.and(count))
    }

    /// Sets a node's wall clock by an offset in days. The node sees it within a second.
    pub(crate) fn set_clock(&self, node: usize, days: i32) {
        let new = self.path("clock");
        std::fs::write(&new, format!("{days:+}d\n")).expect("it is written");
        std::fs::rename(new, self.path(&format!("node-{node}.clock"))).expect("it is set");
    }

    /// Returns an empty set of nodes.
    pub(crate) fn of(threads: u16) -> Nodes {
        let directory = tempfile::tempdir().expect("a directory");
        let (next, nodes) = (AtomicUsize::new(0), Vec::new());
        Nodes {
            directory,
            nodes,
            threads,
            options: Vec::new(),
            has_doors: false,
            trust: None,
            clocks: None,
            binary: PathBuf::from(env!("CARGO_BIN_EXE_scurry")),
            next,
        }
    }

    /// Starts more nodes, which join one after another.
    pub(crate) fn and(mut self, count: usize) -> Nodes {
        let (threads, nodes) = (self.threads, &mut self);
        for node in nodes.nodes.len()..nodes.nodes.len() + count {
            let ports = free_ports(threads + 3);
            nodes.nodes.push(Node { child: None, main: ports, peer: ports + threads + 1 });
            if node == 0 {
                begin_in(&nodes.path("node-0"));
            }
            nodes.spawn(node);
            nodes.until("the node has a leader", || {
                nodes
                    .status(node)
                    .filter(|said| said.contains("leader=") && !said.contains("leader=none"))
            });
        }
        self.wait_for_all();
        self
    }

    /// Starts one more node that joins, without waiting for it.
    pub(crate) fn begin_one_more(&mut self) {
        let ports = free_ports(self.threads + 2);
        self.nodes.push(Node { child: None, main: ports, peer: ports + self.threads + 1 });
        self.spawn(self.nodes.len() - 1);
    }

    /// Returns the number of nodes, including those that have ended.
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Starts a server without a group on an existing directory.
    pub(crate) fn single(dir: &Path, durability: &str) -> Nodes {
        let mut nodes = Nodes::of(1);
        let log = File::create(nodes.path("node-0.log")).expect("a log");
        let main = free_ports(1);
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["serve", "--listen", &format!("127.0.0.1:{main}")]);
        command.args(["--durability", durability, "--dir"]).arg(dir);
        command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null()).stderr(log);
        let child = Some(command.spawn().expect("the binary starts"));
        nodes.nodes.push(Node { child, main, peer: 0 });
        nodes
    }

    fn spawn(&mut self, node: usize) {
        let Node { main, peer, .. } = self.nodes[node];
        let name = format!("node-{node}");
        let log = File::options().append(true).create(true).open(self.path(&format!("{name}.log")));
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--listen", &format!("127.0.0.1:{main}")]);
        command.args(["--threads", &self.threads.to_string(), "--durability", "fsync"]);
        command.args(["--replicate", &format!("127.0.0.1:{peer}"), "--dir"]).arg(self.path(&name));
        let other = (0..self.nodes.len()).find(|other| *other != node);
        if let Some(other) = other {
            command.args(["--join", &self.peer_address(other)]);
        }
        if self.has_doors {
            command.args(["--http-listen", &self.http_address(node)]);
        }
        command.args(&self.options);
        if let Some(library) = &self.clocks {
            let clock = self.path(&format!("{name}.clock"));
            if !clock.exists() {
                std::fs::write(&clock, "+0\n").expect("it is written");
            }
            command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", clock);
            command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_RESET", "1");
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("NO_FAKE_STAT", "1");
        }
        command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log.expect("a log"));
        self.nodes[node].child = Some(command.spawn().expect("the binary starts"));
    }

    /// Returns the directory of a node.
    pub(crate) fn dir(&self, node: usize) -> PathBuf {
        self.path(&format!("node-{node}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the data directory of a node.
    pub(crate) fn directory_of(&self, node: usize) -> PathBuf {
        self.path(&format!("node-{node}"))
    }

    /// Sets the options of nodes started from now on.
    pub(crate) fn set_options(&mut self, options: Vec<String>) {
        self.options = options;
    }

    /// Returns the address at which other nodes reach a node.
    pub(crate) fn peer_address(&self, node: usize) -> String {
        format!("127.0.0.1:{}", self.nodes[node].peer)
    }

    /// Restarts a node on its directory.
    pub(crate) fn start_again(&mut self, node: usize) {
        self.end(node, Signal::SIGKILL);
        self.spawn(node);
    }

    /// Stops a node and starts it on its directory with other ports.
    pub(crate) fn start_elsewhere(&mut self, node: usize) {
        self.end(node, Signal::SIGTERM);
        let ports = free_ports(self.threads + 2);
        (self.nodes[node].main, self.nodes[node].peer) = (ports, ports + self.threads + 1);
        self.spawn(node);
    }

    /// Restarts a node with an empty directory, in place of its former identity if that is still a member.
    pub(crate) fn start_anew(&mut self, node: usize) {
        self.end(node, Signal::SIGKILL);
        std::fs::remove_dir_all(self.path(&format!("node-{node}"))).expect("it is removed");
        let lost = self.lost(node).map(|id| ["--replaces".to_owned(), id]);
        self.options.extend(lost.iter().flatten().cloned());
        self.spawn(node);
        self.options.truncate(self.options.len() - lost.map_or(0, |words| words.len()));
    }

    /// Returns the id of the member that the others know at a node's address.
    fn lost(&self, node: usize) -> Option<String> {
        let at = format!(",peer={},", self.peer_address(node));
        let others = (0..self.nodes.len()).filter(|other| *other != node);
        let said = others
            .filter(|other| self.nodes[*other].child.is_some())
            .find_map(|other| self.status(other))?;
        let line = said.lines().find(|line| line.contains(&at))?;
        Some(line.split_once("id=")?.1.split(',').next()?.to_owned())
    }

    /// Stops a node and returns its directory.
    pub(crate) fn stop(&mut self, node: usize) -> PathBuf {
        self.end(node, Signal::SIGTERM);
        self.path(&format!("node-{node}"))
    }

    fn end(&mut self, node: usize, signal: Signal) {
        if let Some(mut child) = self.nodes[node].child.take() {
            // It may have ended already.
            let _ = kill(pid(&child), signal);
            child.wait().expect("it ends");
        }
    }

    /// Sends a signal to a node. After SIGKILL the node has ended and its ports are free when this returns.
    pub(crate) fn signal(&self, node: usize, signal: Signal) {
        let pid = pid(self.nodes[node].child.as_ref().expect("it runs"));
        kill(pid, signal).expect("it runs");
        if signal == Signal::SIGKILL {
            // The process stays a zombie, so that it can be waited for again.
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            waitid(Id::Pid(pid), flags).expect("it is a child");
        }
    }

    /// Returns the id of a node's process.
    pub(crate) fn process(&self, node: usize) -> u32 {
        self.nodes[node].child.as_ref().expect("it runs").id()
    }

    /// Returns the main port of a node, another one each time. The node may have ended.
    pub(crate) fn any_port(&self) -> u16 {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.nodes[next % self.nodes.len()].main
    }

    pub(crate) fn main_port(&self, node: usize) -> u16 {
        self.nodes[node].main
    }

    /// Returns the address of a node's HTTP door.
    pub(crate) fn http_address(&self, node: usize) -> String {
        format!("127.0.0.1:{}", self.nodes[node].peer + 1)
    }

    /// Returns the port of a node's first thread.
    pub(crate) fn thread_port(&self, node: usize) -> u16 {
        self.nodes[node].main + 1
    }

    /// Returns a node's lines about its group.
    pub(crate) fn status(&self, node: usize) -> Option<String> {
        let mut client = self.connect(self.thread_port(node))?;
        client.patience(Duration::from_secs(2));
        let said = client.ask(&["SCUR.REPLICA", "STATUS"]).ok()?;
        Some(said.trim_start_matches('$').to_owned())
    }

    /// Sends a command to the port of a node's first thread.
    pub(crate) fn ask_node(&self, node: usize, words: &[&str]) -> Option<String> {
        let mut client = self.connect(self.thread_port(node))?;
        client.patience(Duration::from_secs(2));
        client.ask(words).ok()
    }

    /// Returns a number of a node's first shard.
    pub(crate) fn number(&self, node: usize, name: &str) -> Option<u64> {
        let said = self.status(node)?;
        let line = said.lines().find(|line| line.starts_with("shard0:"))?;
        let field =
            line.split([':', ',']).find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        field?.trim().parse().ok()
    }

    /// Returns a node's id.
    pub(crate) fn id(&self, node: usize) -> String {
        self.until("the node says its id", || {
            let said = self.status(node)?;
            let line = said.lines().find_map(|line| line.strip_prefix("scurry_group_node:"))?;
            Some(line.trim().to_owned())
        })
    }

    /// Returns the node, among these, that executes commands of all shards.
    pub(crate) fn leader_of(&self, nodes: &[usize]) -> Option<usize> {
        let serves = |node: &&usize| {
            self.status(**node).is_some_and(|said| {
                let mut shards = said.lines().filter(|line| line.starts_with("shard"));
                shards.all(|line| line.contains("serves=yes")) && said.contains("serves=yes")
            })
        };
        nodes.iter().find(serves).copied()
    }

    pub(crate) fn leader(&self) -> usize {
        let running: Vec<usize> =
            (0..self.nodes.len()).filter(|node| self.nodes[*node].child.is_some()).collect();
        self.until("a node leads", || self.leader_of(&running))
    }

    /// Waits until all nodes have a vote and have applied everything that the leader has committed.
    pub(crate) fn wait_for_all(&self) {
        let count = self.nodes.len();
        self.until("all nodes vote and have all", || {
            let leader = self.leader_of(&(0..count).collect::<Vec<_>>())?;
            let said = self.status(leader)?;
            let members = said.lines().filter(|line| line.starts_with("member"));
            let ready =
                members.filter(|line| line.contains("votes=yes") && line.contains("connected=yes"));
            let committed = self.number(leader, "committed")?;
            let have = (0..count).all(|node| self.number(node, "applied") >= Some(committed));
            (ready.count() == count && have).then_some(())
        });
    }

    /// Executes a command until it succeeds.
    pub(crate) fn execute(&self, words: &[&str]) -> String {
        self.until("a command is executed", || {
            self.try_execute(words).filter(|reply| !reply.starts_with('-'))
        })
    }

    /// Sends a command once, to the main port of any node.
    pub(crate) fn try_execute(&self, words: &[&str]) -> Option<String> {
        let reply = self.connect(self.any_port())?.ask(words).ok()?;
        Some(reply.trim().to_owned())
    }

    fn connect(&self, port: u16) -> Option<Client> {
        match &self.trust {
            None => Client::connect(port),
            Some(trust) => Client::connect_trusting(port, trust),
        }
    }

    /// Polls until `look` returns a value.
    #[expect(clippy::disallowed_methods, reason = "a test that hangs has to end")]
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: not yet; the logs:\n{}", self.logs());
            thread::sleep(PAUSE); // tidy: allow (nodes have no event for what is waited for)
        }
    }

    /// Returns the lines that a node has logged.
    pub(crate) fn log(&self, node: usize) -> String {
        std::fs::read_to_string(self.path(&format!("node-{node}.log"))).unwrap_or_default()
    }

    fn logs(&self) -> String {
        let log = |node| format!("node {node}:\n{}", self.log(node));
        (0..self.nodes.len()).map(log).collect()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in 0..self.nodes.len() {
            if let Some(mut child) = self.nodes[node].child.take() {
                // It may have ended already; in both cases it is gone afterwards.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Orders that a group is founded in this directory, which an operator does once.
pub(crate) fn begin_in(directory: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["replica", "init", "--dir"]).arg(directory).stdout(Stdio::null());
    assert!(command.status().expect("the binary starts").success(), "{}", directory.display());
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a pid"))
}

/// Ports shared by the tests of all processes, below the ephemeral ports of the system and the ports where `scurry
/// replica up` searches.
const PORTS: Range<u16> = 10_000..21_000;
/// Ports that are reserved together.
const BLOCK: u16 = 16;

/// Returns the first of `count` consecutive ports that are reserved while this process lives, so that a restarted node
/// gets its port again.
pub(crate) fn free_ports(count: u16) -> u16 {
    static TAKEN: Mutex<Vec<File>> = Mutex::new(Vec::new());
    assert!(count <= BLOCK, "a block of {BLOCK} ports has not so many");
    let locks = std::env::temp_dir().join("scurry-test-ports");
    std::fs::create_dir_all(&locks).expect("a directory");
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    for first in PORTS.step_by(BLOCK.into()) {
        let lock = File::create(locks.join(first.to_string())).expect("a file");
        if lock.try_lock().is_ok() && (first..first + BLOCK).all(is_free) {
            TAKEN.lock().expect("nobody has panicked here").push(lock);
            return first;
        }
    }
    panic!("no ports are free")
}

/// Returns the output of a `scurry serve` that does not start.
pub(crate) fn refused(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
    command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let tries = PATIENCE.as_millis() / PAUSE.as_millis();
    let ends = (0..tries).any(|_| {
        thread::sleep(PAUSE); // tidy: allow (a process that serves has no event for that it goes on)
        child.try_wait().expect("it is a child").is_some()
    });
    if !ends {
        child.kill().expect("it runs");
    }
    let output = child.wait_with_output().expect("it has ended");
    assert!(ends && !output.status.success(), "it must not start");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A connection to a node.
pub(crate) struct Client {
    replies: BufReader<Box<dyn Wire>>,
    /// Socket under `replies`.
    stream: TcpStream,
}

/// A stream, with or without TLS.
trait Wire: Read + Write + Send {}

impl<S: Read + Write + Send> Wire for S {}

impl Client {
    pub(crate) fn connect(port: u16) -> Option<Client> {
        Client::over(port, |stream| Box::new(stream))
    }

    fn connect_trusting(port: u16, trust: &Arc<ClientConfig>) -> Option<Client> {
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        let session = ClientConnection::new(Arc::clone(trust), name).expect("a client");
        Client::over(port, |stream| Box::new(StreamOwned::new(session, stream)))
    }

    fn over(port: u16, wire: impl FnOnce(TcpStream) -> Box<dyn Wire>) -> Option<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_nodelay(true).ok()?;
        let replies = BufReader::new(wire(stream.try_clone().ok()?));
        let mut client = Client { replies, stream };
        client.patience(PATIENCE);
        Some(client)
    }

    pub(crate) fn patience(&mut self, patience: Duration) {
        self.stream.set_read_timeout(Some(patience)).expect("a time-out is set");
    }

    pub(crate) fn ask(&mut self, words: &[&str]) -> io::Result<String> {
        self.try_send(words)?;
        self.read()
    }

    pub(crate) fn send(&mut self, words: &[&str]) {
        self.try_send(words).expect("it is taken");
    }

    fn try_send(&mut self, words: &[&str]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.replies.get_mut().write_all(bytes.as_bytes())
    }

    /// Returns a reply as text: its parts as lines, each with the letter of its type.
    pub(crate) fn read(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let (kind, rest) = line.split_at(1);
        let count = rest.parse::<i64>().unwrap_or(-1);
        match (kind, usize::try_from(count)) {
            ("$", Ok(len)) => {
                let mut bytes = vec![0; len + 2];
                self.replies.read_exact(&mut bytes)?;
                Ok(format!("${}", String::from_utf8_lossy(&bytes[..len])))
            }
            ("*" | ">" | "%", Ok(count)) => {
                let parts = if kind == "%" { 2 * count } else { count };
                let mut all = String::new();
                for _ in 0..parts {
                    all.push_str(self.read()?.trim_start_matches('$'));
                    all.push('\n');
                }
                Ok(all)
            }
            _ => Ok(line.to_owned()),
        }
    }
}
