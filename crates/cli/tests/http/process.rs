//! Processes for a test, with their logs.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A process, stopped when dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) port: u16,
    /// The lines until it was ready.
    start: String,
    log: Arc<Mutex<String>>,
}

impl Process {
    /// Starts the binary of this build and waits until it reports its address.
    pub(crate) fn start(command: &mut Command) -> Process {
        Process::try_start(command).unwrap_or_else(|said| panic!("it did not start: {said}"))
    }

    /// Starts it and returns its output if that fails.
    pub(crate) fn try_start(command: &mut Command) -> Result<Process, String> {
        command.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_REQUIREPASS");
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let log = child.stderr.take().expect("stderr is piped");
        Process::when_ready(child, log, |line| {
            let rest = line.trim().strip_prefix("listening on 127.0.0.1:")?;
            Some(rest.parse().expect("a port"))
        })
    }

    /// Starts a `valkey-server` on this port.
    pub(crate) fn try_start_valkey(command: &mut Command, port: u16) -> Result<Process, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().expect("valkey-server is missing: run scripts/install-tools.sh");
        let log = child.stdout.take().expect("stdout is piped");
        let is_ready = |line: &str| line.contains("Ready to accept connections").then_some(port);
        Process::when_ready(child, log, is_ready)
    }

    fn when_ready(
        mut child: Child,
        log: impl Read + Send + 'static,
        ready: impl Fn(&str) -> Option<u16>,
    ) -> Result<Process, String> {
        let mut log = BufReader::new(log);
        let mut said = String::new();
        let port = loop {
            let begin = said.len();
            log.read_line(&mut said).expect("a line is read");
            if said.len() == begin {
                let _ = child.wait();
                return Err(said);
            }
            if let Some(port) = ready(&said[begin..]) {
                break port;
            }
        };
        let lines = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&lines);
        // Keeps reading, so that the process can write its log.
        thread::spawn(move || {
            let mut line = String::new();
            while log.read_line(&mut line).is_ok_and(|len| len > 0) {
                kept.lock().expect("no panic").push_str(&line);
                line.clear();
            }
        });
        Ok(Process { child, port, start: said, log: lines })
    }

    /// Returns all lines that it has logged.
    pub(crate) fn whole_log(&self) -> String {
        format!("{}{}", self.start, self.log())
    }

    /// Returns the lines that it has logged since it was ready.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("no panic").clone()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
