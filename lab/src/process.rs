//! A server that the lab started: on a free port, its output in a file, and stopped by its process id on every path.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;

use crate::client::Client;
use crate::clock::Clock;
use crate::cores::bind;
use crate::data_directory::temporary;
use crate::wire::Wire;

/// Startup timeout. A JVM that runs a cluster may take half a minute on a busy core, and a startup that reads a hundred
/// million accounts takes as long as the disk needs.
const START_TIMEOUT: Duration = Duration::from_secs(600);
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_millis(10);
const LOG_TAIL: usize = 600;

/// How to start a server.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// Program to run.
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Cores to run on; empty leaves it to the kernel.
    pub cores: Vec<usize>,
    /// Address that it will listen on.
    pub address: SocketAddr,
    /// Protocol that it speaks there.
    pub wire: Wire,
    /// Parent of its temporary directory.
    pub place: PathBuf,
    /// Files that its directory has at the start: name and text.
    pub files: &'static [(&'static str, &'static str)],
}

impl ServerCommand {
    /// Returns the program and its arguments for a reader: files by name only, and a multi-line text as its number of
    /// lines.
    pub fn words(&self) -> Vec<String> {
        let program = [self.program.clone().into_os_string()];
        let brief = |word: &OsString| {
            let word = word.to_string_lossy();
            let lines = word.lines().count();
            if lines > 1 {
                return format!("<{lines} lines>");
            }
            let parts = word.split(':').map(|part| match part.rsplit_once('/') {
                Some((_, name)) if part.starts_with('/') => name.to_owned(),
                _ => part.to_owned(),
            });
            parts.collect::<Vec<_>>().join(":")
        };
        program.iter().chain(&self.arguments).map(brief).collect()
    }

    /// Wraps the command: `words` are a program and its arguments that then execute the server.
    #[must_use]
    pub fn behind(mut self, words: &[OsString]) -> ServerCommand {
        if let Some((starter, words)) = words.split_first() {
            let program = std::mem::replace(&mut self.program, starter.into()).into_os_string();
            self.arguments.splice(0..0, words.iter().cloned().chain([program]));
        }
        self
    }
}

/// Running server. Dropping it stops it.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    /// Process descriptor, which never refers to a later process with the same id.
    handle: OwnedFd,
    /// Command for a restart.
    command: Box<ServerCommand>,
    directory: TempDir,
}

impl ServerProcess {
    /// Starts the server in a new directory and waits until it answers PING.
    ///
    /// # Errors
    /// When it does not answer; the message has the end of its output.
    pub fn start(command: &ServerCommand, interrupted: &AtomicBool) -> Result<ServerProcess> {
        ServerProcess::start_after(&[], command, interrupted)
    }

    /// Starts the server like [`ServerProcess::start`], but first runs the program in that directory with the arguments
    /// `before`, if there are any.
    ///
    /// # Errors
    /// As [`ServerProcess::start`], and when that run fails.
    pub fn start_after(
        before: &[&str],
        command: &ServerCommand,
        interrupted: &AtomicBool,
    ) -> Result<ServerProcess> {
        let directory = temporary(&command.place)?;
        for (name, text) in command.files {
            fs::write(directory.path().join(name), text)?;
        }
        if !before.is_empty() {
            let mut first = Command::new(&command.program);
            first.args(before).current_dir(directory.path()).stdin(Stdio::null());
            let output = first.output().context("running what comes before the server")?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{} failed: {}", before.join(" "), said.trim());
        }
        let (child, handle) = spawn(command, &command.cores, directory.path())?;
        let command = Box::new(command.clone());
        let mut server = ServerProcess { child, handle, command, directory };
        server.wait_until_ready(interrupted)?;
        server.bind_to_one_core()?;
        Ok(server)
    }

    /// Starts a program that answers nothing, in a new directory.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_client(command: &ServerCommand) -> Result<ServerProcess> {
        let directory = temporary(&command.place)?;
        let (child, handle) = spawn(command, &command.cores, directory.path())?;
        Ok(ServerProcess { child, handle, command: Box::new(command.clone()), directory })
    }

    /// Waits for the server to end, then starts it again in the same directory with the same data.
    ///
    /// # Errors
    /// As [`ServerProcess::start`].
    pub fn start_again(&mut self, interrupted: &AtomicBool) -> Result<()> {
        self.start_again_on(&self.command.cores.clone(), interrupted)
    }

    /// Starts it again like [`ServerProcess::start_again`]; until the server answers it may run on these cores.
    ///
    /// # Errors
    /// As [`ServerProcess::start`].
    pub fn start_again_on(&mut self, cores: &[usize], interrupted: &AtomicBool) -> Result<()> {
        self.child.wait()?;
        (self.child, self.handle) = spawn(&self.command, cores, self.directory.path())?;
        self.wait_until_ready(interrupted)?;
        self.bind_to_one_core()
    }

    /// Waits for the server to end, then starts it again as if it had lost its directory. The given words replace an
    /// option and its value, where the command has that option.
    ///
    /// # Errors
    /// As [`ServerProcess::start`].
    pub fn start_empty(
        &mut self,
        in_place_of: &str,
        words: &[OsString],
        interrupted: &AtomicBool,
    ) -> Result<()> {
        self.child.wait()?;
        self.directory = temporary(&self.command.place)?;
        let arguments = &mut self.command.arguments;
        if let Some(at) = arguments.iter().position(|word| word == in_place_of) {
            arguments.drain(at..arguments.len().min(at + 2));
        }
        arguments.extend_from_slice(words);
        self.start_again(interrupted)
    }

    /// Returns the argument after the one with this name.
    pub fn argument_behind(&self, name: &str) -> Option<String> {
        let arguments = &self.command.arguments;
        let at = arguments.iter().position(|word| word == name)?;
        Some(arguments.get(at + 1)?.to_string_lossy().into_owned())
    }

    /// Returns the process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.command.address
    }

    /// Returns the server's directory, which is removed on drop.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Connects to the server.
    ///
    /// # Errors
    /// When the connection is refused.
    pub fn client(&self) -> Result<Client> {
        Client::connect_over(self.command.wire, self.command.address)
    }

    /// Returns the end of the server's output.
    pub fn output_tail(&self) -> String {
        let mut text = Vec::new();
        let read = File::open(self.directory.path().join("output"))
            .and_then(|mut file| file.read_to_end(&mut text));
        if read.is_err() {
            return String::new();
        }
        let start = text.len().saturating_sub(LOG_TAIL);
        String::from_utf8_lossy(&text[start..]).trim().to_owned()
    }

    /// Kills the server, as a failing machine would, and waits for its end.
    ///
    /// # Errors
    /// When it does not end.
    pub fn kill(&self) -> Result<()> {
        pidfd_send_signal(&self.handle, Signal::KILL).context("killing a server")?;
        ensure!(self.ends_within(STOP_TIMEOUT), "a killed server does not end");
        Ok(())
    }

    /// Asks the server to stop, waits up to `time`, and reports whether it has ended.
    pub fn stop(&self, time: Duration) -> bool {
        // Ignore the error: the server may have ended by itself.
        let _ = pidfd_send_signal(&self.handle, Signal::TERM);
        self.ends_within(time)
    }

    /// Waits up to `time` and reports whether the server has ended.
    pub fn ends_within(&self, time: Duration) -> bool {
        let Ok(timeout) = Timespec::try_from(time) else { return false };
        let mut handles = [PollFd::new(&self.handle, PollFlags::IN)];
        matches!(poll(&mut handles, Some(&timeout)), Ok(ended) if ended > 0)
    }

    fn last_words(&self) -> String {
        let tail = self.output_tail();
        if tail.is_empty() { "it printed nothing".to_owned() } else { tail }
    }

    fn wait_until_ready(&mut self, interrupted: &AtomicBool) -> Result<()> {
        let clock = Clock::start();
        loop {
            ensure!(!interrupted.load(Ordering::Relaxed), "interrupted");
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once ({status}): {}", self.last_words());
            }
            match self.answers() {
                Ok(true) => return Ok(()),
                _ if clock.elapsed() > START_TIMEOUT => bail!(
                    "the server does not answer PING within {} s: {}",
                    START_TIMEOUT.as_secs(),
                    self.last_words()
                ),
                // Retry soon, or stop waiting at once when the server ends.
                _ => {
                    self.ends_within(RETRY);
                }
            }
        }
    }

    /// Reports whether the server answers PING; where the lab does not speak its protocol, whether it accepts
    /// connections.
    fn answers(&self) -> Result<bool> {
        if self.command.wire == Wire::Foreign {
            return Ok(TcpStream::connect(self.command.address).is_ok());
        }
        Ok(self.client()?.call(&["PING"])?.text() == Some("PONG"))
    }

    /// Moves all threads to the server's only core, because a server may bind its threads itself. With several cores it
    /// may give each thread its own.
    fn bind_to_one_core(&self) -> Result<()> {
        let &[core] = self.command.cores.as_slice() else { return Ok(()) };
        for entry in fs::read_dir(format!("/proc/{}/task", self.pid()))? {
            let name = entry?.file_name();
            let thread = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            if thread.is_none() {
                continue;
            }
            match bind(thread, &[core]) {
                // A thread of a JVM may have ended since the directory was listed.
                Err(error) if error.downcast_ref() == Some(&Errno::SRCH) => {}
                bound => bound?,
            }
        }
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if !self.stop(STOP_TIMEOUT) {
            // The server did not stop in time.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Starts the process on these cores in this directory, which also gets its output.
fn spawn(command: &ServerCommand, cores: &[usize], directory: &Path) -> Result<(Child, OwnedFd)> {
    let output = File::options().create(true).append(true).open(directory.join("output"))?;
    let lab = std::env::current_exe().context("finding the lab's own program")?;
    let mut launcher = Command::new(lab);
    launcher.arg("launch").arg("--parent").arg(std::process::id().to_string());
    for core in cores {
        launcher.arg("--core").arg(core.to_string());
    }
    // Its own process group, so that Ctrl-C reaches only the lab, which then stops the server.
    let mut child = launcher
        .arg("--")
        .arg(&command.program)
        .args(&command.arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()
        .with_context(|| format!("starting {}", command.program.display()))?;
    match open_handle(&child) {
        Ok(handle) => Ok((child, handle)),
        Err(error) => {
            child.kill()?;
            child.wait()?;
            Err(error)
        }
    }
}

fn open_handle(child: &Child) -> Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process id")?;
    pidfd_open(pid, PidfdFlags::empty()).context("opening a handle of the server's process")
}

/// Ports for servers, below the range that the kernel gives to clients: a closed client connection can block a port for
/// a minute.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Ports after its main port that a server may use, one for each core.
const PORTS_FOLLOWING: u16 = 16;
/// Ports of a block.
pub const PORTS_MAX: u16 = PORTS_FOLLOWING + 1;

/// Returns a loopback address with an unused port; the other ports of its block are unused too.
///
/// # Errors
/// When no block is free.
pub fn free_address() -> Result<SocketAddr> {
    let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // Start at a position that depends on the process id, so that concurrent labs rarely collide.
    let block = usize::from(PORTS_MAX);
    let blocks = PORTS.len() / block;
    let first = std::process::id() as usize % blocks;
    for index in 0..blocks {
        let begin = PORTS.start + u16::try_from((first + index) % blocks * block)?;
        if (begin..=begin + PORTS_FOLLOWING).all(|port| TcpListener::bind(at(port)).is_ok()) {
            return Ok(at(begin));
        }
    }
    bail!("no free ports between {} and {}: stop what listens there", PORTS.start, PORTS.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_where_things_lie() {
        let words = ["--bind", "127.0.0.1", "-cp", "/a/b/classes:/a/b/jars/*", "-e", "a\nb\nc"];
        let command = ServerCommand {
            program: "/usr/bin/java".into(),
            arguments: words.iter().map(OsString::from).collect(),
            cores: Vec::new(),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
            wire: Wire::Resp,
            place: PathBuf::new(),
            files: &[],
        };
        let expected = "java --bind 127.0.0.1 -cp classes:* -e <3 lines>";
        assert_eq!(command.words().join(" "), expected);
        let behind = command.behind(&["strace", "-D"].map(OsString::from));
        assert_eq!(behind.words().join(" "), format!("strace -D {expected}"));
        assert_eq!(behind.behind(&[]).words().join(" "), format!("strace -D {expected}"));
    }

    #[test]
    fn a_port_is_free_with_those_behind_it() {
        let address = free_address().unwrap();
        assert!(PORTS.contains(&address.port()));
        let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port() + 3));
        let _taken = TcpListener::bind(behind).unwrap();
        assert_ne!(free_address().unwrap(), address);
    }
}
