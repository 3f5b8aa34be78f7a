//! Neighbours who misuse connections: too many idle, half closed, or coming and going.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};

use super::visit::{Fates, State, Visit, look};
use crate::resp::encode;

const HALF_CLOSED: u32 = 1_000;
const PONG: &[u8] = b"+PONG\r\n";

/// Opens connections and does nothing with them; at the end each must still answer.
pub(super) fn idle(visit: &Visit) -> Result<String> {
    let streams = visit.connect_many(visit.scale.idle)?;
    let took = visit.elapsed();
    visit.stay();
    let (mut fates, mut answered) = (Fates::default(), 0);
    let mut buffer = [0; 64];
    for mut stream in &streams {
        let state = look(stream, &mut buffer);
        fates.count(state);
        if matches!(state, State::Open(_)) && stream.set_nonblocking(false).is_ok() {
            let asked = stream.write_all(&encode(&["PING"]));
            let found = asked.and_then(|()| stream.read_exact(&mut buffer[..PONG.len()]));
            answered += usize::from(found.is_ok() && buffer.starts_with(PONG));
        }
    }
    Ok(format!(
        "{} connected in {:.1} s; {fates}; {answered} answered a PING then",
        streams.len(),
        took.as_secs_f64()
    ))
}

/// Sends a request, closes its sending half and waits: the answer must come, then the end.
pub(super) fn half_closed(visit: &Visit) -> Result<String> {
    let mut streams = Vec::new();
    for index in 0..HALF_CLOSED {
        let mut stream = visit.connect()?;
        // Every second one asks before it closes its half, the others say nothing at all.
        if index % 2 == 0 {
            stream.write_all(&encode(&["PING"]))?;
        }
        stream.shutdown(Shutdown::Write)?;
        streams.push(stream);
    }
    visit.stay();
    let (mut answered, mut ended, mut open) = (0, 0, 0);
    for stream in &mut streams {
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        let mut text = Vec::new();
        match stream.read_to_end(&mut text) {
            Ok(_) => ended += 1,
            Err(_) => open += 1,
        }
        answered += usize::from(text == PONG);
        if visit.is_interrupted() {
            break;
        }
    }
    Ok(format!(
        "{HALF_CLOSED} half-closed, {} had asked: {answered} answered; {ended} ended, {open} not",
        HALF_CLOSED / 2
    ))
}

/// Connects and goes: in turn at once, after an answer, and by a reset.
pub(super) fn storm(visit: &Visit) -> Result<String> {
    let (mut connected, mut answered, mut refused) = (0u32, 0u32, 0u32);
    let mut first_refusal = None;
    while !visit.is_over() && connected + refused < visit.scale.storm {
        match guest(visit, connected % 3) {
            Ok(asked) => {
                connected += 1;
                answered += u32::from(asked);
            }
            Err(error) => {
                refused += 1;
                first_refusal.get_or_insert(format!("; first failure: {error:#}"));
            }
        }
    }
    visit.stay();
    let words = first_refusal.unwrap_or_default();
    Ok(format!("{connected} came and went, {answered} after an answer, {refused} failed{words}"))
}

/// One short connection; true when it asked and was answered.
fn guest(visit: &Visit, manner: u32) -> Result<bool> {
    let mut stream = visit.connect()?;
    match manner {
        0 => Ok(false),
        1 => {
            stream.write_all(&encode(&["PING"]))?;
            let mut reply = [0; PONG.len()];
            stream.read_exact(&mut reply).context("reading the answer")?;
            Ok(reply == PONG)
        }
        _ => {
            break_off(&stream)?;
            Ok(false)
        }
    }
}

/// Closing it will send a reset.
fn break_off(stream: &TcpStream) -> Result<()> {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))
        .context("preparing a reset")
}
