//! Neighbours who misuse a stream: they do not read, read or send a trickle, or send too much.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::visit::{Fates, State, Visit, look};
use crate::client::Client;
use crate::resp::encode;

/// Bytes that a slow reader takes at a time.
pub(super) const TRICKLE: usize = 64;
const TRICKLE_PAUSE: Duration = Duration::from_millis(10);
const STREAMS: u32 = 16;
/// Length of the value that the readers ask for again and again, bytes.
const LARGE: usize = 100_000;
const ASKED_AT_ONCE: usize = 1_000;
/// Requests of one reader at most: more than the buffers of a socket take unread.
const ASKED_MAX: usize = 400_000;
const SMALL: &[u8] = b"0123456789";
/// A pipeline that is not answered within this has failed.
const PIPELINE_MAX: Duration = Duration::from_secs(100);
const CHUNK: usize = 262_144;

/// Asks for large values without end and reads so much at a time, or nothing.
pub(super) fn readers(visit: &Visit, trickle: Option<usize>) -> Result<String> {
    let large = vec![b'x'; LARGE];
    set(visit, b"neighbour:large", &large)?;
    let requests = encode(&["GET", "neighbour:large"]).repeat(ASKED_AT_ONCE);
    let mut streams = visit.connect_many(STREAMS)?;
    let mut asked = vec![0usize; streams.len()];
    let mut unsent: Vec<usize> = vec![0; streams.len()];
    let mut buffer = vec![0; trickle.unwrap_or(0)];
    let (mut written, mut read) = (0usize, 0usize);
    while !visit.is_over() {
        for (index, stream) in streams.iter_mut().enumerate() {
            if unsent[index] == 0 && asked[index] < ASKED_MAX {
                asked[index] += ASKED_AT_ONCE;
                unsent[index] = requests.len();
            }
            let rest = &requests[requests.len() - unsent[index]..];
            let taken = write_some(stream, rest);
            written += taken;
            unsent[index] -= taken;
            if !buffer.is_empty()
                && let State::Open(count) = look(stream, &mut buffer)
            {
                read += count;
            }
        }
        visit.rest(TRICKLE_PAUSE);
    }
    let mut fates = Fates::default();
    for stream in &mut streams {
        fates.count(look(stream, &mut [0; 1]));
    }
    let asked = written / (requests.len() / ASKED_AT_ONCE);
    Ok(format!(
        "{STREAMS} connections sent {asked} requests for {} MB and read {:.3} MB; {fates}",
        asked * LARGE / 1_000_000,
        read as f64 / 1e6
    ))
}

/// Sends requests one byte at a time on each of several connections.
pub(super) fn one_byte(visit: &Visit) -> Result<String> {
    let request = encode(&["SET", "neighbour:small", "0123456789"]);
    let mut streams = visit.connect_many(STREAMS)?;
    let mut sent = vec![0usize; streams.len()];
    let mut answers = 0;
    let mut buffer = [0; 4_096];
    while !visit.is_over() {
        for (index, stream) in streams.iter_mut().enumerate() {
            let at = sent[index] % request.len();
            sent[index] += write_some(stream, &request[at..=at]);
            if at + 1 == request.len()
                && let State::Open(count) = look(stream, &mut buffer)
            {
                answers += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
            }
        }
    }
    let mut fates = Fates::default();
    for stream in &mut streams {
        let state = look(stream, &mut buffer);
        if let State::Open(count) = state {
            answers += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
        }
        fates.count(state);
    }
    let bytes: usize = sent.iter().sum();
    Ok(format!("{bytes} single bytes made {answers} answered requests; {fates}"))
}

/// Sends a long pipeline in one go and reads as the replies come; again until time is over.
pub(super) fn pipeline(visit: &Visit) -> Result<String> {
    set(visit, b"neighbour:small", SMALL)?;
    let count = visit.scale.pipeline as usize;
    let requests = encode(&["GET", "neighbour:small"]).repeat(count);
    let reply = SMALL.len() + b"$10\r\n".len() + b"\r\n".len();
    let mut times = 0;
    let mut slowest = Duration::ZERO;
    while times == 0 || !visit.is_over() {
        let begun = visit.elapsed();
        one_pipeline(visit, &requests, count * reply)?;
        slowest = slowest.max(visit.elapsed() - begun);
        times += 1;
    }
    Ok(format!(
        "{times} pipelines of {count} commands, all answered, the slowest in {:.2} s",
        slowest.as_secs_f64()
    ))
}

fn one_pipeline(visit: &Visit, requests: &[u8], expected: usize) -> Result<()> {
    let begun = visit.elapsed();
    let mut stream = visit.connect()?;
    stream.set_nonblocking(true)?;
    let (mut sent, mut read) = (0, 0);
    let mut buffer = vec![0; CHUNK];
    while read < expected {
        ensure!(!visit.is_interrupted(), "interrupted");
        ensure!(visit.elapsed() - begun < PIPELINE_MAX, "{read} of {expected} bytes came");
        let taken = write_some(&mut stream, &requests[sent..]);
        sent += taken;
        match look(&stream, &mut buffer) {
            State::Open(0) if taken == 0 => visit.wait(&[&stream], sent < requests.len()),
            State::Open(count) => read += count,
            other => bail!("the pipeline broke off ({other:?}) after {read} of {expected} bytes"),
        }
    }
    ensure!(read == expected, "{read} bytes came instead of {expected}");
    Ok(())
}

/// Writes what the socket takes. A connection that has ended takes nothing: its end is seen
/// where it is read.
fn write_some(stream: &mut TcpStream, bytes: &[u8]) -> usize {
    match stream.write(bytes) {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(_) => 0,
    }
}

fn set(visit: &Visit, key: &[u8], value: &[u8]) -> Result<()> {
    let mut client = Client::connect(visit.address)?;
    let reply = client.call(&[b"SET", key, value])?;
    ensure!(reply.text() == Some("OK"), "SET of {} bytes is refused: {reply}", value.len());
    Ok(())
}
