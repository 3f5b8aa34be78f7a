//! A connection that sends any bytes and keeps the answers.

use crate::counts::Counts;
use crate::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, PADDED, PING,
    PREFACE, RST_STREAM, SETTINGS, WITH_PRIORITY,
};
use crate::hpack::{Decoder, Field};
use scurry_model::Random;
use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Timeout of everything that is waited for. A stalled machine is no failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Most pieces that bytes are written in.
const PIECES_MAX: usize = 40;

/// An answer, as far as it was received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// 0 until it is received.
    pub(crate) status: u16,
    pub(crate) headers: Vec<Field>,
    pub(crate) body: Vec<u8>,
    pub(crate) is_whole: bool,
    /// Code of RST_STREAM.
    pub(crate) reset: Option<u32>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|field| field.0 == name).map(|field| &field.1[..])
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_whole || self.reset.is_some()
    }
}

/// A client's end of a connection.
pub(crate) struct Connection {
    stream: TcpStream,
    frames: Receiver<Frame>,
    decoder: Decoder,
    /// Stream and bytes of a header block that goes on.
    block: Option<(u32, bool, Vec<u8>)>,
    pub(crate) answers: BTreeMap<u32, Answer>,
    /// The next stream that is this client's to open.
    next_stream: u32,
    /// Code of GOAWAY.
    pub(crate) goaway: Option<u32>,
    /// The text of GOAWAY.
    pub(crate) why: String,
    /// Whether the server has closed it.
    pub(crate) is_closed: bool,
    /// Payloads of PINGs that were answered.
    pub(crate) pongs: Vec<Vec<u8>>,
    /// Why what came is not valid HTTP/2.
    pub(crate) fault: Option<String>,
    counts: Arc<Counts>,
}

impl Connection {
    /// Connects, and sends nothing.
    pub(crate) fn connect(port: u16, counts: &Arc<Counts>) -> std::io::Result<Connection> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let (sender, frames) = channel();
        // It ends with the connection: dropping that shuts the socket.
        std::thread::spawn(move || {
            while let Ok(Some(frame)) = Frame::read(&mut reader) {
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        counts.connection();
        Ok(Connection {
            stream,
            frames,
            decoder: Decoder::new(),
            block: None,
            answers: BTreeMap::new(),
            next_stream: 1,
            goaway: None,
            why: String::new(),
            is_closed: false,
            pongs: Vec::new(),
            fault: None,
            counts: Arc::clone(counts),
        })
    }

    /// Connects, begins HTTP/2 and opens the window for all answers to come.
    pub(crate) fn open(port: u16, counts: &Arc<Counts>) -> std::io::Result<Connection> {
        let mut connection = Connection::connect(port, counts)?;
        let window = Frame::window_update(0, 1 << 30);
        let begin = [PREFACE, &Frame::settings(&[]).bytes(), &window.bytes()].concat();
        connection.send(&begin);
        Ok(connection)
    }

    /// Returns a stream that was not used before, and counts it.
    pub(crate) fn open_stream(&mut self) -> u32 {
        let stream = self.next_stream;
        self.next_stream += 2;
        self.answers.insert(stream, Answer::default());
        self.counts.stream();
        stream
    }

    pub(crate) fn next_stream(&self) -> u32 {
        self.next_stream
    }

    /// Gives the next stream another number.
    pub(crate) fn skip_to(&mut self, stream: u32) {
        self.next_stream = stream;
    }

    /// Writes bytes at once. A connection that takes no more is closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        if self.stream.write_all(bytes).is_err() {
            self.is_closed = true;
        }
    }

    pub(crate) fn send_frames(&mut self, frames: &[Frame]) {
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
        self.counts.sent(frames);
        self.send(&bytes);
    }

    /// Writes bytes in pieces of random lengths.
    pub(crate) fn send_in_pieces(&mut self, random: &mut Random, mut bytes: &[u8]) {
        for _ in 0..PIECES_MAX {
            let most = random.pick(&[1, 3, 10, 100, 1_000, 20_000]);
            let (piece, rest) = bytes.split_at((1 + random.below(most)).min(bytes.len()));
            self.send(piece);
            bytes = rest;
            if bytes.is_empty() || self.is_closed {
                return;
            }
        }
        self.send(bytes);
    }

    /// Waits until this holds. False if the time is over or the server has closed the connection before.
    pub(crate) fn wait(&mut self, patience: Duration, holds: impl Fn(&Connection) -> bool) -> bool {
        loop {
            // What is there already is taken first.
            while let Ok(frame) = self.frames.try_recv() {
                self.take(&frame);
            }
            if holds(self) {
                return true;
            }
            match self.frames.recv_timeout(patience) {
                Ok(frame) => self.take(&frame),
                Err(RecvTimeoutError::Timeout) => return holds(self),
                Err(RecvTimeoutError::Disconnected) => {
                    self.is_closed = true;
                    return holds(self);
                }
            }
        }
    }

    /// Waits until the answer on a stream has ended, or the connection.
    pub(crate) fn answer(&mut self, stream: u32) -> Answer {
        self.wait(PATIENCE, |seen| seen.answers.get(&stream).is_some_and(Answer::has_ended));
        self.answers.remove(&stream).unwrap_or_default()
    }

    /// Sends a PING and waits for its answer: all frames before it have been read then.
    pub(crate) fn ping(&mut self) -> bool {
        let payload = self.next_stream.to_be_bytes().repeat(2);
        self.pongs.clear();
        self.send_frames(&[Frame::new(PING, 0, 0, &payload)]);
        self.wait(PATIENCE, |seen| seen.pongs.contains(&payload))
    }

    fn take(&mut self, frame: &Frame) {
        if frame.kind == CONTINUATION || frame.kind == HEADERS {
            return self.take_head(frame);
        }
        match frame.kind {
            SETTINGS if frame.flags & ACK == 0 => {
                self.send_frames(&[Frame::new(SETTINGS, ACK, 0, b"")]);
            }
            PING if frame.flags & ACK != 0 => self.pongs.push(frame.payload.clone()),
            GOAWAY => {
                self.goaway = Some(frame.code());
                self.why =
                    String::from_utf8_lossy(frame.payload.get(8..).unwrap_or_default()).into();
                self.counts.goaway(frame.code());
            }
            RST_STREAM => {
                self.counts.reset(frame.code());
                self.answers.entry(frame.stream).or_default().reset = Some(frame.code());
            }
            DATA => {
                let answer = self.answers.entry(frame.stream).or_default();
                answer.body.extend(&frame.payload);
                answer.is_whole |= frame.flags & END_STREAM != 0;
                self.count_answer(frame.stream);
            }
            _ => {}
        }
    }

    fn take_head(&mut self, frame: &Frame) {
        if frame.flags & (PADDED | WITH_PRIORITY) != 0 && frame.kind == HEADERS {
            self.fault = Some("the door pads or gives priority".to_owned());
            return;
        }
        let is_last = frame.kind == HEADERS && frame.flags & END_STREAM != 0;
        let (stream, is_last, mut block) =
            self.block.take().unwrap_or((frame.stream, is_last, Vec::new()));
        block.extend(&frame.payload);
        if frame.flags & END_HEADERS == 0 {
            self.block = Some((stream, is_last, block));
            return;
        }
        let Some(fields) = self.decoder.decode(&block) else {
            self.fault = Some(format!("a header block of the door is not valid: {block:x?}"));
            return;
        };
        let status = fields.iter().find(|field| field.0 == ":status").map(|field| &field.1);
        let answer = self.answers.entry(stream).or_default();
        if let Some(status) = status {
            answer.status = status.parse().unwrap_or(0);
        }
        answer.headers.extend(fields);
        answer.is_whole |= is_last;
        self.count_answer(stream);
    }

    fn count_answer(&self, stream: u32) {
        if self.answers.get(&stream).is_some_and(|answer| answer.is_whole) {
            self.counts.answer();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
