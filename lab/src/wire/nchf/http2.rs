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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode;

    const BODY: &[u8] =
        br#"{"multipleUnitInformation":[{"resultCode":"SUCCESS","grantedUnit":{"totalVolume":9}}]}"#;
    /// `:status: 200` of the static table.
    const STATUS_200: &[u8] = &[0x88];

    /// Returns a connection with these requests in flight, and the frames that it has written.
    fn asked(sessions: &[u32]) -> (NchfHttp2, Vec<(u8, u8, u32)>) {
        let (mut wire, mut out) = (NchfHttp2::default(), Vec::new());
        for session in sessions {
            let words = ["SCUR.UPDATE", "a", "s1", "1", "ITEM", "1", "octet", "USED", "7"];
            wire.request(*session, &encode(&words), &mut out);
        }
        let mut rest = out.strip_prefix(crate::wire::http2::PREFACE).unwrap();
        let mut frames = Vec::new();
        while let Ok(frame) = Frame::read(rest) {
            frames.push((frame.kind, frame.flags, frame.stream));
            rest = &rest[frame.len()..];
        }
        assert!(rest.is_empty());
        (wire, frames)
    }

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Frame { kind, flags, stream, payload }.write(&mut out);
        out
    }

    /// What was answered, by session, and what the connection writes.
    type Read = (Vec<(u32, String)>, Vec<u8>);

    /// Reads frames until the first that is wrong.
    fn read(wire: &mut NchfHttp2, frames: &[Vec<u8>]) -> Result<Read, Stop> {
        let bytes = frames.concat();
        let (mut at, mut answers, mut again) = (0, Vec::new(), Vec::new());
        while at < bytes.len() {
            let mut reply = Vec::new();
            let mut sink = Sink { reply: &mut reply, again: &mut again };
            let (length, step) = wire.reply(&bytes[at..], &mut sink)?;
            at += length;
            if let Step::Answer(session) = step {
                answers.push((session, String::from_utf8(reply).unwrap().replace("\r\n", "|")));
            }
        }
        Ok((answers, again))
    }

    #[test]
    fn each_request_is_a_stream_after_one_preface() {
        let (_, frames) = asked(&[4, 8]);
        let (head, data) = ((kind::HEADERS, flag::END_HEADERS), (kind::DATA, flag::END_STREAM));
        let streams = [(head, 1), (data, 1), (head, 3), (data, 3)];
        let expected: Vec<(u8, u8, u32)> = [(kind::SETTINGS, 0, 0), (kind::WINDOW_UPDATE, 0, 0)]
            .into_iter()
            .chain(streams.map(|((kind, flags), stream)| (kind, flags, stream)))
            .collect();
        assert_eq!(frames, expected);
    }

    #[test]
    fn answers_come_in_any_order_and_in_parts() {
        let (mut wire, _) = asked(&[4, 8]);
        let (end, whole) = (flag::END_STREAM, flag::END_HEADERS);
        let (answers, again) = read(
            &mut wire,
            &[
                frame(kind::SETTINGS, 0, 0, &[]),
                frame(kind::HEADERS, whole, 3, STATUS_200),
                frame(kind::DATA, 0, 3, &BODY[..20]),
                frame(kind::HEADERS, whole, 1, STATUS_200),
                frame(kind::PING, 0, 0, b"12345678"),
                frame(kind::DATA, end, 3, &BODY[20..]),
                frame(kind::DATA, end, 1, BODY),
            ],
        )
        .unwrap();
        let granted = "*4|+OK|:0|:0|*1|*5|:1|+OK|:9|:0|:0|".to_owned();
        assert_eq!(answers, [(8, granted.clone()), (4, granted)]);
        let acks = [
            frame(kind::SETTINGS, flag::ACK, 0, &[]),
            frame(kind::PING, flag::ACK, 0, b"12345678"),
        ];
        assert_eq!(again, acks.concat());
    }

    #[test]
    fn a_refused_stream_is_an_error_and_an_ended_connection_ends_the_load() {
        let (mut wire, _) = asked(&[4, 8]);
        let refused = frame(kind::RST_STREAM, 0, 3, &7u32.to_be_bytes());
        let (answers, _) = read(&mut wire, &[refused]).unwrap();
        assert_eq!(answers, [(8, "-NCHF 0 RST_STREAM|".to_owned())]);
        assert_eq!(read(&mut wire, &[frame(kind::GOAWAY, 0, 0, &[0; 8])]), Err(Stop::Malformed));
        let cut = frame(kind::HEADERS, 0, 1, STATUS_200);
        assert_eq!(read(&mut wire, &[cut]), Err(Stop::Malformed));
        let long = vec![frame(kind::DATA, 0, 1, &[b' '; 16_384]); 5];
        assert_eq!(read(&mut wire, &long), Err(Stop::Malformed));
    }

    #[test]
    fn the_window_of_the_connection_opens_again_when_half_of_it_is_used() {
        let (mut wire, _) = asked(&[4]);
        wire.received = WINDOW / 2 - 2;
        let part = |text: &[u8]| frame(kind::DATA, 0, 1, text);
        assert!(read(&mut wire, &[part(b"x")]).unwrap().1.is_empty());
        let mut update = Vec::new();
        write_window_update(0, WINDOW / 2, &mut update);
        assert_eq!(read(&mut wire, &[part(b"x")]).unwrap().1, update);
        assert_eq!(wire.received, 0);
    }
}
