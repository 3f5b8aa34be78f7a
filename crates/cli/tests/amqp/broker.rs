//! RabbitMQ as a process, and a client that others wrote.

use crate::proxy::Proxy;
use crate::wait::{free_port, wait_until};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::File;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The script of the package beside it runs as another user.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const MISSING: &str = "a tool is missing: run scripts/install-tools.sh all";
pub(crate) const EXCHANGE: &str = "charging";
pub(crate) const QUEUE: &str = "all";

/// A broker, killed when dropped.
pub(crate) struct Broker {
    names: Child,
    child: Option<Child>,
    /// Port of clients that nothing cuts.
    pub(crate) direct: u16,
    pub(crate) proxy: Proxy,
    names_port: u16,
    files: TempDir,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) account: String,
    pub(crate) payload: String,
}

impl Broker {
    /// Starts a broker without an exchange.
    pub(crate) fn start() -> Broker {
        let files = TempDir::new().expect("a directory");
        let [direct, names_port] = [(); 2].map(|()| free_port());
        let mut names = Command::new("epmd");
        names.args(["-port", &names_port.to_string(), "-address", "127.0.0.1"]);
        let names = names.stdin(Stdio::null()).spawn().expect(MISSING);
        let proxy = Proxy::start(direct);
        let mut broker = Broker { names, child: None, direct, proxy, names_port, files };
        broker.restart();
        broker
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let group = i32::try_from(child.id()).expect("an id of a process");
            // It may have ended.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            let _ = child.wait();
        }
    }

    /// Starts it, and waits until it accepts connections.
    pub(crate) fn restart(&mut self) {
        let files = self.files.path();
        std::fs::write(files.join("plugins"), "[].").expect("a file");
        let log = File::options().append(true).create(true).open(files.join("out"));
        let log = log.expect("a file");
        let mut command = Command::new(SERVER);
        command.env("HOME", files).env("ERL_EPMD_PORT", self.names_port.to_string());
        command.env("ERL_EPMD_ADDRESS", "127.0.0.1");
        for (name, value) in [
            ("NODENAME", "test@localhost".to_owned()),
            ("NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
            ("NODE_PORT", self.direct.to_string()),
            ("DIST_PORT", free_port().to_string()),
            ("MNESIA_BASE", files.join("data").display().to_string()),
            ("LOG_BASE", files.join("log").display().to_string()),
            ("ENABLED_PLUGINS_FILE", files.join("plugins").display().to_string()),
            ("PID_FILE", files.join("pid").display().to_string()),
        ] {
            command.env(format!("RABBITMQ_{name}"), value);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
        self.child = Some(command.process_group(0).spawn().expect(MISSING));
        wait_until("the broker listens", || {
            let child = self.child.as_mut().expect("it was started");
            let said = || std::fs::read_to_string(files.join("out")).unwrap_or_default();
            assert!(child.try_wait().expect("a process").is_none(), "it ends: {}", said());
            TcpStream::connect(("127.0.0.1", self.direct)).is_ok()
        });
        // It listens before it serves.
        wait_until("the broker serves", || self.try_client(&["ready", QUEUE]).is_ok());
    }

    /// Runs the client, and returns what it prints.
    pub(crate) fn client(&self, words: &[&str]) -> String {
        self.try_client(words).unwrap_or_else(|said| panic!("{words:?}: {said}"))
    }

    fn try_client(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(Path::new(ROOT).join(".cache/amqp/bin/python"));
        command.arg(Path::new(ROOT).join("testing/amqp/events.py"));
        command.arg(self.direct.to_string()).args(words).stdin(Stdio::null());
        let output = command.output().expect(MISSING);
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).expect("text")),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Returns the words of a shipper, by a port.
    pub(crate) fn words(&self, port: u16, store: &str) -> Vec<String> {
        let url = format!("amqp://127.0.0.1:{port}");
        ["amqp", &url, "--exchange", EXCHANGE, "--from", store].map(str::to_owned).to_vec()
    }

    /// Waits until the queue of all events has so many more messages.
    pub(crate) fn grows(&self, more: u64) {
        let count = || self.client(&["count", QUEUE]).trim().parse::<u64>().expect("a number");
        let begun = count();
        wait_until("the queue grows", || count() >= begun + more);
    }

    /// Takes all messages of a queue.
    pub(crate) fn messages(&self, queue: &str) -> Vec<Message> {
        let message = |line: &str| {
            let words: Vec<_> = line.splitn(4, '\t').map(str::to_owned).collect();
            let [id, event, account, payload] = words.try_into().expect("four words");
            Message { id, event, account, payload }
        };
        self.client(&["read", queue]).lines().map(message).collect()
    }

    /// Checks that the queue of all events has each of these at least once, that repeated ones are the same, and that
    /// those of an account are in order: after each comes the next, or an earlier one. Returns how many were repeated.
    pub(crate) fn has_each(&self, events: &BTreeMap<String, Vec<String>>) -> usize {
        let mut places = BTreeMap::new();
        for (account, ids) in events {
            for (place, id) in ids.iter().enumerate() {
                places.insert(id.as_str(), (account.as_str(), place));
            }
        }
        let mut payloads = BTreeMap::new();
        let mut last = BTreeMap::new();
        let mut furthest = BTreeMap::new();
        let messages = self.messages(QUEUE);
        for message in &messages {
            let (_, id) = message.id.split_once('/').expect("a store and an id");
            let (account, place) = *places.get(id).expect("an event of the store");
            assert_eq!(account, message.account, "{message:?}");
            assert!(message.payload.starts_with(&format!("{{\"id\":\"{id}\"")), "{message:?}");
            assert!(message.payload.contains(&format!("\"event\":\"{}\"", message.event)));
            let before = payloads.insert(id, &message.payload);
            assert!(before.is_none_or(|before| before == &message.payload), "{message:?}");
            let next = last.insert(account, place).map_or(0, |last: usize| last + 1);
            assert!(place <= next, "{account}: {place} instead of {next}");
            let reached = furthest.entry(account).or_insert(place);
            *reached = place.max(*reached);
        }
        for (account, ids) in events {
            assert_eq!(furthest.get(account.as_str()), Some(&(ids.len() - 1)), "{account}");
        }
        assert_eq!(payloads.len(), places.len());
        let repeated = messages.len() - places.len();
        eprintln!("{} events, {repeated} repeated", places.len());
        repeated
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        // It may have ended.
        let _ = self.names.kill();
        let _ = self.names.wait();
    }
}
