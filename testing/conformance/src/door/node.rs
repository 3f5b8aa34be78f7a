//! The door to Valkey and Redis with the module, with a new server for each script. Scripts that name times need a
//! module whose clock can be set; the others use the server's clock.

use super::server::{Connection, Process, build, over_tcp, profile_dir};
use super::{Door, ScriptStore, is_named};
use crate::{Script, Value};
use anyhow::{Context, Result, bail, ensure};
use scurry_ledger::Time;
use scurry_resp::Protocol;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Attempts to start: a port that was free may be taken before the server binds it.
const STARTS_MAX: usize = 5;
/// Log line of a server that accepts clients.
const READY: &str = "Ready to accept connections";
/// Variable with the path of a prebuilt module that has a settable clock.
const MODULE_TEST_CLOCK: &str = "SCURRY_MODULE_TEST_CLOCK";
/// Variable with the path of a `valkey-server` 9.0 or newer.
const VALKEY_9: &str = "SCURRY_VALKEY9";

/// Door to a server with the module.
#[derive(Debug)]
pub struct NodeDoor {
    /// Name used in reports.
    name: &'static str,
    /// Name used in scripts: `valkey` or `redis`.
    product: &'static str,
    binary: PathBuf,
    module: PathBuf,
    /// True if the module's clock can be set.
    has_clock: bool,
    /// Directory of its files. None if it keeps none.
    directory: Option<PathBuf>,
}

impl NodeDoor {
    /// Makes a door to `valkey` or `redis`. Uses the module named by `SCURRY_MODULE_TEST_CLOCK`, else the one named by
    /// `SCURRY_MODULE`, which has no settable clock. Without either it builds the module of this workspace separately,
    /// with its own profile and a settable clock.
    pub fn find(product: &'static str) -> Result<NodeDoor> {
        let binary = PathBuf::from(format!("{product}-server"));
        if let Some(module) = std::env::var_os(MODULE_TEST_CLOCK) {
            let module = PathBuf::from(module);
            return Ok(NodeDoor {
                name: product,
                product,
                binary,
                module,
                has_clock: true,
                directory: None,
            });
        }
        if let Some(module) = std::env::var_os("SCURRY_MODULE") {
            let module = PathBuf::from(module);
            return Ok(NodeDoor {
                name: product,
                product,
                binary,
                module,
                has_clock: false,
                directory: None,
            });
        }
        let module = module_with_clock()?;
        Ok(NodeDoor { name: product, product, binary, module, has_clock: true, directory: None })
    }

    /// Makes a door to the Valkey named by `SCURRY_VALKEY9`. None if the variable is not set.
    pub fn valkey_9() -> Result<Option<NodeDoor>> {
        let Some(binary) = std::env::var_os(VALKEY_9) else {
            eprintln!("skipped: {VALKEY_9} names no valkey-server of Valkey 9.0 or newer");
            return Ok(None);
        };
        let door = NodeDoor::find("valkey")?;
        Ok(Some(NodeDoor { name: "valkey 9", binary: binary.into(), ..door }))
    }

    /// Returns a door that keeps its files in a directory. The server is killed at the end of a script.
    #[must_use]
    pub fn on(self, directory: &Path) -> NodeDoor {
        NodeDoor { directory: Some(directory.to_owned()), ..self }
    }

    fn start(&self, script: &Script, port: u16) -> Result<Option<Process>> {
        let binary = self.binary.display();
        let mut command = Command::new(&self.binary);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.arg("--loadmodule").arg(&self.module);
        for (name, value) in &script.limit_words {
            command.args([name, value]);
        }
        let directory = self.directory.clone().unwrap_or_else(std::env::temp_dir);
        command.current_dir(directory).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn();
        let mut child =
            child.map(Process).with_context(|| format!("no {binary}: scripts/install-tools.sh"))?;
        let mut reader = BufReader::new(child.0.stdout.take().context("no stdout")?);
        let mut said = String::new();
        while !said.contains(READY) {
            if reader.read_line(&mut said)? == 0 {
                ensure!(said.contains("already in use"), "{binary} does not start: {said}");
                return Ok(None);
            }
        }
        // Reads the rest of the log and discards it: a full pipe would block the server.
        std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        Ok(Some(child))
    }

    fn connect(&self, script: &Script, protocol: Protocol) -> Result<Connection> {
        for _ in 0..STARTS_MAX {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            if let Some(process) = self.start(script, port)? {
                return Connection::open(
                    over_tcp(&format!("127.0.0.1:{port}"))?,
                    protocol,
                    process,
                    None,
                );
            }
        }
        bail!("no port is free for {}", self.name)
    }
}

/// Builds the module with a clock that can be set. It is copied to its own file name, so that no other test uses it by
/// mistake, and renamed into place, so that a module in use is not written to.
fn module_with_clock() -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let features = "scurry-valkey-module/test-clock";
    let profile = ["--profile", "module", "--features", features];
    build(&[&["--package", "scurry-valkey-module", "--lib"], &profile[..]].concat())
        .context("libscurry.so does not build; set SCURRY_MODULE")?;
    let profile_dir = profile_dir()?;
    let built = profile_dir.parent().context("no target directory")?.join("module");
    let copy = built.join(format!("test-clock-{}.so", std::process::id()));
    let module = built.join("libscurry-test-clock.so");
    let copied = std::fs::copy(built.join("libscurry.so"), &copy);
    copied.and_then(|_| std::fs::rename(&copy, &module)).context("no copy of libscurry.so")?;
    Ok(module)
}

impl Door for NodeDoor {
    fn name(&self) -> &'static str {
        self.name
    }

    fn takes(&self, script: &Script) -> bool {
        is_named(script, self.product) && (self.has_clock || !script.sets_clock)
    }

    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn ScriptStore>> {
        let connection = self.connect(script, protocol)?;
        if script.sets_clock {
            return Ok(Box::new(ClockedNode { connection, now: None }));
        }
        Ok(Box::new(connection))
    }
}

/// A node with a clock that the script sets.
struct ClockedNode {
    connection: Connection,
    /// Time of its clock. None before the first command.
    now: Option<Time>,
}

impl ClockedNode {
    fn ask(&mut self, words: &[&str]) -> Result<Value> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Value::read_whole(&self.connection.exchange(&words)?)
    }

    fn set(&mut self, now: Time) -> Result<()> {
        if self.now != Some(now) {
            let reply = self.ask(&["SCUR.TESTCLOCK", &now.0.to_string()])?;
            ensure!(reply == Value::Word(b"OK".to_vec()), "the clock is not set: {reply}");
            self.now = Some(now);
        }
        Ok(())
    }
}

impl ScriptStore for ClockedNode {
    fn send(&mut self, now: Time, words: &[Vec<u8>]) -> Result<Vec<u8>> {
        self.set(now)?;
        self.connection.exchange(words)
    }

    fn tick(&mut self, now: Time) -> Result<usize> {
        self.set(now)?;
        match self.ask(&["SCUR.TESTCLOCK"])? {
            Value::Int(commits) => Ok(usize::try_from(commits)?),
            other => bail!("timers did not run: {other}"),
        }
    }
}
