//! A server that the lab started: found on a free port, its output in a file, and stopped by
//! its process id on every path.

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

/// A JVM with a cluster of one in it may take half a minute on a busy core, and a start that reads a hundred
/// million accounts as long as the disk takes.
const START_TIMEOUT: Duration = Duration::from_secs(600);
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_millis(10);
const LOG_TAIL: usize = 600;

/// How to start a server.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// The program.
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// The cores to run on; none leaves it to the kernel.
    pub cores: Vec<usize>,
    /// Where it will listen.
    pub address: SocketAddr,
    /// Protocol that the server speaks there.
    pub wire: Wire,
    /// Where its directory is made, which goes with it.
    pub place: PathBuf,
}

impl ServerCommand {
    /// The program and its arguments as a reader needs them: files by their names alone, and a text
    /// of several lines by their number.
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

    /// The same, started by a program that becomes it: these are the words of that.
    #[must_use]
    pub fn behind(mut self, words: &[OsString]) -> ServerCommand {
        if let Some((starter, words)) = words.split_first() {
            let program = std::mem::replace(&mut self.program, starter.into()).into_os_string();
            self.arguments.splice(0..0, words.iter().cloned().chain([program]));
        }
        self
    }
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    /// Names this process and no later one with the same number.
    handle: OwnedFd,
    /// To start it again.
    command: Box<ServerCommand>,
    directory: TempDir,
}

impl ServerProcess {
    /// Starts the server in a directory of its own, and waits until it answers PING.
    ///
    /// # Errors
    /// When it does not: the message has the tail of its output.
    pub fn start(command: &ServerCommand, interrupted: &AtomicBool) -> Result<ServerProcess> {
        ServerProcess::start_after(&[], command, interrupted)
    }

    /// The same, after its program was run in that directory with these words, if there are any.
    ///
    /// # Errors
    /// As [`ServerProcess::start`], and when that run fails.
    pub fn start_after(
        before: &[&str],
        command: &ServerCommand,
        interrupted: &AtomicBool,
    ) -> Result<ServerProcess> {
        let directory = temporary(&command.place)?;
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

    /// Starts it again where it was, with what it has kept there, once it has ended.
    ///
    /// # Errors
    /// As [`ServerProcess::start`].
    pub fn start_again(&mut self, interrupted: &AtomicBool) -> Result<()> {
        self.start_again_on(&self.command.cores.clone(), interrupted)
    }

    /// As [`ServerProcess::start_again`], and until it answers it may run on these cores.
    ///
    /// # Errors
    /// As [`ServerProcess::start`].
    pub fn start_again_on(&mut self, cores: &[usize], interrupted: &AtomicBool) -> Result<()> {
        self.child.wait()?;
        (self.child, self.handle) = spawn(&self.command, cores, self.directory.path())?;
        self.wait_until_ready(interrupted)?;
        self.bind_to_one_core()
    }

    /// Starts it again, once it has ended, as if it had lost its directory: these words take the place of an
    /// argument and the one behind it, where it has that.
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

    /// The argument behind this one.
    pub fn argument_behind(&self, name: &str) -> Option<String> {
        let arguments = &self.command.arguments;
        let at = arguments.iter().position(|word| word == name)?;
        Some(arguments.get(at + 1)?.to_string_lossy().into_owned())
    }

    /// Process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.command.address
    }

    /// Where it keeps what it keeps, which goes with this.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A connection to it.
    ///
    /// # Errors
    /// When it does not listen.
    pub fn client(&self) -> Result<Client> {
        Client::connect_over(self.command.wire, self.command.address)
    }

    /// The end of what it has printed.
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

    /// Kills it, as a machine that fails would, and waits for its end.
    ///
    /// # Errors
    /// When it does not end.
    pub fn kill(&self) -> Result<()> {
        pidfd_send_signal(&self.handle, Signal::KILL).context("killing a server")?;
        ensure!(self.ends_within(STOP_TIMEOUT), "a killed server does not end");
        Ok(())
    }

    /// Asks it to end, waits this long at most, and says whether it has.
    pub fn stop(&self, time: Duration) -> bool {
        // It may have ended by itself: then there is nothing to do.
        let _ = pidfd_send_signal(&self.handle, Signal::TERM);
        self.ends_within(time)
    }

    /// Waits this long at most, and says whether the server has ended.
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
                // Tried again soon, or at once when the server has ended.
                _ => {
                    self.ends_within(RETRY);
                }
            }
        }
    }

    /// Whether it answers PING; where the lab does not speak its protocol, whether it listens.
    fn answers(&self) -> Result<bool> {
        if self.command.wire == Wire::Foreign {
            return Ok(TcpStream::connect(self.command.address).is_ok());
        }
        Ok(self.client()?.call(&["PING"])?.text() == Some("PONG"))
    }

    /// A server may choose cores for its threads itself; here all stay on the one it was given. With
    /// more it may give each thread its own.
    fn bind_to_one_core(&self) -> Result<()> {
        let &[core] = self.command.cores.as_slice() else { return Ok(()) };
        for entry in fs::read_dir(format!("/proc/{}/task", self.pid()))? {
            let name = entry?.file_name();
            let thread = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            if thread.is_none() {
                continue;
            }
            match bind(thread, &[core]) {
                // One of a JVM may have ended since it was listed.
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
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Starts the process on these cores in this directory, where its output goes too.
fn spawn(command: &ServerCommand, cores: &[usize], directory: &Path) -> Result<(Child, OwnedFd)> {
    let output = File::options().create(true).append(true).open(directory.join("output"))?;
    let lab = std::env::current_exe().context("finding the lab's own program")?;
    let mut launcher = Command::new(lab);
    launcher.arg("launch").arg("--parent").arg(std::process::id().to_string());
    for core in cores {
        launcher.arg("--core").arg(core.to_string());
    }
    // A group of its own, so that Ctrl-C reaches the lab alone, which then stops it.
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

/// Ports from which servers get theirs: below those that the kernel gives to clients, whose
/// closed connections would keep a server from listening for a minute.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// A server may listen on so many ports behind its own, one for each core.
const PORTS_FOLLOWING: u16 = 16;
/// Ports of a block.
pub const PORTS_MAX: u16 = PORTS_FOLLOWING + 1;

/// A loopback address with a port that nobody uses, nor those behind it.
///
/// # Errors
/// When none is free.
pub fn free_address() -> Result<SocketAddr> {
    let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // Labs that run at the same time begin at different places.
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
