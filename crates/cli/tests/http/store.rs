//! A store with its HTTP door: `scurry serve --http-listen`.

use crate::page::Page;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use ureq::Agent;

/// Bound and interval of polls.
const LOOKS_MAX: usize = 400;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Timeout of an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running store, stopped when dropped.
pub(crate) struct Store {
    child: Child,
    pub(crate) port: u16,
    pub(crate) http_port: u16,
    agent: Agent,
    log: mpsc::Receiver<String>,
    _directory: TempDir,
}

/// Returns the command that starts a store in a directory.
pub(crate) fn command(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_REQUIREPASS");
    command.args(["serve", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]);
    command.args(["--log", "warn", "--dir"]).arg(directory.path().join("store"));
    command.args(arguments);
    command
}

impl Store {
    pub(crate) fn start(arguments: &[&str]) -> Store {
        let directory = TempDir::new().expect("a directory");
        let command = command(&directory, arguments);
        Store::run(command, directory)
    }

    /// Starts a node that founds a group.
    pub(crate) fn start_group(arguments: &[&str]) -> Store {
        let directory = TempDir::new().expect("a directory");
        let mut init = Command::new(env!("CARGO_BIN_EXE_scurry"));
        init.args(["replica", "init", "--dir"]).arg(directory.path().join("store"));
        let said = init.stdout(Stdio::null()).status().expect("the binary starts");
        assert!(said.success(), "{said}");
        let command = command(&directory, arguments);
        Store::run(command, directory)
    }

    /// Starts it with one user, who may read. Returns the user's token too.
    pub(crate) fn with_reader() -> (Store, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_scurry")).arg("make-token").output();
        let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
        let words: Vec<&str> = text.split_whitespace().collect();
        let directory = TempDir::new().expect("a directory");
        let file = directory.path().join("scurry.toml");
        let users =
            format!("[[users]]\nname = \"r\"\ntoken_hash = \"{}\"\nroles = [\"read\"]\n", words[3]);
        std::fs::write(&file, users).expect("a file");
        let arguments = ["--config", file.to_str().expect("UTF-8")];
        (Store::run(command(&directory, &arguments), directory), words[1].to_owned())
    }

    pub(crate) fn run(mut command: Command, directory: TempDir) -> Store {
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let (mut said, mut port, mut http_port) = (String::new(), None, None);
        while http_port.is_none() {
            let begin = said.len();
            log.read_line(&mut said).expect("a line is read");
            assert!(said.len() > begin, "it did not start: {said}");
            let line = &said[begin..];
            if let Some(rest) = line.strip_prefix("listening on 127.0.0.1:") {
                port = rest.split_whitespace().next().and_then(|digits| digits.parse().ok());
            }
            if let Some((_, rest)) = line.split_once("://127.0.0.1:") {
                http_port = rest.split_whitespace().next().and_then(|digits| digits.parse().ok());
            }
        }
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let config = Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(PATIENCE)).build().into();
        let (port, http_port) = (port.expect("a port"), http_port.expect("a port"));
        Store { child, port, http_port, agent, log: lines, _directory: directory }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.http_port)
    }

    /// Returns status and body of a GET.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.get_as("", path)
    }

    /// Makes a GET with this header `Authorization`, none if empty.
    pub(crate) fn get_as(&self, authorization: &str, path: &str) -> (u16, String) {
        let request = self.agent.get(self.url(path));
        let request = match authorization {
            "" => request,
            value => request.header("Authorization", value),
        };
        let mut answer = request.call().expect("an answer");
        let body = answer.body_mut().read_to_string().expect("text");
        (answer.status().as_u16(), body)
    }

    /// Makes a PUT of JSON with this header `Authorization`. Returns status and body.
    pub(crate) fn put_as(&self, authorization: &str, path: &str, body: &str) -> (u16, String) {
        let request = self.agent.put(self.url(path)).header("Authorization", authorization);
        let answer = request.header("Content-Type", "application/json").send(body);
        let mut answer = answer.expect("an answer");
        let body = answer.body_mut().read_to_string().expect("text");
        (answer.status().as_u16(), body)
    }

    pub(crate) fn connect(&self) -> redis::Connection {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port));
        let client = client.expect("an address");
        client.get_connection().expect("it listens")
    }

    /// Returns the page of metrics.
    pub(crate) fn metrics(&self) -> Page {
        let (status, text) = self.get("/metrics");
        assert_eq!(status, 200, "{text}");
        Page(text)
    }

    /// Waits until this holds for the metrics, and returns the page.
    pub(crate) fn metrics_when(&self, holds: impl Fn(&Page) -> bool) -> Page {
        for _ in 0..LOOKS_MAX {
            let page = self.metrics();
            if holds(&page) {
                return page;
            }
            thread::sleep(LOOK_EVERY); // tidy: allow (the other process has to get there)
        }
        panic!("it never came: {}", self.metrics().0);
    }

    /// Limits the size of files, in bytes or `unlimited`: a write beyond it fails as on a full disk.
    pub(crate) fn limit_files(&self, len: &str) {
        let arguments = ["--pid", &self.pid().to_string(), &format!("--fsize={len}:unlimited")];
        let status = Command::new("prlimit").args(arguments).status().expect("prlimit is there");
        assert!(status.success());
    }

    /// Stops it with SIGTERM. Returns the exit status and the log.
    pub(crate) fn stop(mut self) -> (ExitStatus, String) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid"));
        kill(pid, Signal::SIGTERM).expect("it runs");
        let status = self.child.wait().expect("it ends");
        let mut log = String::new();
        while let Ok(line) = self.log.recv_timeout(PATIENCE) {
            let _ = writeln!(log, "{line}");
        }
        (status, log)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends bytes and returns everything received until the end of the connection.
pub(crate) fn say(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
    // The door may close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
