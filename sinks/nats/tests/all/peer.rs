//! A real nats-server on a port that it keeps, and a connection to look at what it has.

use scurry_sink_nats::async_nats::{self, jetstream::Context};
use std::fs::File;
use std::net::TcpListener;
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Ports shared by the tests of all processes, below the ephemeral ports of the system.
const PORTS: Range<u16> = 10_000..21_000;
/// Ports that are reserved together.
const BLOCK: u16 = 16;

/// Returns a port that is reserved while this process lives, so that a restarted server gets it again.
fn free_port() -> u16 {
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

/// A running server with JetStream on disk, stopped when dropped.
pub(crate) struct Peer {
    child: Option<Child>,
    options: String,
    directory: TempDir,
    runtime: Runtime,
    pub(crate) port: u16,
}

impl Peer {
    pub(crate) fn start() -> Peer {
        Peer::with("")
    }

    /// Starts a server with lines of its settings.
    pub(crate) fn with(options: &str) -> Peer {
        let mut peer = Peer {
            child: None,
            options: options.to_owned(),
            directory: TempDir::new().expect("a directory"),
            runtime: Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .expect("threads"),
            port: free_port(),
        };
        peer.begin();
        peer
    }

    /// Starts it again, with what it has on its disk.
    pub(crate) fn begin(&mut self) {
        let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache");
        let cache = std::env::var("SCURRY_TEST_CACHE").unwrap_or(cache.to_owned());
        let directory = self.directory.path();
        let settings = format!(
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: {:?}, sync_interval: always }}\n{}\n",
            self.port,
            directory.join("data"),
            self.options
        );
        std::fs::write(directory.join("settings"), settings).expect("a file");
        let log = File::create(directory.join("log")).expect("a file");
        let child = Command::new(format!("{cache}/nats/bin/nats-server"))
            .arg("--config")
            .arg(directory.join("settings"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let Ok(child) = child else {
            panic!("nats-server is missing: run scripts/install-tools.sh all");
        };
        self.child = Some(child);
        for _ in 0..PATIENCE.as_millis() / LOOK_EVERY.as_millis() {
            let log = std::fs::read_to_string(directory.join("log")).expect("a log");
            let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("its state"));
            assert!(ended.is_none(), "nats-server did not start: {log}");
            if log.contains("Server is ready") {
                return;
            }
            std::thread::sleep(LOOK_EVERY); // tidy: allow (a log file has no event to wait for)
        }
        panic!("nats-server is not ready");
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

    /// Does something with a connection.
    #[track_caller]
    pub(crate) fn with_context<T>(&self, does: impl AsyncFnOnce(Context) -> T) -> T {
        self.runtime.block_on(async {
            let client = async_nats::connect(self.address()).await.expect("it listens");
            does(async_nats::jetstream::new(client)).await
        })
    }

    /// Returns the sequence of the last message of a stream.
    #[track_caller]
    pub(crate) fn last_sequence(&self, stream: &str) -> u64 {
        self.with_context(async |context| {
            let stream = context.get_stream(stream).await.expect("a stream");
            stream.cached_info().state.last_sequence
        })
    }

    /// Returns the ids of the events that the stream has for a subject.
    #[track_caller]
    pub(crate) fn events(&self, stream: &str, subject: &str) -> Vec<String> {
        self.with_context(async |context| {
            let stream = context.get_stream(stream).await.expect("a stream");
            let mut ids = Vec::new();
            for sequence in 1..=stream.cached_info().state.last_sequence {
                let message = stream.get_raw_message(sequence).await;
                if let Ok(message) = message.as_ref().map_err(|error| error.kind())
                    && message.subject.as_str() == subject
                {
                    ids.push(message.headers.get("Scurry-Id").expect("a header").to_string());
                }
            }
            ids
        })
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
