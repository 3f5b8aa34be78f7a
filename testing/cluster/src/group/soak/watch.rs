//! A reader of events: follows all threads by SCUR.WATCH through one node after another, and checks that positions rise
//! and that it goes on where it was.

use super::window::Signals;
use crate::group::THREADS;
use crate::route::is_undone;
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_resp::client::{self, Stop, skip};
use scurry_service::Position;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Events of a reply at most.
const COUNT: &str = "1000";
/// How long a request waits for an event, ms.
const BLOCK_MS: &str = "100";
/// Timeout of connecting and of a reply.
const PATIENCE: Duration = Duration::from_secs(3);
/// Pause after a refusal or a lost connection.
const AGAIN: Duration = Duration::from_millis(100);
const CHUNK: usize = 65_536;

/// What a reader has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WatchCounts {
    /// Events read.
    pub(super) events: u64,
    /// Times at which events were gone before they were read.
    pub(super) missed: u64,
    /// Connections, one after another, through which they were read.
    pub(super) connections: u64,
}

/// Follows the events until the signals say that it is over.
pub(super) fn follow(nodes: &[(String, u16)], signals: &Signals) -> Result<WatchCounts> {
    let mut counts = WatchCounts::default();
    let mut next: Vec<Option<Position>> = vec![None; usize::from(THREADS)];
    for node in nodes.iter().cycle() {
        let ended = read(node, signals, &mut next, &mut counts);
        if signals.is_over() {
            return ended.map(|_| counts);
        }
        // A connection that ends is no fault, and a wrong position is.
        ended.context("SCUR.WATCH")?;
        std::thread::sleep(AGAIN); // tidy: allow (a group says nothing when it is ready again)
    }
    bail!("there are no nodes")
}

/// Reads all threads through one node, until it refuses or is gone. Fails if an answer is wrong.
fn read(
    node: &(String, u16),
    signals: &Signals,
    next: &mut [Option<Position>],
    counts: &mut WatchCounts,
) -> Result<()> {
    let Ok(mut stream) = connect(node) else { return Ok(()) };
    let (mut input, mut is_first) = (Vec::new(), true);
    while !signals.is_over() {
        for (thread, next) in next.iter_mut().enumerate() {
            let position = next.map_or("$".to_owned(), |next| next.to_string());
            let thread = thread.to_string();
            let mut words = vec!["SCUR.WATCH", &position, "COUNT", COUNT, "BLOCK", BLOCK_MS];
            if next.is_none() {
                words.extend(["THREAD", &thread]);
            }
            let Ok(len) = ask(&mut stream, &words, &mut input) else { return Ok(()) };
            let reply = &input[..len];
            counts.connections += u64::from(std::mem::take(&mut is_first));
            if reply[0] == b'-' {
                let error = Value::read_whole(reply)?;
                ensure!(is_undone(&error), "from {position} on: {error}");
                return Ok(());
            }
            *next = Some(events(reply, *next, counts).with_context(|| {
                format!("from {position} on: {}", reply[..len.min(300)].escape_ascii())
            })?);
            input.drain(..len);
        }
    }
    Ok(())
}

fn connect((host, port): &(String, u16)) -> Result<TcpStream> {
    let address = (host.as_str(), *port).to_socket_addrs()?.next().context("no address")?;
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends a request and returns the length of its reply, which stands at the start of the input.
fn ask(stream: &mut TcpStream, words: &[&str], input: &mut Vec<u8>) -> Result<usize> {
    stream.write_all(&client::encode(words))?;
    loop {
        match skip(input) {
            Ok(len) => return Ok(len),
            Err(Stop::Incomplete) => {}
            Err(Stop::Malformed) => bail!("no RESP"),
        }
        let start = input.len();
        input.resize(start + CHUNK, 0);
        let len = stream.read(&mut input[start..]).unwrap_or(0);
        input.truncate(start + len);
        ensure!(len > 0, "the connection has ended");
    }
}

/// Reads the events of a reply and returns the position after them. Fails if one is before the position that was asked
/// for, or before the event before it. Events are skipped in place: there are many.
fn events(reply: &[u8], from: Option<Position>, counts: &mut WatchCounts) -> Result<Position> {
    let (fields, mut at) = head(reply, b'*')?;
    let (mut next, mut last) = (None, from);
    for _ in 0..fields / 2 {
        let name = word(reply, &mut at)?;
        match name {
            b"next" => next = Position::parse(word(reply, &mut at)?),
            b"events" => {
                let (count, len) = head(&reply[at..], b'*')?;
                at += len;
                for _ in 0..count {
                    let (_, len) = head(&reply[at..], b'*')?;
                    at += len;
                    let id = word(reply, &mut at)?;
                    at += skip(&reply[at..])?;
                    let id = match id.windows(2).position(|pair| pair == b"..") {
                        Some(dots) => {
                            counts.missed += 1;
                            &id[dots + 2..]
                        }
                        None => id,
                    };
                    let id = Position::parse(id).context("an event without a position")?;
                    ensure!(last.is_none_or(|last| is_after(last, id)), "{id} is before {last:?}");
                    last = Some(id);
                    counts.events += 1;
                }
            }
            _ => at += skip(&reply[at..])?,
        }
    }
    let next = next.context("a reply without a next position")?;
    ensure!(last.is_none_or(|last| is_after(last, next)), "next is {next}, before {last:?}");
    Ok(next)
}

/// Reports whether a position is this one or a later one of the same thread.
fn is_after(before: Position, this: Position) -> bool {
    let place = |position: Position| (position.generation, position.sequence, position.index);
    before.thread == this.thread && place(before) <= place(this)
}

/// Returns the number after this sign, and the length of the line.
fn head(bytes: &[u8], sign: u8) -> Result<(usize, usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\r').context("a line without an end")?;
    ensure!(bytes[0] == sign, "{} is no {}", bytes[..end].escape_ascii(), char::from(sign));
    Ok((std::str::from_utf8(&bytes[1..end])?.parse()?, end + 2))
}

/// Returns the simple or bulk string at this place, and moves behind it.
fn word<'r>(reply: &'r [u8], at: &mut usize) -> Result<&'r [u8]> {
    let start = *at;
    *at += skip(&reply[start..])?;
    let whole = &reply[start..*at - 2];
    match whole[0] {
        b'+' => Ok(&whole[1..]),
        _ => Ok(&whole[head(whole, b'$')?.1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a reply with events of these ids.
    fn reply(ids: &[&str], next: &str) -> Vec<u8> {
        let event =
            |id: &&str| format!("*2\r\n${}\r\n{id}\r\n*2\r\n$4\r\ntime\r\n:7\r\n", id.len());
        let events: String = ids.iter().map(event).collect();
        let next = format!("$4\r\nnext\r\n${}\r\n{next}\r\n", next.len());
        format!("*6\r\n{next}$3\r\nend\r\n+1.0:9\r\n$6\r\nevents\r\n*{}\r\n{events}", ids.len())
            .into_bytes()
    }

    #[test]
    fn positions_rise_within_and_between_replies() {
        let from = Position::parse(b"1.0:5");
        let read = |ids: &[&str], next: &str| {
            let mut counts = WatchCounts::default();
            events(&reply(ids, next), from, &mut counts).map(|next| (next.to_string(), counts))
        };
        let (next, counts) = read(&["1.0:5", "1.0:5-1", "1.0:7"], "1.0:8").expect("they rise");
        assert_eq!((next.as_str(), counts.events, counts.missed), ("1.0:8", 3, 0));
        let (_, counts) = read(&["1.0:5..1.0:8", "1.0:8"], "1.0:9").expect("a reader that is late");
        assert_eq!((counts.events, counts.missed), (2, 1));
        for (ids, next) in [
            (&["1.0:4"][..], "1.0:8"),
            (&["1.0:6", "1.0:5-3"], "1.0:8"),
            (&["1.0:6"], "1.0:5"),
            (&["1.1:6"], "1.1:7"),
            (&[], "1.0:4"),
        ] {
            read(ids, next).expect_err("a position falls");
        }
    }
}
