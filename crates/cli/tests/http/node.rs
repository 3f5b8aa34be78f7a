//! Nodes of entities for a test: servers of this build, and Valkey with the module of this build.

use crate::process::Process;
use nix::sys::signal::Signal;
use std::net::TcpListener;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

const STARTS_MAX: usize = 5;
const PORTS: Range<u16> = 10_000..21_000;
/// Ports reserved for a node: a server of several threads also uses the ports after its own.
const PORTS_EACH: u32 = 8;
/// Blocks of ports for one test, more than the nodes that any test has.
const BLOCKS_A_TEST: u32 = 64;

/// A node that can be stopped and restarted on the same port.
pub(crate) struct Node {
    process: Option<Process>,
    port: u16,
    /// None for a node that loses its data on a restart.
    directory: Option<TempDir>,
    kind: Kind,
}

/// Kind of a node's server.
enum Kind {
    /// `scurry serve` with these arguments.
    Scurry(Vec<String>),
    /// `valkey-server` with libscurry.so.
    Valkey,
}

impl Node {
    fn start(keeps: bool, kind: Kind) -> Node {
        let directory = keeps.then(|| TempDir::new().expect("a directory"));
        let mut node = Node { process: None, port: 0, directory, kind };
        let mut said = String::new();
        // A free port, or the one after it, may be taken before the server binds it.
        for _ in 0..STARTS_MAX {
            node.port = free_port();
            match node.run() {
                Ok(process) => {
                    node.process = Some(process);
                    return node;
                }
                Err(why) => said = why,
            }
        }
        panic!("it does not start: {said}");
    }

    fn run(&self) -> Result<Process, String> {
        match &self.kind {
            Kind::Scurry(arguments) => self.scurry(arguments),
            Kind::Valkey => self.valkey(),
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the ports of the server's threads.
    pub(crate) fn thread_ports(&self, threads: u16) -> Range<u16> {
        self.port + 1..self.port + 1 + threads
    }

    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    pub(crate) fn start_again(&mut self) {
        let process = self.run().unwrap_or_else(|said| panic!("it does not start: {said}"));
        self.process = Some(process);
    }

    fn scurry(&self, arguments: &[String]) -> Result<Process, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["serve", "--listen", &self.address(), "--log", "warn"]).args(arguments);
        match &self.directory {
            Some(directory) => {
                command.args(["--durability", "write", "--dir"]).arg(directory.path())
            }
            None => command.args(["--durability", "none"]),
        };
        Process::try_start(&mut command)
    }

    fn valkey(&self) -> Result<Process, String> {
        let mut command = Command::new("valkey-server");
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        if let Some(directory) = &self.directory {
            command.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]);
            command.arg(directory.path());
        }
        command.arg("--loadmodule").arg(module());
        Process::try_start_valkey(&mut command, self.port)
    }

    pub(crate) fn pause(&self) {
        self.process.as_ref().expect("it runs").signal(Signal::SIGSTOP);
    }

    pub(crate) fn go_on(&self) {
        self.process.as_ref().expect("it runs").signal(Signal::SIGCONT);
    }

    /// Sends a command directly to the node.
    pub(crate) fn ask(&self, words: &[&str]) -> redis::Value {
        let client =
            redis::Client::open(format!("redis://{}", self.address())).expect("an address");
        let mut connection = client.get_connection().expect("it listens");
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut connection).expect("an answer")
    }

    /// Reports whether it has a copy of any version.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.ask(&["ENTITY.GET", id, "WITHVERSION"]) != redis::Value::Nil
    }
}

/// Returns libscurry.so: the file named by `SCURRY_MODULE`, else that of this build.
fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| {
        if let Some(module) = std::env::var_os("SCURRY_MODULE") {
            return PathBuf::from(module);
        }
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--locked", "--package"])
            .args(["scurry-valkey-module", "--lib", "--profile", "module"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(
            built.is_ok_and(|status| status.success()),
            "build the module, or set SCURRY_MODULE"
        );
        let program = Path::new(env!("CARGO_BIN_EXE_scurry"));
        let target = program.ancestors().nth(2).expect("the target directory");
        target.join("module/libscurry.so")
    })
}

/// Returns a free port below the ephemeral ports of the system, so that no other program takes the port of a stopped
/// node by chance.
pub(crate) fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Another run at the same time begins elsewhere, and so does another test of this run, which has its own process
    // where the runner assigns it a slot.
    let slot = std::env::var("NEXTEST_TEST_GLOBAL_SLOT").ok().and_then(|slot| slot.parse().ok());
    let begin = std::os::unix::process::parent_id().wrapping_add(slot.unwrap_or(0) * BLOCKS_A_TEST);
    let is_free = |&port: &u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let blocks = u32::try_from(PORTS.len()).expect("a few") / PORTS_EACH;
    let mut ports = (0..blocks).map(|_| {
        let block = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % blocks;
        PORTS.start + u16::try_from(block * PORTS_EACH).expect("within the range")
    });
    ports.find(is_free).expect("a free port")
}

fn scurry(arguments: &[&str]) -> Kind {
    Kind::Scurry(arguments.iter().map(|word| (*word).to_owned()).collect())
}

/// Starts nodes that keep their data over a restart.
pub(crate) fn keeping(count: usize) -> Vec<Node> {
    (0..count).map(|_| Node::start(true, scurry(&["--threads", "1"]))).collect()
}

/// Starts nodes that are empty after a restart.
pub(crate) fn forgetting(count: usize) -> Vec<Node> {
    (0..count).map(|_| Node::start(false, scurry(&["--threads", "1"]))).collect()
}

/// Starts nodes that keep their data and list it by value.
pub(crate) fn indexed(count: usize) -> Vec<Node> {
    let arguments = ["--threads", "1", "--entity-index"];
    (0..count).map(|_| Node::start(true, scurry(&arguments))).collect()
}

/// Starts Valkey nodes with the module that keep their data over a restart.
pub(crate) fn valkey(count: usize) -> Vec<Node> {
    (0..count).map(|_| Node::start(true, Kind::Valkey)).collect()
}

/// Starts Valkey nodes with the module that are empty after a restart.
pub(crate) fn forgetting_valkey(count: usize) -> Vec<Node> {
    (0..count).map(|_| Node::start(false, Kind::Valkey)).collect()
}

/// Starts a server of several threads, which tells clients that it is at another address.
pub(crate) fn threaded_at(threads: usize, announced: &str) -> Node {
    let words = ["--threads", &threads.to_string(), "--announce-ip", announced];
    Node::start(false, scurry(&words))
}

/// Starts a server of several threads, which looks like a cluster.
pub(crate) fn threaded(threads: usize) -> Node {
    Node::start(false, scurry(&["--threads", &threads.to_string()]))
}
