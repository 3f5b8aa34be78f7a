//! The door to the `scurry` binary over TCP or RDMA, with a new process for each script. Its clock is the real one, so
//! it runs only scripts that name no times.

use super::{Door, ScriptStore, is_named, request};
use crate::{Script, Value};
use anyhow::{Context, Result, bail, ensure};
use scurry_ledger::Time;
use scurry_resp::Protocol;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Timeout of a reply.
const PATIENCE: Duration = Duration::from_secs(20);

/// Door to the server.
#[derive(Debug)]
pub struct ServerDoor {
    binary: PathBuf,
    /// Address of an RDMA device. None for TCP.
    rdma: Option<IpAddr>,
    /// Directory of its store. None if it keeps nothing.
    directory: Option<PathBuf>,
}

impl ServerDoor {
    /// Uses the binary named by `SCURRY_BIN`, else builds the one of this workspace.
    pub fn find() -> Result<ServerDoor> {
        if let Some(binary) = std::env::var_os("SCURRY_BIN") {
            return Ok(ServerDoor { binary: PathBuf::from(binary), rdma: None, directory: None });
        }
        let profile_dir = profile_dir()?;
        let profile = profile_dir.file_name().and_then(|name| name.to_str()).unwrap_or("debug");
        let profile = if profile == "debug" { "dev" } else { profile };
        build(&["--package", "scurry-cli", "--bin", "scurry", "--profile", profile])
            .context("the scurry binary does not build; set SCURRY_BIN")?;
        Ok(ServerDoor { binary: profile_dir.join("scurry"), rdma: None, directory: None })
    }

    /// Returns the path of the binary.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Returns a door that uses RDMA, on the device with this address.
    #[must_use]
    pub fn over_rdma(self, address: IpAddr) -> ServerDoor {
        ServerDoor { rdma: Some(address), ..self }
    }

    /// Returns a door that keeps its store in a directory. The server is killed at the end of a script.
    #[must_use]
    pub fn on(self, directory: &Path) -> ServerDoor {
        ServerDoor { directory: Some(directory.to_owned()), ..self }
    }
}

/// Returns cargo's directory for this test's profile: `target/debug` for `target/debug/deps/this-test`.
pub(super) fn profile_dir() -> Result<PathBuf> {
    let test = std::env::current_exe().context("the path of this test")?;
    let deps = test.parent().context("the test has no directory")?;
    Ok(deps.parent().context("the test is not in target/*/deps")?.to_owned())
}

/// Builds into the target directory of this test.
pub(super) fn build(what: &[&str]) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--quiet"]).args(what);
    cargo.arg("--target-dir").arg(profile_dir()?.parent().context("no target directory")?);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let status = cargo.status().context("cannot run cargo")?;
    ensure!(status.success(), "cargo build {what:?} fails");
    Ok(())
}

impl Door for ServerDoor {
    fn name(&self) -> &'static str {
        "server"
    }

    fn takes(&self, script: &Script) -> bool {
        is_named(script, self.name()) && !script.sets_clock
    }

    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn ScriptStore>> {
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
        match &self.directory {
            Some(directory) => command.arg("--dir").arg(directory),
            None => command.args(["--durability", "none"]),
        };
        for kind in &script.unique_kinds {
            command.arg("--unique-identities").arg(kind.as_str());
        }
        let settings = Settings::write(script)?;
        if let Some(settings) = &settings {
            command.arg("--config").arg(&settings.0);
        }
        if let Some(address) = self.rdma {
            let address = SocketAddr::new(address, 0).to_string();
            command.args(["--rdma-listen", &address, "--allow-open-access-without-password"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map(Process)
            .with_context(|| format!("cannot start {}", self.binary.display()))?;
        let stderr = child.0.stderr.take().context("no stderr")?;
        let mut said = BufReader::new(stderr).lines();
        let end = if self.rdma.is_some() { " over RDMA" } else { "" };
        // The line about RDMA follows the line about TCP.
        let address = loop {
            let line = said.next().context("the server does not say where it listens")??;
            let address = line.strip_prefix("listening on ").and_then(|it| it.strip_suffix(end));
            if let Some(address) = address {
                break address.to_owned();
            }
        };
        let stream = if self.rdma.is_some() { over_rdma(&address)? } else { over_tcp(&address)? };
        Ok(Box::new(Connection::open(stream, protocol, child, settings)?))
    }
}

/// A server process, killed when dropped.
pub(super) struct Process(pub(super) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing is kept, so it need not shut down cleanly. If killing fails, it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A settings file, removed when dropped.
pub(super) struct Settings(PathBuf);

impl Settings {
    fn write(script: &Script) -> Result<Option<Settings>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if script.limit_words.is_empty() {
            return Ok(None);
        }
        let mut text = String::from("[limits]\n");
        for (name, value) in &script.limit_words {
            let quote = if value.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "\"" };
            writeln!(text, "{name} = {quote}{value}{quote}")?;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("scurry-conformance-{}-{number}.toml", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Some(Settings(path)))
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // A file that is left over does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Stream to a server.
pub(super) trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

pub(super) fn over_tcp(address: &str) -> Result<Box<dyn Stream>> {
    let stream = TcpStream::connect(address).with_context(|| format!("no {address}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}

#[cfg(not(feature = "rdma"))]
fn over_rdma(_: &str) -> Result<Box<dyn Stream>> {
    bail!("this build has no RDMA: ask for its feature `rdma`")
}

#[cfg(feature = "rdma")]
fn over_rdma(address: &str) -> Result<Box<dyn Stream>> {
    let settings = scurry_rdma_proto::Settings::default();
    let mut stream = scurry_rdma::Stream::connect(address.parse()?, settings, PATIENCE)
        .with_context(|| format!("no {address} over RDMA"))?;
    stream.set_timeout(Some(PATIENCE));
    Ok(Box::new(stream))
}

pub(super) struct Connection {
    stream: Box<dyn Stream>,
    _process: Process,
    _settings: Option<Settings>,
}

impl Connection {
    /// Makes a connection that owns its server: both end together.
    pub(super) fn open(
        stream: Box<dyn Stream>,
        protocol: Protocol,
        process: Process,
        settings: Option<Settings>,
    ) -> Result<Connection> {
        let mut connection = Connection { stream, _process: process, _settings: settings };
        if protocol == Protocol::Resp3 {
            let hello = connection.exchange(&[b"HELLO".to_vec(), b"3".to_vec()])?;
            ensure!(hello.starts_with(b"%"), "HELLO 3 answers in another protocol");
        }
        Ok(connection)
    }

    pub(super) fn exchange(&mut self, words: &[Vec<u8>]) -> Result<Vec<u8>> {
        self.stream.write_all(&request(words))?;
        self.stream.flush()?;
        let mut reply = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let len = match self.stream.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                len => len.context("no reply")?,
            };
            ensure!(len > 0, "the server closed the connection");
            reply.extend_from_slice(&chunk[..len]);
            if Value::read(&reply)?.is_some() {
                return Ok(reply);
            }
        }
    }
}

impl ScriptStore for Connection {
    fn send(&mut self, _now: Time, words: &[Vec<u8>]) -> Result<Vec<u8>> {
        self.exchange(words)
    }

    fn tick(&mut self, _now: Time) -> Result<usize> {
        bail!("the server runs its own timers")
    }
}
