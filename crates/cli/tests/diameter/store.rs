//! Servers and doors as processes, and commands to servers.

use crate::page::Page;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// How long a test waits for an answer or a line of a log: longer than any pause of the machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process of this build, stopped when dropped.
pub(crate) struct Process {
    child: Child,
    /// Port of the store; 0 for a door alone.
    pub(crate) port: u16,
    /// Port of the Diameter door; 0 for a store alone.
    pub(crate) diameter: u16,
    /// Port of the HTTP door; 0 without one.
    pub(crate) http: u16,
    log: Arc<Mutex<String>>,
    /// Settings file.
    pub(crate) files: TempDir,
}

impl Process {
    /// Starts a store without a disk, with a door that has these settings.
    pub(crate) fn with_settings(settings: &str) -> Process {
        Process::start(&["serve", "--durability", "none", "--listen", "127.0.0.1:0"], settings)
    }

    /// Starts a store with a log, and with a door that has these settings.
    pub(crate) fn with_log(settings: &str) -> Process {
        let words = ["serve", "--durability", "write", "--dir", ".", "--listen", "127.0.0.1:0"];
        Process::start(&words, settings)
    }

    /// Starts a door before a store.
    pub(crate) fn door_before(store: &Process, settings: &str) -> Process {
        Process::impatient_door_before(store, settings, "60000")
    }

    /// Starts a door that waits for the store for so many ms.
    pub(crate) fn impatient_door_before(store: &Process, settings: &str, ms: &str) -> Process {
        let address = format!("127.0.0.1:{}", store.port);
        Process::start(&["diameter", "--store", &address, "--patience-ms", ms], settings)
    }

    fn start(words: &[&str], settings: &str) -> Process {
        Process::try_start(words, settings).unwrap_or_else(|said| panic!("no start: {said}"))
    }

    /// Starts a process and returns its output if that fails. `settings` are those of the file; each door listens on a
    /// free port.
    pub(crate) fn try_start(words: &[&str], settings: &str) -> Result<Process, String> {
        let files = TempDir::new().expect("a directory");
        let path = files.path().join("scurry.toml");
        std::fs::write(&path, settings).expect("a file");
        let option = if words[0] == "serve" { "--diameter-listen" } else { "--listen" };
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.current_dir(files.path());
        command.args(words).args([option, "127.0.0.1:0", "--config"]).arg(path);
        command.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_REQUIREPASS");
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let (mut port, mut http, mut said) = (0, 0, String::new());
        let diameter = loop {
            let begin = said.len();
            lines.read_line(&mut said).expect("a line is read");
            let line = said[begin..].trim();
            if line.is_empty() && said.len() == begin {
                let _ = child.wait();
                return Err(said);
            }
            if let Some(rest) = line.strip_prefix("listening on 127.0.0.1:") {
                port = rest.parse().expect("a port");
            } else if let Some((_, rest)) = line.split_once("http://127.0.0.1:") {
                http = rest.split(' ').next().expect("a port").parse().expect("a port");
            } else if let Some(rest) = line.strip_prefix("diameter listening on 127.0.0.1:") {
                break rest.parse().expect("a port");
            }
        };
        let log = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&log);
        // Keeps reading, so that the process can write its log.
        thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|len| len > 0) {
                kept.lock().expect("no panic").push_str(&line);
                line.clear();
            }
        });
        Ok(Process { child, port, diameter, http, log, files })
    }

    /// Returns the lines that it has logged since it was ready.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("no panic").clone()
    }

    /// Waits for a line of the log with these words, and returns it.
    pub(crate) fn logged(&self, words: &str) -> String {
        for _ in 0..6_000 {
            if let Some(line) = self.log().lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            thread::sleep(Duration::from_millis(10)); // tidy: allow (the door has to get there)
        }
        panic!("{words} is not logged: {}", self.log());
    }

    /// Returns status and body of a GET from the HTTP door.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.get_as(None, path)
    }

    /// Makes a GET with this header `Authorization`, if any.
    pub(crate) fn get_as(&self, authorization: Option<&str>, path: &str) -> (u16, String) {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.timeout_global(Some(PATIENCE)).build().into();
        let request = agent.get(format!("http://127.0.0.1:{}{path}", self.http));
        let answer = match authorization {
            Some(value) => request.header("Authorization", value).call(),
            None => request.call(),
        };
        let mut answer = answer.expect("an answer");
        let body = answer.body_mut().read_to_string().expect("text");
        (answer.status().as_u16(), body)
    }

    /// Waits until this holds for the metrics, and returns the page.
    pub(crate) fn metrics_when(&self, what: &str, holds: impl Fn(&Page) -> bool) -> Page {
        let mut page = Page(String::new());
        for _ in 0..6_000 {
            let (status, text) = self.get("/metrics");
            assert_eq!(status, 200, "{text}");
            page = Page(text);
            if holds(&page) {
                return page;
            }
            thread::sleep(Duration::from_millis(10)); // tidy: allow (the door has to get there)
        }
        panic!("this does not happen: {what}: {}", page.0);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    /// Sends a command of words to the store, and returns the reply.
    pub(crate) fn ask(&self, words: &str) -> redis::Value {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port));
        let mut connection = client.expect("an address").get_connection().expect("it listens");
        let mut words = words.split_whitespace();
        let mut command = redis::cmd(words.next().expect("a command"));
        words.for_each(|word| {
            command.arg(if word == "\"\"" { "" } else { word });
        });
        command.query(&mut connection).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the available and held units of the account's first bucket.
    pub(crate) fn balance(&self, account: &str) -> (i64, i64) {
        use redis::Value::{Array, Int};
        let Array(reply) = self.ask(&format!("SCUR.HOLDS {account}")) else { panic!("no holds") };
        let Some(Array(buckets)) = reply.get(3) else { panic!("no buckets in {reply:?}") };
        let Some(Array(bucket)) = buckets.first() else { panic!("no bucket in {reply:?}") };
        let &[_, _, Int(available), Int(held)] = &bucket[..] else { panic!("{bucket:?}") };
        (available, held)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
