//! Doors for a test, and a client.

use crate::node::Node;
use crate::process::Process;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;
use ureq::Agent;

/// Bound and interval of polls.
const LOOKS_MAX: usize = 600;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Timeout of a node where no node hangs: a machine busy with other tests may delay a node for seconds.
const NODES_PATIENCE_MS: &str = "15000";
/// Timeout where a node is down or hangs: longer than pauses of the machine.
pub(crate) const IMPATIENCE_MS: &str = "8000";

/// A running `scurry http`.
pub(crate) struct Door {
    process: Process,
    agent: Agent,
}

/// An answer of charging.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    /// Null if empty or not JSON.
    pub(crate) body: Value,
}

impl Reply {
    /// Returns a header, empty if missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// Status and body.
pub(crate) type Answer = (u16, Vec<u8>);

impl Door {
    /// Opens a door before these nodes and waits until all of them count.
    pub(crate) fn open(nodes: &[Node]) -> Door {
        let addresses: Vec<String> = nodes.iter().map(Node::address).collect();
        let door = Door::before(&addresses, &[]);
        door.wait_until_ready(nodes.len());
        door
    }

    /// Opens a door for a test in which a node is down, with a shorter timeout.
    pub(crate) fn open_impatient(nodes: &[Node]) -> Door {
        let addresses: Vec<String> = nodes.iter().map(Node::address).collect();
        let door = Door::before(&addresses, &["--patience-ms", IMPATIENCE_MS]);
        door.wait_until_ready(nodes.len());
        door
    }

    /// Opens a door to the nodes at these addresses, which may be unreachable.
    pub(crate) fn before(addresses: &[String], more: &[&str]) -> Door {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["http", "--listen", "127.0.0.1:0", "--log", "info", "--nodes"]);
        Door::start(command.arg(addresses.join(",")), more)
    }

    /// Opens a door before a store of accounts, without entities.
    pub(crate) fn charging(store: &str, more: &[&str]) -> Door {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["http", "--listen", "127.0.0.1:0", "--log", "info", "--store", store]);
        Door::start(&mut command, more)
    }

    fn start(command: &mut Command, more: &[&str]) -> Door {
        command.args(more);
        if !more.contains(&"--patience-ms") {
            command.args(["--patience-ms", NODES_PATIENCE_MS]);
        }
        let process = Process::start(command);
        let config = Agent::config_builder().http_status_as_error(false);
        let config = config.allow_non_standard_methods(true);
        let agent = config.timeout_global(Some(PATIENCE)).build().into();
        Door { process, agent }
    }

    /// Sends a request with a JSON body, or without a body if it is empty.
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
        let reply = serde_json::from_slice(&text).unwrap_or_default();
        record_nchf(path, body, answer.status().as_u16(), &reply);
        let body = reply;
        Reply { status: answer.status().as_u16(), headers: answer.headers().clone(), body }
    }

    /// Sends a request with an Idempotency-Key.
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

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Returns the lines logged so far, those before it was ready included.
    pub(crate) fn whole_log(&self) -> String {
        self.process.whole_log()
    }

    /// Returns the lines logged so far.
    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// Waits until the entity has expired.
    pub(crate) fn wait_until_gone(&self, path: &str) {
        for _ in 0..LOOKS_MAX {
            if self.get(path).0 == 404 {
                return;
            }
            thread::sleep(LOOK_EVERY); // tidy: allow (its end has to come)
        }
        panic!("{path} is still there");
    }

    /// Waits until this many nodes count.
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

/// Appends a request of Nchf and its answer to the file that SCURRY_NCHF_RECORDS names, for testing/nchf/validate.py.
pub(crate) fn record_nchf(path: &str, request: &str, status: u16, answer: &Value) {
    let Some((_, rest)) = path.split_once("/nchf-convergedcharging/") else { return };
    let version = rest.split('/').next().unwrap_or_default();
    let has_failed = status >= 400;
    // What was left out of a request was wrong on purpose.
    let is_wrong = has_failed || answer.get("invocationResult").is_some();
    let request: Value = serde_json::from_str(request).unwrap_or_default();
    let schema = if has_failed { "ProblemDetails" } else { "ChargingDataResponse" };
    if !is_wrong {
        record("ChargingDataRequest", version, &request);
    }
    if !answer.is_null() {
        record(schema, version, answer);
    }
}

/// Appends one body, of this schema and version, to the same file.
pub(crate) fn record(schema: &str, version: &str, body: &Value) {
    let Some(file) = std::env::var_os("SCURRY_NCHF_RECORDS") else { return };
    let line = json!({"schema": schema, "version": version, "body": body}).to_string() + "\n";
    let file = OpenOptions::new().create(true).append(true).open(file);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("it is written");
}

/// Returns the path of schemathesis, in the version that scripts/install-tools.sh pins.
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
