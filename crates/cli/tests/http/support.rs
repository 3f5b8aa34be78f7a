//! Nodes and doors of a test's own, and a client.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use ureq::Agent;

/// How often something is looked for that has to come, and how long between.
const LOOKS_MAX: usize = 600;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that is stopped when dropped.
struct Process {
    child: Child,
    port: u16,
}

impl Process {
    fn start(command: &mut Command) -> Process {
        command.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_REQUIREPASS");
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut said = String::new();
        let port = loop {
            let begin = said.len();
            log.read_line(&mut said).expect("a line is read");
            assert!(said.len() > begin, "it did not start: {said}");
            if let Some(rest) = said[begin..].trim().strip_prefix("listening on 127.0.0.1:") {
                break rest.parse().expect("a port");
            }
        };
        // It must be able to go on logging.
        thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = log.read_to_end(&mut rest);
        });
        Process { child, port }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A node that can be stopped and started again at its port.
pub(crate) struct Node {
    process: Option<Process>,
    port: u16,
    /// Without it nothing survives.
    directory: Option<TempDir>,
    tombstone_ms: u32,
    threads: usize,
}

impl Node {
    fn start(keeps: bool, tombstone_ms: u32) -> Node {
        Node::start_with(keeps, tombstone_ms, 1)
    }

    fn start_with(keeps: bool, tombstone_ms: u32, threads: usize) -> Node {
        let directory = keeps.then(|| TempDir::new().expect("a directory"));
        let port = free_port();
        let mut node = Node { process: None, port, directory, tombstone_ms, threads };
        node.start_again();
        node
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    pub(crate) fn start_again(&mut self) {
        let config = TempDir::new().expect("a directory");
        let file = config.path().join("scurry.toml");
        let text = format!("entity_tombstone_ms = {}\n", self.tombstone_ms);
        std::fs::write(&file, text).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command
            .args(["serve", "--listen", &self.address(), "--log", "warn", "--config"])
            .arg(&file)
            .args(["--threads", &self.threads.to_string()]);
        match &self.directory {
            Some(directory) => {
                command.args(["--durability", "write", "--dir"]).arg(directory.path())
            }
            None => command.args(["--durability", "none"]),
        };
        self.process = Some(Process::start(&mut command));
    }

    pub(crate) fn pause(&self) {
        self.process.as_ref().expect("it runs").signal(Signal::SIGSTOP);
    }

    pub(crate) fn go_on(&self) {
        self.process.as_ref().expect("it runs").signal(Signal::SIGCONT);
    }

    /// Asks the node itself.
    pub(crate) fn ask(&self, words: &[&str]) -> redis::Value {
        let client =
            redis::Client::open(format!("redis://{}", self.address())).expect("an address");
        let mut connection = client.get_connection_with_timeout(PATIENCE).expect("it listens");
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut connection).expect("an answer")
    }

    /// Whether it has a copy, whatever that says.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.ask(&["ENTITY.GET", id, "WITHVERSION"]) != redis::Value::Nil
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Nodes that keep what they have over a restart.
pub(crate) fn keeping(count: usize) -> Vec<Node> {
    (0..count).map(|_| Node::start(true, 86_400_000)).collect()
}

/// Nodes that are empty after a restart.
pub(crate) fn forgetting(count: usize) -> Vec<Node> {
    (0..count).map(|_| Node::start(false, 86_400_000)).collect()
}

/// A server of several threads, which looks like a cluster.
pub(crate) fn threaded(threads: usize) -> Node {
    Node::start_with(false, 86_400_000, threads)
}

/// Nodes that keep what they have, and remember deletions for so long.
pub(crate) fn remembering(count: usize, tombstone_ms: u32) -> Vec<Node> {
    (0..count).map(|_| Node::start(true, tombstone_ms)).collect()
}

/// A running `scurry http`.
pub(crate) struct Door {
    process: Process,
    agent: Agent,
}

/// All of an answer that charging gives.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    /// Null where there is none, or where it is no JSON.
    pub(crate) body: Value,
}

impl Reply {
    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// A status and a body.
pub(crate) type Answer = (u16, Vec<u8>);

impl Door {
    /// Before these nodes; all of them count.
    pub(crate) fn open(nodes: &[Node]) -> Door {
        let addresses: Vec<String> = nodes.iter().map(Node::address).collect();
        let door = Door::before(&addresses, &[]);
        door.wait_until_ready(nodes.len());
        door
    }

    /// Before these addresses, whatever is there.
    pub(crate) fn before(addresses: &[String], more: &[&str]) -> Door {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["http", "--listen", "127.0.0.1:0", "--log", "warn", "--nodes"]);
        Door::start(command.arg(addresses.join(",")).args(more))
    }

    /// Before a store of accounts, and no entities.
    pub(crate) fn charging(store: &str, more: &[&str]) -> Door {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["http", "--listen", "127.0.0.1:0", "--log", "warn", "--store", store]);
        Door::start(command.args(more))
    }

    fn start(command: &mut Command) -> Door {
        let process = Process::start(command);
        let config = Agent::config_builder().http_status_as_error(false);
        let config = config.allow_non_standard_methods(true);
        let agent = config.timeout_global(Some(PATIENCE)).build().into();
        Door { process, agent }
    }

    /// A request with a JSON body; without a body where it is empty.
    pub(crate) fn ask(&self, request: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let (method, path) = request.split_once(' ').expect("a method and a path");
        let mut builder = ureq::http::Request::builder().method(method).uri(self.url(path));
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        if !body.is_empty() && !headers.iter().any(|(name, _)| *name == "Content-Type") {
            builder = builder.header("Content-Type", "application/json");
        }
        let answer = if body.is_empty() {
            self.agent.run(builder.body(()).expect("a request"))
        } else {
            self.agent.run(builder.body(body).expect("a request"))
        };
        let mut answer = answer.expect("an answer");
        let text = answer.body_mut().read_to_vec().expect("a body");
        let body = serde_json::from_slice(&text).unwrap_or_default();
        Reply { status: answer.status().as_u16(), headers: answer.headers().clone(), body }
    }

    /// The same with an Idempotency-Key.
    pub(crate) fn ask_once(&self, request: &str, key: &str, body: &str) -> Reply {
        self.ask(request, &[("Idempotency-Key", key)], body)
    }

    pub(crate) fn port(&self) -> u16 {
        self.process.port
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        read(self.agent.get(self.url(path)).call())
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        read(self.agent.delete(self.url(path)).call())
    }

    pub(crate) fn put(&self, path: &str, body: &[u8]) -> Answer {
        read(self.agent.put(self.url(path)).send(body))
    }

    pub(crate) fn put_for(&self, path: &str, body: &[u8], ttl_ms: &str) -> Answer {
        read(self.agent.put(self.url(path)).header("Entity-TTL-Ms", ttl_ms).send(body))
    }

    /// Waits until so many nodes count.
    pub(crate) fn wait_until_ready(&self, count: usize) {
        let mut status = Vec::new();
        for _ in 0..LOOKS_MAX {
            status = self.get("/v0/status").1;
            let text = String::from_utf8_lossy(&status);
            if text.matches(r#""state":"ready""#).count() == count {
                return;
            }
            thread::sleep(LOOK_EVERY); // tidy: allow (the other process has to get there)
        }
        panic!("not {count} nodes are ready: {}", String::from_utf8_lossy(&status));
    }
}

/// Schemathesis, of the version that scripts/install-tools.sh pins.
pub(crate) fn schemathesis() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join(".cache/schemathesis/bin/schemathesis");
    assert!(program.exists(), "schemathesis is missing: scripts/install-tools.sh tests");
    program
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
    let mut answer = answer.expect("an answer");
    let body = answer.body_mut().read_to_vec().expect("a body");
    (answer.status().as_u16(), body)
}
