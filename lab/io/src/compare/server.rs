//! One candidate as a process of its own, ended when this value is dropped.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

const SILENCE_MAX: Duration = Duration::from_secs(20);

/// What a server says it has used since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) cpu_nanos: u64,
    pub(super) requests: u64,
    pub(super) turns: u64,
    pub(super) system_calls: u64,
}

impl Usage {
    fn parse(text: &str) -> Option<Usage> {
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        Some(Usage {
            cpu_nanos: numbers.next()??,
            requests: numbers.next()??,
            turns: numbers.next()??,
            system_calls: numbers.next()??,
        })
    }

    pub(super) fn since(self, before: Usage) -> Usage {
        Usage {
            cpu_nanos: self.cpu_nanos - before.cpu_nanos,
            requests: self.requests - before.requests,
            turns: self.turns - before.turns,
            system_calls: self.system_calls - before.system_calls,
        }
    }
}

/// A running server.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Server {
    /// Starts a candidate on a core and waits until it listens.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn start(candidate: &str, core: usize) -> Result<Server> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(program)
            .args(["serve", candidate, "--core", &core.to_string()])
            .args(["--parent", &std::process::id().to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a server")?;
        let output = child.stdout.take().context("the server has no output")?;
        // From here on the process ends with this value.
        let mut server = Server { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse().with_context(|| format!("{candidate} does not listen"))?;
        server.address.set_port(port);
        Ok(server)
    }

    /// Asks the server.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) fn usage(&self) -> Result<Usage> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.write_all(b"*1\r\n$5\r\nUSAGE\r\n")?;
        let mut lines = BufReader::new(stream).lines();
        let text = lines.nth(1).context("the server has closed the connection")??;
        Usage::parse(&text).with_context(|| format!("no usage: {text}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself: then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_a_difference() {
        let before = Usage::parse("10 20 30 40").unwrap();
        let used = Usage::parse("11 22 33 44").unwrap().since(before);
        assert_eq!(used, Usage { cpu_nanos: 1, requests: 2, turns: 3, system_calls: 4 });
        assert_eq!(Usage::parse("1 2 3"), None);
    }
}
