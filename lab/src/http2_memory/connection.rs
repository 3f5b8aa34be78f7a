//! A connection that opens requests over HTTP/2 and does not end them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::OpenRequests;
use crate::resp::Stop;
use crate::wire::http2::{
    FIRST_WINDOW, Frame, HeadWriter, PAYLOAD_LEN_MAX, flag, kind, write_ack, write_field,
    write_head, write_preface,
};

const TIMEOUT: Duration = Duration::from_secs(60);
const PATH: &[u8] = b"/nchf-convergedcharging/v3/chargingdata";
/// Longest body that the door reads.
const BODY_LEN: usize = 256 * 1_024;
const PING: &[u8; 8] = b"weighing";

/// Connection whose requests stay open.
#[derive(Debug)]
pub(super) struct IdleConnection {
    stream: TcpStream,
    heads: HeadWriter,
    /// Number of streams so far.
    opened: u32,
    /// Bytes of bodies that the door takes on this connection before its next WINDOW_UPDATE.
    window: usize,
    received: Vec<u8>,
}

/// What a frame of the door says.
#[derive(Debug, PartialEq)]
enum Said {
    /// Nothing that is waited for.
    Other,
    Pong,
    /// A part of an answer; true for its end.
    Answer(bool),
}

impl IdleConnection {
    /// Connects, and waits until the door has read the preface and the settings.
    ///
    /// # Errors
    /// When the door refuses the connection.
    pub(super) fn open(door: SocketAddr) -> Result<IdleConnection> {
        let stream = TcpStream::connect(door).with_context(|| format!("connecting to {door}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut connection = IdleConnection {
            stream,
            heads: HeadWriter::default(),
            opened: 0,
            window: FIRST_WINDOW as usize,
            received: Vec::new(),
        };
        let mut out = Vec::new();
        write_preface(&[], 0, &mut out);
        connection.stream.write_all(&out)?;
        connection.ping()?;
        Ok(connection)
    }

    /// Sends a request and waits for its answer. Its body is an empty object, which the door refuses.
    ///
    /// # Errors
    /// When the door does not answer.
    pub(super) fn exchange(&mut self) -> Result<()> {
        let mut out = Vec::new();
        let stream = self.head(2, 0, &mut out);
        let flags = flag::END_STREAM;
        Frame { kind: kind::DATA, flags, stream, payload: b"{}" }.write(&mut out);
        self.stream.write_all(&out)?;
        while self.read()? != Said::Answer(true) {}
        Ok(())
    }

    /// Begins requests, whose bodies are to be [`BODY_LEN`] bytes long and end earlier.
    ///
    /// # Errors
    /// When the door answers one, or reads no further.
    pub(super) fn begin(&mut self, requests: &OpenRequests) -> Result<()> {
        for _ in 0..requests.count {
            let mut out = Vec::new();
            let stream = self.head(BODY_LEN, requests.header_len, &mut out);
            self.stream.write_all(&out)?;
            let body = vec![b' '; requests.body_len];
            for payload in body.chunks(PAYLOAD_LEN_MAX) {
                while self.window < payload.len() {
                    self.read_open()?;
                }
                self.window -= payload.len();
                out.clear();
                Frame { kind: kind::DATA, flags: 0, stream, payload }.write(&mut out);
                self.stream.write_all(&out)?;
            }
        }
        Ok(())
    }

    /// Sends a PING and waits for its answer.
    ///
    /// # Errors
    /// When the door has answered a request, or ended the connection.
    pub(super) fn ping(&mut self) -> Result<()> {
        let mut out = Vec::new();
        Frame { kind: kind::PING, flags: 0, stream: 0, payload: PING }.write(&mut out);
        self.stream.write_all(&out)?;
        while self.read_open()? != Said::Pong {}
        Ok(())
    }

    /// Writes the head of a request; `header_len` is the length of one more header, 0 for none.
    fn head(&mut self, content_length: usize, header_len: usize, out: &mut Vec<u8>) -> u32 {
        let stream = 2 * self.opened + 1;
        self.opened += 1;
        let mut block = Vec::new();
        self.heads.post(PATH, content_length, &mut block);
        if header_len > 0 {
            write_field(b"x-long", &vec![b'v'; header_len], &mut block);
        }
        write_head(stream, &block, out);
        stream
    }

    /// Reads a frame while all requests are to stay open.
    fn read_open(&mut self) -> Result<Said> {
        let said = self.read()?;
        ensure!(!matches!(said, Said::Answer(_)), "the door has answered a request before its end");
        Ok(said)
    }

    fn read(&mut self) -> Result<Said> {
        loop {
            let frame = match Frame::read(&self.received) {
                Ok(frame) => frame,
                Err(Stop::Malformed) => bail!("the door sends what is no frame of HTTP/2"),
                Err(Stop::Incomplete) => {
                    let mut chunk = [0; 16_384];
                    let count = self.stream.read(&mut chunk).context("waiting for the door")?;
                    ensure!(count > 0, "the door has closed the connection");
                    self.received.extend_from_slice(&chunk[..count]);
                    continue;
                }
            };
            let said = match frame.kind {
                kind::PING if frame.has(flag::ACK) => Said::Pong,
                kind::HEADERS | kind::DATA => Said::Answer(frame.has(flag::END_STREAM)),
                kind::RST_STREAM => bail!("the door has reset a stream"),
                kind::GOAWAY => bail!("the door ends the connection"),
                kind::WINDOW_UPDATE if frame.stream == 0 => {
                    self.window += frame.window().unwrap_or(0) as usize;
                    Said::Other
                }
                _ => Said::Other,
            };
            let mut out = Vec::new();
            write_ack(&frame, &mut out);
            let length = frame.len();
            self.received.drain(..length);
            self.stream.write_all(&out)?;
            return Ok(said);
        }
    }
}
