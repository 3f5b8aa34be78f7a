//! Valkey and Redis with the module: a real server for each script. For scripts that name times the
//! module has a clock that is set; it runs the others by the server's clock.

use super::server::{Connection, Process, build, over_tcp, profile_dir};
use super::{Door, Visit, is_named};
use crate::{Script, Value};
use anyhow::{Context, Result, bail, ensure};
use scurry_ledger::Time;
use scurry_resp::Protocol;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A port that was free may be taken when the server wants it.
const STARTS_MAX: usize = 5;
/// Words of a server when clients may come.
const READY: &str = "Ready to accept connections";
/// Names a module that has a clock for tests, built already.
const MODULE_TEST_CLOCK: &str = "SCURRY_MODULE_TEST_CLOCK";
/// Names a `valkey-server` 9.0 or newer.
const VALKEY_9: &str = "SCURRY_VALKEY9";

/// A server with the module.
#[derive(Debug)]
pub struct NodeDoor {
    /// As reports call it.
    name: &'static str,
    /// As scripts call it: `valkey` or `redis`.
    product: &'static str,
    binary: PathBuf,
    module: PathBuf,
    /// The module has a clock that can be set.
    has_clock: bool,
    /// Where its files are; none keeps none.
    directory: Option<PathBuf>,
}

impl NodeDoor {
    /// Of `valkey` or `redis`, with the module that `SCURRY_MODULE_TEST_CLOCK` names, else the one that
    /// `SCURRY_MODULE` does, which has no clock for tests, else the one of this build, which is brought up
    /// to date first: alone, with its own profile, and with that clock.
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

    /// Of the Valkey that `SCURRY_VALKEY9` names; none where it names none.
    pub fn valkey_9() -> Result<Option<NodeDoor>> {
        let Some(binary) = std::env::var_os(VALKEY_9) else {
            eprintln!("skipped: {VALKEY_9} names no valkey-server of Valkey 9.0 or newer");
            return Ok(None);
        };
        let door = NodeDoor::find("valkey")?;
        Ok(Some(NodeDoor { name: "valkey 9", binary: binary.into(), ..door }))
    }

    /// The same on the files of a directory; the server is killed there when a script has ended.
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
        // It goes on logging, into nothing: a pipe that nobody reads would stop it.
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

/// Brings the module with a clock up to date. It has a name of its own, so that no other test takes
/// it for the one without; and one that a server has in use is not written to.
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

    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn Visit>> {
        let connection = self.connect(script, protocol)?;
        if script.sets_clock {
            return Ok(Box::new(Clocked { connection, now: None }));
        }
        Ok(Box::new(connection))
    }
}

/// A node whose clock is the script's.
struct Clocked {
    connection: Connection,
    /// Where it stands.
    now: Option<Time>,
}

impl Clocked {
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

impl Visit for Clocked {
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
