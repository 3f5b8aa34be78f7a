//! A real server of streams on a port that it keeps, and a connection to look at what it has.

use redis::Connection;
use std::fs::File;
use std::net::TcpListener;
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Ports shared by the tests of all processes, below the ephemeral ports of the system.
const PORTS: Range<u16> = 10_000..21_000;
/// Ports that are reserved together.
const BLOCK: u16 = 16;

/// Returns a port that is reserved while this process lives, so that a restarted server gets it again.
pub(crate) fn free_port() -> u16 {
    static TAKEN: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let locks = std::env::temp_dir().join("scurry-test-ports");
    std::fs::create_dir_all(&locks).expect("a directory");
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    for first in PORTS.step_by(BLOCK.into()) {
        let lock = File::create(locks.join(first.to_string())).expect("a file");
        if lock.try_lock().is_ok() && (first..first + BLOCK).all(is_free) {
            TAKEN.lock().expect("no test panics here").push(lock);
            return first;
        }
    }
    panic!("no ports are free")
}

/// A running server, stopped when dropped. Every write is on its disk before the reply.
pub(crate) struct Peer {
    child: Option<Child>,
    program: String,
    options: Vec<String>,
    pub(crate) directory: TempDir,
    pub(crate) port: u16,
}

impl Peer {
    /// Starts a server of Valkey.
    pub(crate) fn valkey(options: &[&str]) -> Peer {
        Peer::start("valkey-server", options)
    }

    /// Starts a server of a program, which may be that of Redis.
    pub(crate) fn start(program: &str, options: &[&str]) -> Peer {
        let directory = TempDir::new().expect("a directory");
        let port = free_port();
        // The ports after it are reserved too.
        let option = |option: &&str| option.replace("NEXT", &(port + 1).to_string());
        let options = options.iter().map(option).collect();
        let mut peer = Peer { child: None, program: program.to_owned(), options, directory, port };
        peer.begin();
        peer
    }

    /// Starts it again, with what it has on its disk.
    pub(crate) fn begin(&mut self) {
        let log = File::create(self.directory.path().join("log")).expect("a file");
        let mut command = Command::new(&self.program);
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "always"]).args(&self.options);
        command.current_dir(&self.directory).stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        let child = command.spawn();
        let Ok(child) = child else {
            panic!("{} is missing: run scripts/install-tools.sh", self.program);
        };
        self.child = Some(child);
        let looks = PATIENCE.as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..looks {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("its state"));
            assert!(ended.is_none(), "{} did not start: {ended:?}", self.program);
            let log = std::fs::read_to_string(self.directory.path().join("log")).expect("a log");
            if log.contains("eady to accept connections") {
                return;
            }
            std::thread::sleep(LOOK_EVERY); // tidy: allow (a log file has no event to wait for)
        }
        panic!("{} is not ready", self.program);
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn connect(&self) -> Connection {
        let client =
            redis::Client::open(format!("redis://{}", self.address())).expect("an address");
        client.get_connection().expect("it listens")
    }

    /// Returns the entries of a stream: ids and fields.
    #[track_caller]
    pub(crate) fn entries(&self, key: &str) -> Vec<(String, Vec<String>)> {
        let mut command = redis::cmd("XRANGE");
        command.arg(key).arg("-").arg("+").query(&mut self.connect()).expect("a stream")
    }

    /// Returns the field `id` of each entry.
    #[track_caller]
    pub(crate) fn events(&self, key: &str) -> Vec<String> {
        self.entries(key).into_iter().map(|(_, fields)| fields[1].clone()).collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already; in both cases it is gone afterwards.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
