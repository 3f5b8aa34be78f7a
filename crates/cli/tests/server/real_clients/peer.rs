//! Valkey servers for comparison. They show that the plain part of a session expects the replies of Redis, and the
//! cluster part those of a cluster.

use super::text;
use crate::support::tool;
use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Attempts before a server counts as not started. Each starts a process, which takes a while.
const TRIES_MAX: usize = 5_000;

/// Valkey servers of this test, stopped when dropped.
pub(crate) struct Peer {
    children: Vec<Child>,
    addresses: Vec<String>,
}

impl Peer {
    /// Starts one server.
    pub(crate) fn single() -> Peer {
        let mut peer = Peer { children: Vec::new(), addresses: Vec::new() };
        peer.start(&[]);
        peer.wait("PING", "PONG");
        peer
    }

    /// Starts three primaries, each with a third of the slots.
    pub(super) fn cluster() -> Peer {
        let mut peer = Peer { children: Vec::new(), addresses: Vec::new() };
        for _ in 0..3 {
            let bus = free_port().to_string();
            peer.start(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
        }
        peer.wait("PING", "PONG");
        let mut words = vec!["--cluster", "create", "--cluster-yes"];
        words.extend(peer.addresses.iter().map(String::as_str));
        let output = tool("valkey-cli", &words);
        assert!(output.status.success(), "{}", text(&output));
        peer.wait("CLUSTER INFO", "cluster_state:ok");
        peer.wait("CLUSTER INFO", "cluster_known_nodes:3");
        peer
    }

    /// Returns the address of the first server.
    pub(crate) fn address(&self) -> &str {
        &self.addresses[0]
    }

    fn start(&mut self, options: &[&str]) {
        let port = free_port();
        // A node stores its view of the cluster in its directory, so the directory must be empty.
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("valkey-{port}"));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory is made");
        let log = File::create(directory.join("log")).expect("a log is made");
        let mut command = Command::new("valkey-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]).args(options).current_dir(&directory);
        command.stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        let child = command.spawn();
        self.children.push(child.expect("valkey-server starts: else run scripts/install-tools.sh"));
        self.addresses.push(format!("127.0.0.1:{port}"));
    }

    /// Polls every server until its answer contains this text.
    fn wait(&self, question: &str, expected: &str) {
        for address in &self.addresses {
            let (_, port) = address.split_once(':').expect("host and port");
            let words: Vec<&str> = ["-p", port].into_iter().chain(question.split(' ')).collect();
            let answered =
                (0..TRIES_MAX).any(|_| text(&tool("valkey-cli", &words)).contains(expected));
            assert!(answered, "{address} did not answer {question} with {expected}");
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended already; in both cases it is gone afterwards.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns a free port.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}
