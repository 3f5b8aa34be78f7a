//! Nchf over HTTP/2 by prior knowledge: each request is a stream. The window that the door gives first holds more than
//! 128 requests, as many as it serves at a time, so requests never wait for a window; and the lab's own windows are so
//! large that answers do not.

use httlib_hpack::Decoder;

use super::{AnswerHead, BODY_LEN_MAX, Consumer};
use crate::resp::Stop;
use crate::wire::http2::{
    FIRST_WINDOW, Frame, HeadWriter, flag, kind, setting, write_ack, write_head, write_preface,
    write_window_update,
};
use crate::wire::{Sink, Step, Translator};

/// Bytes of answers that the door may send before it needs a WINDOW_UPDATE of the connection.
const WINDOW: u32 = 1 << 30;
/// Settings of the lab: answers of any allowed length fit into the window of a stream, and there is no push.
const SETTINGS: &[(u16, u32)] =
    &[(setting::ENABLE_PUSH, 0), (setting::INITIAL_WINDOW_SIZE, BODY_LEN_MAX as u32)];

/// State of a connection.
#[derive(Debug, Default)]
pub(in crate::wire) struct NchfHttp2 {
    consumer: Consumer,
    heads: HeadWriter,
    decoder: Decoder<'static>,
    /// Number of streams so far.
    opened: u32,
    /// Requests without an answer.
    streams: Vec<Stream>,
    /// Bytes of answers since the last WINDOW_UPDATE.
    received: u32,
    path: Vec<u8>,
    body: Vec<u8>,
    block: Vec<u8>,
}

/// Request without an answer.
#[derive(Debug)]
struct Stream {
    id: u32,
    session: u32,
    head: AnswerHead,
    /// Start of a body in several frames.
    body: Vec<u8>,
}

impl NchfHttp2 {
    fn stream(&mut self, id: u32) -> Option<usize> {
        self.streams.iter().position(|stream| stream.id == id)
    }

    /// Takes over the header fields of an answer. Every block is decoded, because later ones use its table.
    fn head(&mut self, frame: &Frame<'_>) -> Result<(), Stop> {
        // The door's heads fit into one frame.
        if !frame.has(flag::END_HEADERS) || frame.has(flag::PADDED) || frame.has(flag::PRIORITY) {
            return Err(Stop::Malformed);
        }
        self.block.clear();
        self.block.extend_from_slice(frame.payload);
        let mut fields = Vec::new();
        self.decoder.decode(&mut self.block, &mut fields).map_err(|_| Stop::Malformed)?;
        if let Some(at) = self.stream(frame.stream) {
            for (name, value, _) in &fields {
                self.streams[at].head.field(name, value);
            }
        }
        Ok(())
    }

    /// Counts the bytes of an answer, and opens the window again when half of it is used.
    fn count(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>) {
        self.received += u32::try_from(frame.payload.len()).unwrap_or(0);
        if self.received >= WINDOW / 2 {
            write_window_update(0, std::mem::take(&mut self.received), out);
        }
    }

    /// Ends a stream with the last part of its body.
    fn end(&mut self, id: u32, rest: &[u8], sink: &mut Sink<'_>) -> Step {
        let Some(at) = self.stream(id) else { return Step::Nothing };
        let mut stream = self.streams.swap_remove(at);
        let body = if stream.body.is_empty() {
            rest
        } else {
            stream.body.extend_from_slice(rest);
            &stream.body
        };
        self.consumer.answer(stream.session, &stream.head, body, sink.reply);
        Step::Answer(stream.session)
    }

    fn data(&mut self, frame: &Frame<'_>, sink: &mut Sink<'_>) -> Result<Step, Stop> {
        if frame.has(flag::PADDED) {
            return Err(Stop::Malformed);
        }
        self.count(frame, sink.again);
        if frame.has(flag::END_STREAM) {
            return Ok(self.end(frame.stream, frame.payload, sink));
        }
        if let Some(at) = self.stream(frame.stream) {
            let body = &mut self.streams[at].body;
            body.extend_from_slice(frame.payload);
            if body.len() > BODY_LEN_MAX {
                return Err(Stop::Malformed);
            }
        }
        Ok(Step::Nothing)
    }
}

impl Translator for NchfHttp2 {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        if self.opened == 0 {
            write_preface(SETTINGS, WINDOW - FIRST_WINDOW, out);
        }
        let id = 2 * self.opened + 1;
        self.opened += 1;
        self.consumer.request(session, request, &mut self.path, &mut self.body);
        self.block.clear();
        self.heads.post(&self.path, self.body.len(), &mut self.block);
        write_head(id, &self.block, out);
        let flags = flag::END_STREAM;
        Frame { kind: kind::DATA, flags, stream: id, payload: &self.body }.write(out);
        self.streams.push(Stream { id, session, head: AnswerHead::default(), body: Vec::new() });
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        let frame = Frame::read(bytes)?;
        let step = match frame.kind {
            kind::HEADERS => {
                self.head(&frame)?;
                if frame.has(flag::END_STREAM) {
                    self.end(frame.stream, &[], sink)
                } else {
                    Step::Nothing
                }
            }
            kind::DATA => self.data(&frame, sink)?,
            // A request that was refused has no status: an error in the tally.
            kind::RST_STREAM => {
                if let Some(at) = self.stream(frame.stream) {
                    self.streams[at].head = AnswerHead::default();
                }
                self.end(frame.stream, b"RST_STREAM", sink)
            }
            // The door ends the connection, or sends what the lab has not asked for.
            kind::GOAWAY | kind::PUSH_PROMISE | kind::CONTINUATION => return Err(Stop::Malformed),
            _ => {
                write_ack(&frame, sink.again);
                Step::Nothing
            }
        };
        Ok((frame.len(), step))
    }
}
