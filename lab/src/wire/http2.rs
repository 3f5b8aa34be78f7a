//! The frames of HTTP/2 (RFC 9113) that a client of the lab writes and reads, and heads of requests in HPACK (RFC 7541).

use crate::resp::Stop;

/// First bytes of a client (RFC 9113, 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Longest payload that a peer may send or get before its settings say more.
pub(crate) const PAYLOAD_LEN_MAX: usize = 16_384;
/// Window of a connection before its first WINDOW_UPDATE, bytes.
pub(crate) const FIRST_WINDOW: u32 = 65_535;
/// Length of the head of a frame.
const HEAD_LEN: usize = 9;

/// Types of frames (RFC 9113, 6).
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Identifiers of settings (RFC 9113, 6.5.2).
pub(crate) mod setting {
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// 0 for a frame about the connection.
    pub(crate) stream: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`Stop`]; a frame that is longer than the lab allows is malformed.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Frame<'a>, Stop> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_LEN>() else {
            return Err(Stop::Incomplete);
        };
        let &[a, b, c, kind, flags, stream @ ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if length > PAYLOAD_LEN_MAX {
            return Err(Stop::Malformed);
        }
        let payload = rest.get(..length).ok_or(Stop::Incomplete)?;
        Ok(Frame { kind, flags, stream: u32::from_be_bytes(stream) & 0x7FFF_FFFF, payload })
    }

    /// Returns the length of the whole frame, bytes.
    pub(crate) fn len(&self) -> usize {
        HEAD_LEN + self.payload.len()
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the number of a WINDOW_UPDATE, bytes.
    pub(crate) fn window(&self) -> Option<u32> {
        Some(u32::from_be_bytes(self.payload.try_into().ok()?) & 0x7FFF_FFFF)
    }

    /// Appends the frame. Its payload has at most [`PAYLOAD_LEN_MAX`] bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX).to_be_bytes();
        out.extend_from_slice(&[length[1], length[2], length[3], self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
        out.extend_from_slice(self.payload);
    }
}

/// Appends the preface with its SETTINGS, and opens the window of the connection by `window` bytes.
pub(crate) fn write_preface(settings: &[(u16, u32)], window: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let mut payload = Vec::new();
    for (name, value) in settings {
        payload.extend_from_slice(&name.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    Frame { kind: kind::SETTINGS, flags: 0, stream: 0, payload: &payload }.write(out);
    write_window_update(0, window, out);
}

/// Appends a WINDOW_UPDATE of a stream, or of the connection, 0. None is written for no bytes, which would be an error.
pub(crate) fn write_window_update(stream: u32, bytes: u32, out: &mut Vec<u8>) {
    if bytes > 0 {
        let payload = &bytes.to_be_bytes();
        Frame { kind: kind::WINDOW_UPDATE, flags: 0, stream, payload }.write(out);
    }
}

/// Appends the answer that this frame needs: SETTINGS and PING are acknowledged.
pub(crate) fn write_ack(frame: &Frame<'_>, out: &mut Vec<u8>) {
    if frame.has(flag::ACK) {
        return;
    }
    match frame.kind {
        kind::SETTINGS => Frame { flags: flag::ACK, payload: &[], ..*frame }.write(out),
        kind::PING => Frame { flags: flag::ACK, ..*frame }.write(out),
        _ => {}
    }
}

/// Appends a header block of a request as HEADERS, and as many CONTINUATIONs as it needs.
pub(crate) fn write_head(stream: u32, block: &[u8], out: &mut Vec<u8>) {
    let parts = block.len().div_ceil(PAYLOAD_LEN_MAX);
    for (number, payload) in block.chunks(PAYLOAD_LEN_MAX).enumerate() {
        let kind = if number == 0 { kind::HEADERS } else { kind::CONTINUATION };
        let flags = if number + 1 == parts { flag::END_HEADERS } else { 0 };
        Frame { kind, flags, stream, payload }.write(out);
    }
}

/// Writer of the heads of POSTs in HPACK. The first one puts what all have in common into the peer's dynamic table, the
/// others name it by its index.
#[derive(Debug, Default)]
pub(crate) struct HeadWriter {
    is_table_filled: bool,
}

impl HeadWriter {
    /// Appends the header block of a POST of JSON to a path.
    pub(crate) fn post(&mut self, path: &[u8], content_length: usize, out: &mut Vec<u8>) {
        // `:method: POST` and `:scheme: http` are entries of the static table.
        out.extend_from_slice(&[0x83, 0x86]);
        if self.is_table_filled {
            out.push(0x80 | 63);
        } else {
            out.push(0x40 | 1);
            string(b"localhost", out);
        }
        // `:path`, not kept.
        out.push(4);
        string(path, out);
        if std::mem::replace(&mut self.is_table_filled, true) {
            out.push(0x80 | 62);
        } else {
            out.push(0x40 | 31);
            string(b"application/json", out);
        }
        // `content-length`, entry 28, not kept.
        integer(28, 4, 0, out);
        string(content_length.to_string().as_bytes(), out);
    }
}

/// Appends a field that is not kept in the table, with a name of its own.
pub(crate) fn write_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    string(name, out);
    string(value, out);
}

/// Appends a string without Huffman's code.
fn string(text: &[u8], out: &mut Vec<u8>) {
    integer(text.len(), 7, 0, out);
    out.extend_from_slice(text);
}

/// Appends an integer whose first part has this many bits of a byte (RFC 7541, 5.1); `first` has the other bits.
fn integer(mut value: usize, bits: u32, first: u8, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if value < most {
        out.push(first | low_byte(value));
        return;
    }
    out.push(first | low_byte(most));
    value -= most;
    while value >= 0x80 {
        out.push(0x80 | low_byte(value & 0x7F));
        value >>= 7;
    }
    out.push(low_byte(value));
}

/// Returns a value that is below 256.
fn low_byte(value: usize) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads header blocks of one connection with another implementation.
    fn decoded(blocks: &[Vec<u8>]) -> Vec<Vec<String>> {
        let mut decoder = httlib_hpack::Decoder::default();
        let fields = |block: &Vec<u8>| {
            let mut fields = Vec::new();
            decoder.decode(&mut block.clone(), &mut fields).unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            fields
                .into_iter()
                .map(move |(name, value, _)| format!("{}: {}", text(name), text(value)))
        };
        blocks.iter().map(fields).map(Iterator::collect).collect()
    }

    #[test]
    fn heads_are_read_by_another_implementation_and_become_short() {
        let mut writer = HeadWriter::default();
        let long = "/x".repeat(300);
        let blocks: Vec<Vec<u8>> = [("/a", 7), ("/b/update", 1_234), (&long, 0)]
            .map(|(path, length)| {
                let mut block = Vec::new();
                writer.post(path.as_bytes(), length, &mut block);
                block
            })
            .into();
        let head = |path: &str, length: usize| {
            let length = format!("content-length: {length}");
            let path = format!(":path: {path}");
            [
                ":method: POST",
                ":scheme: http",
                ":authority: localhost",
                &path,
                "content-type: application/json",
                &length,
            ]
            .map(str::to_owned)
        };
        let expected = [head("/a", 7), head("/b/update", 1_234), head(&long, 0)];
        assert_eq!(decoded(&blocks), expected.map(Vec::from));
        assert_eq!(blocks[1].len(), 2 + 1 + 1 + 1 + "/b/update".len() + 1 + 2 + 1 + 4);
    }

    #[test]
    fn a_long_head_is_cut_into_frames_of_which_the_last_ends_it() {
        let (mut block, mut out) = (Vec::new(), Vec::new());
        write_field(b"x-long", &[b'v'; 40_000], &mut block);
        write_head(3, &block, &mut out);
        let (mut joined, mut rest, mut frames) = (Vec::new(), &out[..], Vec::new());
        while let Ok(frame) = Frame::read(rest) {
            joined.extend_from_slice(frame.payload);
            frames.push((frame.kind, frame.flags, frame.stream));
            rest = &rest[frame.len()..];
        }
        let more = kind::CONTINUATION;
        assert_eq!(frames, [(kind::HEADERS, 0, 3), (more, 0, 3), (more, flag::END_HEADERS, 3)]);
        assert_eq!(decoded(&[joined])[0], [format!("x-long: {}", "v".repeat(40_000))]);
    }

    #[test]
    fn a_frame_is_read_however_it_is_split_and_not_above_its_bound() {
        let frame = Frame { kind: kind::PING, flags: flag::ACK, stream: 0, payload: b"12345678" };
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        for split in 0..bytes.len() {
            assert_eq!(Frame::read(&bytes[..split]), Err(Stop::Incomplete), "{split}");
        }
        assert_eq!(Frame::read(&bytes), Ok(frame));
        assert_eq!(Frame::read(&[0, 0x40, 1, 0, 0, 0, 0, 0, 1]), Err(Stop::Malformed));
    }

    #[test]
    fn settings_and_pings_are_acknowledged_once() {
        for (kind, payload) in
            [(kind::SETTINGS, &[0, 3, 0, 0, 0, 128][..]), (kind::PING, b"12345678")]
        {
            let asked = Frame { kind, flags: 0, stream: 0, payload };
            let mut out = Vec::new();
            write_ack(&asked, &mut out);
            let answer = Frame::read(&out).unwrap();
            assert!(answer.has(flag::ACK) && answer.kind == kind);
            let answer_len = answer.len();
            let mut again = Vec::new();
            write_ack(&answer, &mut again);
            assert!(again.is_empty() && answer_len == out.len());
        }
    }
}
