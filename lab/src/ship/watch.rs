//! A client that reads all events of a store and drops them: what a shipper cannot exceed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::shipper::Shipped;
use crate::client::Client;
use crate::clock::{Clock, thread_cpu_nanos};

/// Timeout of a reply.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Events of one read: as many as a shipper asks for.
const COUNT: &str = "1000";
/// Bytes of one read of the socket.
const READ_LEN: usize = 1 << 18;

/// Reads the events of the first thread to their end.
pub(super) fn drop_all(server: SocketAddr) -> Result<Shipped> {
    // The store may delete nothing meanwhile: it has no snapshot under way.
    let begun = Client::connect(server)?.call(&["SCUR.WATCH", "0", "COUNT", "1"])?;
    let end = begun.entry("end").text().context("SCUR.WATCH answers without `end`")?.to_owned();
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let (clock, cpu) = (Clock::start(), thread_cpu_nanos());
    let mut position = "0".to_owned();
    let mut shipped = Shipped::default();
    let mut received = Vec::new();
    while position != end {
        let words = ["SCUR.WATCH", position.as_str(), "COUNT", COUNT];
        let request: String =
            words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        stream.write_all(format!("*{}\r\n{request}", words.len()).as_bytes())?;
        receive(&mut stream, &mut received)?;
        let head = Head::read(&received).context("SCUR.WATCH answers something else")?;
        ensure!(head.next != position, "SCUR.WATCH does not go on at {position}, before {end}");
        shipped.events += head.events;
        shipped.bytes += received.len() as u64;
        position = head.next;
    }
    shipped.seconds = clock.elapsed().as_secs_f64();
    shipped.cpu_seconds = (thread_cpu_nanos() - cpu) as f64 / 1e9;
    Ok(shipped)
}

/// Reads one reply.
fn receive(stream: &mut TcpStream, received: &mut Vec<u8>) -> Result<()> {
    let mut end = ReplyEnd::default();
    received.clear();
    while !end.is_in(received).context("a reply is not RESP2")? {
        let len = received.len();
        received.resize(len + READ_LEN, 0);
        let read = stream.read(&mut received[len..]).context("reading a reply of SCUR.WATCH")?;
        received.truncate(len + read);
        ensure!(read > 0, "the server has ended the connection");
    }
    Ok(())
}

/// Search for the end of a reply in bytes that grow.
struct ReplyEnd {
    at: usize,
    /// Values that are still to come.
    left: usize,
}

impl Default for ReplyEnd {
    fn default() -> ReplyEnd {
        ReplyEnd { at: 0, left: 1 }
    }
}

impl ReplyEnd {
    /// Reports whether the reply is complete; None if it is no reply.
    fn is_in(&mut self, bytes: &[u8]) -> Option<bool> {
        while self.left > 0 {
            let rest = &bytes[self.at.min(bytes.len())..];
            let Some(len) = rest.iter().position(|&byte| byte == b'\n') else { return Some(false) };
            let line = rest[..len].strip_suffix(b"\r")?;
            let number = || str::from_utf8(line.get(1..)?).ok()?.parse::<i64>().ok();
            let mut end = len + 1;
            let mut elements = 0;
            match line.first()? {
                b'*' => elements = usize::try_from(number()?.max(0)).ok()?,
                b'$' => end += usize::try_from(number()?).map_or(0, |length| length + 2),
                b':' | b'+' => {}
                _ => return None,
            }
            if rest.len() < end {
                return Some(false);
            }
            self.at += end;
            self.left = self.left - 1 + elements;
        }
        Some(true)
    }
}

/// The begin of a reply: `events` is its last field.
struct Head {
    next: String,
    events: u64,
}

impl Head {
    fn read(reply: &[u8]) -> Option<Head> {
        // Store, next, oldest and end are short.
        let head = String::from_utf8_lossy(&reply[..reply.len().min(512)]);
        let mut lines = head.split("\r\n");
        lines.find(|line| *line == "next")?;
        let next = lines.nth(1)?.to_owned();
        lines.find(|line| *line == "events")?;
        let events = lines.next()?.strip_prefix('*')?.parse().ok()?;
        Some(Head { next, events })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_reply_is_found_in_parts() {
        let reply = b"*4\r\n$4\r\nnext\r\n$5\r\n1.0:4\r\n$6\r\nevents\r\n*2\r\n*1\r\n:7\r\n*0\r\n";
        let mut end = ReplyEnd::default();
        for len in 0..reply.len() {
            assert_eq!(end.is_in(&reply[..len]), Some(false), "{len}");
        }
        assert_eq!(end.is_in(reply), Some(true));
        let head = Head::read(reply).unwrap();
        assert_eq!((head.next.as_str(), head.events), ("1.0:4", 2));
        assert_eq!(ReplyEnd::default().is_in(b"-ERR no log\r\n"), None);
    }
}
