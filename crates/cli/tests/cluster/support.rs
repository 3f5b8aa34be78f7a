//! The binary, servers, and clusters that are stopped however the test ends.

use crate::said::{Said, scurry};
use scurry_cluster_client::redis::{Cmd, Value, cmd};
use scurry_cluster_client::{Address, Node, Store};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// Number of nodes that are primaries at first, from the first one on.
const PRIMARIES: u16 = 3;
const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOKS_MAX: u32 = 600;

/// Returns libscurry.so: the file named by `SCURRY_MODULE`, else that of this build.
pub(crate) fn module() -> &'static Path {
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

/// A local cluster of 3 primaries with one replica each.
pub(crate) struct Cluster {
    pub(crate) dir: TempDir,
    pub(crate) first: u16,
}

impl Cluster {
    pub(crate) fn up() -> Cluster {
        let mut cluster = Cluster { dir: TempDir::new().expect("a directory"), first: 0 };
        let said = cluster.up_again().well();
        let port = said.split("127.0.0.1:").nth(1).and_then(|rest| rest.split_whitespace().next());
        cluster.first = port.and_then(|port| port.parse().ok()).expect("a port");
        cluster
    }

    pub(crate) fn up_again(&self) -> Said {
        let module = module().to_str().expect("text");
        scurry(&["cluster", "up", "--dir", self.path(), "--module", module])
    }

    pub(crate) fn path(&self) -> &str {
        self.dir.path().to_str().expect("text")
    }

    pub(crate) fn down(&self) -> Said {
        scurry(&["cluster", "down", "--dir", self.path()])
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.first)
    }

    pub(crate) fn node(&self, index: u16) -> Node {
        let text = format!("127.0.0.1:{}", self.first + index);
        Node::connect(&Address::new(&text, None, None)).expect("it answers")
    }

    /// Waits until each replica reports that it has caught up with its primary. A primary acknowledges before that, and
    /// loses with its death what only it has.
    pub(crate) fn wait_for_replicas(&self) {
        let replication = |node: &mut Node| {
            node.text("INFO", cmd("INFO").arg("replication")).expect("it answers")
        };
        let after = |text: &str, name: &str| -> Option<u64> {
            let rest = text.split(name).nth(1)?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse().ok()
        };
        for mut node in (0..PRIMARIES).map(|index| self.node(index)) {
            let wanted = after(&replication(&mut node), "master_repl_offset:").expect("a primary");
            // A replica reports once a second.
            let caught_up = (0..LOOKS_MAX).any(|_| {
                std::thread::sleep(LOOK_EVERY); // tidy: allow (the condition has no event to wait for)
                after(&replication(&mut node), ",offset=").is_some_and(|has| has >= wanted)
            });
            assert!(caught_up, "a replica does not get what its primary has");
        }
    }

    /// Returns the process of each node, in the order of their ports.
    pub(crate) fn processes(&self) -> Vec<i32> {
        processes_in(self.dir.path())
    }
}

/// Returns the processes recorded in a cluster's directory.
pub(crate) fn processes_in(dir: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(dir.join("cluster.toml")).unwrap_or_default();
    let pids = text.lines().filter_map(|line| line.strip_prefix("pid = "));
    pids.map(|pid| pid.parse().expect("a number")).collect()
}

/// Reports whether a process still runs. A zombie does not count.
pub(crate) fn runs(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let said = self.down();
        if !said.well && !std::thread::panicking() {
            panic!("{}", said.all);
        }
    }
}

/// A `scurry serve` on a free port, stopped when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    dir: TempDir,
    /// Kept open so that the server can write its log.
    _log: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(threads: &str) -> Server {
        Server::start_in(TempDir::new().expect("a directory"), threads, &[])
    }

    /// Starts a server with more options.
    pub(crate) fn start_with(threads: &str, options: &[&str]) -> Server {
        Server::start_in(TempDir::new().expect("a directory"), threads, options)
    }

    fn start_in(dir: TempDir, threads: &str, options: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--durability", "write"]);
        command.args(["--threads", threads, "--dir"]).arg(dir.path().join("data")).args(options);
        command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut said = String::new();
        let port = loop {
            let begin = said.len();
            let len = log.read_line(&mut said).expect("a line is read");
            assert!(len > 0, "the server did not start: {said}");
            let Some(rest) = said[begin..].strip_prefix("listening on 127.0.0.1:") else {
                continue;
            };
            let digits = rest.split_whitespace().next().expect("a port");
            break digits.parse().expect("a port");
        };
        Server { child, port, dir, _log: log }
    }

    /// Kills it and starts it again on its directory.
    pub(crate) fn killed_and_started(mut self, threads: &str) -> Server {
        self.kill();
        let dir = std::mem::replace(&mut self.dir, TempDir::new().expect("a directory"));
        Server::start_in(dir, threads, &[])
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn kill(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn store(address: &str) -> Store {
    Store::connect(&Address::new(address, None, None)).expect("it answers")
}

/// Makes a command from a line of words.
pub(crate) fn words(line: &str) -> Cmd {
    let mut words = line.split(' ');
    let mut command = cmd(words.next().expect("a name"));
    for word in words {
        command.arg(word);
    }
    command
}

/// Sends a line of words and returns the reply on one line.
#[track_caller]
pub(crate) fn ask(store: &mut Store, line: &str) -> String {
    match store.ask(&words(line)) {
        Ok(reply) => shown(&reply),
        Err(error) => format!("-{error}"),
    }
}

pub(crate) fn shown(reply: &Value) -> String {
    match reply {
        Value::Nil => "nil".to_owned(),
        Value::Okay => "OK".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => bytes.escape_ascii().to_string(),
        Value::Array(parts) => {
            format!("[{}]", parts.iter().map(shown).collect::<Vec<_>>().join(" "))
        }
        other => format!("{other:?}"),
    }
}
