//! Frames of HTTP/2 (RFC 9113 clause 4.1), as bytes: what is wrong in them is wrong on purpose.

use std::io::{self, Read};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
/// A type that RFC 9113 does not know.
pub(crate) const UNKNOWN: u8 = 0xbe;

/// ACK of SETTINGS and PING.
pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const WITH_PRIORITY: u8 = 0x20;

pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
pub(crate) const ENABLE_PUSH: u16 = 2;
pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(crate) const MAX_FRAME_SIZE: u16 = 5;
pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Longest payload that a door takes: the least that SETTINGS_MAX_FRAME_SIZE can be.
pub(crate) const PAYLOAD_MAX: usize = 16_384;

const HEAD_LEN: usize = 9;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// With the reserved bit.
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Frame {
        Frame { kind, flags, stream, payload: payload.to_vec() }
    }

    /// Returns SETTINGS with these values.
    pub(crate) fn settings(values: &[(u16, u32)]) -> Frame {
        let payload: Vec<u8> = values
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        Frame::new(SETTINGS, 0, 0, &payload)
    }

    pub(crate) fn window_update(stream: u32, increment: u32) -> Frame {
        Frame::new(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
    }

    pub(crate) fn reset(stream: u32, code: u32) -> Frame {
        Frame::new(RST_STREAM, 0, stream, &code.to_be_bytes())
    }

    /// Returns the same with padding (clause 6.1).
    pub(crate) fn padded(mut self, len: u8) -> Frame {
        self.flags |= PADDED;
        self.payload.insert(0, len);
        self.payload.resize(self.payload.len() + usize::from(len), 0);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let [_, len @ ..] = u32::try_from(self.payload.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&len[..], &[self.kind, self.flags], &self.stream.to_be_bytes(), &self.payload].concat()
    }

    /// Reads the next frame; None at the end.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
        let mut head = [0; HEAD_LEN];
        match from.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let [a, b, c, kind, flags, stream @ ..] = head;
        let len = u32::from_be_bytes([0, a, b, c]);
        let mut payload = vec![0; usize::try_from(len).unwrap_or(0)];
        from.read_exact(&mut payload)?;
        Ok(Some(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload }))
    }

    /// Returns the code of RST_STREAM or GOAWAY.
    pub(crate) fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        let four = self.payload.get(at..at + 4).and_then(|four| four.try_into().ok());
        four.map_or(u32::MAX, u32::from_be_bytes)
    }
}

/// Returns the name of a type of frame.
pub(crate) fn name(kind: u8) -> &'static str {
    const NAMES: [&str; 10] = [
        "DATA",
        "HEADERS",
        "PRIORITY",
        "RST_STREAM",
        "SETTINGS",
        "PUSH_PROMISE",
        "PING",
        "GOAWAY",
        "WINDOW_UPDATE",
        "CONTINUATION",
    ];
    NAMES.get(usize::from(kind)).copied().unwrap_or("unknown")
}

/// Returns the name of an error code (clause 7).
pub(crate) fn code_name(code: u32) -> &'static str {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).copied().unwrap_or("unknown")
}
