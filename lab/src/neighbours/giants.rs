//! Neighbours who send the longest arguments that are allowed, and longer ones.

use std::io::{Read, Write};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::visit::Visit;
use crate::resp::encode;

/// The longest argument of the server's defaults, bytes.
const ARGUMENT_MAX: usize = 1_048_576;
/// More arguments of one request than the defaults allow.
const ARGUMENTS_ABOVE: usize = 1_048_577;
const GIANTS: u32 = 8;
/// How long the answer to a request that is too big may take.
const ANSWER_MAX: Duration = Duration::from_secs(5);
const ERROR_LEN_MAX: usize = 100;

/// Values of the longest length on several connections at a time: each is sent but for its last
/// bytes before any is finished, so that all wait in the server at once.
pub(super) fn at_the_limit(visit: &Visit) -> Result<String> {
    let value = vec![b'x'; ARGUMENT_MAX];
    let mut streams = Vec::new();
    for _ in 0..GIANTS {
        streams.push(visit.connect()?);
    }
    let mut answered = 0;
    while answered == 0 || !visit.is_over() {
        let requests: Vec<Vec<u8>> = (0..GIANTS)
            .map(|index| {
                let key = format!("neighbour:giant:{index}");
                encode(&[b"SET".as_slice(), key.as_bytes(), &value])
            })
            .collect();
        for (stream, request) in streams.iter_mut().zip(&requests) {
            stream.write_all(&request[..request.len() - 3]).context("sending a giant argument")?;
        }
        for (stream, request) in streams.iter_mut().zip(&requests) {
            stream.write_all(&request[request.len() - 3..])?;
            let mut reply = [0; 5];
            stream.read_exact(&mut reply).context("reading the answer to a giant argument")?;
            ensure!(&reply == b"+OK\r\n", "a giant is answered {}", reply.escape_ascii());
            answered += 1;
        }
    }
    Ok(format!("{answered} SETs of {ARGUMENT_MAX} bytes on {GIANTS} connections, all answered OK"))
}

/// Requests that break each of the limits in turn, each on a connection of its own.
pub(super) fn above_the_limit(visit: &Visit) -> Result<String> {
    let long = encode(&[b"SET".as_slice(), b"neighbour:giant", &vec![b'x'; ARGUMENT_MAX + 1]]);
    let megabyte = vec![b'x'; ARGUMENT_MAX];
    let parts: Vec<&[u8]> = std::iter::once(b"MSET".as_slice())
        .chain((0..20).flat_map(|_| [b"neighbour:giant".as_slice(), &megabyte]))
        .collect();
    let requests = [
        ("an argument too long", long),
        ("a request too long", encode(&parts)),
        ("too many arguments", format!("*{ARGUMENTS_ABOVE}\r\n").into_bytes()),
        ("a length beyond any", b"*2\r\n$3\r\nGET\r\n$99999999999\r\n".to_vec()),
    ];
    let mut tallies = [(0u32, 0u32); 4];
    let mut texts: [Option<String>; 4] = Default::default();
    while tallies[3] == (0, 0) || !visit.is_over() {
        for (index, (_, request)) in requests.iter().enumerate() {
            match refusal(visit, request)? {
                Some(text) => {
                    tallies[index].0 += 1;
                    texts[index].get_or_insert(text);
                }
                None => tallies[index].1 += 1,
            }
        }
    }
    let parts: Vec<String> = requests
        .iter()
        .zip(tallies)
        .zip(texts)
        .map(|(((name, _), (told, cut)), text)| {
            let text = text.map(|text| format!(" ({text})")).unwrap_or_default();
            format!("{name}: {told} refused{text}, {cut} cut off without a word")
        })
        .collect();
    Ok(parts.join("; "))
}

/// The error that such a request is answered with before the connection ends; none when the
/// connection ended without. An answer other than an error is a failure.
fn refusal(visit: &Visit, request: &[u8]) -> Result<Option<String>> {
    let mut stream = visit.connect()?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    // The server may close before it has read everything: then the rest cannot be written.
    let _ = stream.write_all(request);
    let mut text = Vec::new();
    let ended = stream.read_to_end(&mut text);
    if text.is_empty() {
        ensure!(ended.is_ok() || !is_timeout(&ended), "a request that is too big has no answer");
        return Ok(None);
    }
    ensure!(text.starts_with(b"-"), "a request that is too big is answered {}", shown(&text));
    Ok(Some(shown(&text)))
}

fn is_timeout(ended: &std::io::Result<usize>) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    ended.as_ref().is_err_and(|error| matches!(error.kind(), TimedOut | WouldBlock))
}

fn shown(text: &[u8]) -> String {
    let line = text.split(|byte| *byte == b'\r').next().unwrap_or_default();
    line[..line.len().min(ERROR_LEN_MAX)].escape_ascii().to_string()
}
