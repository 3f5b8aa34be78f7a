//! Where one message ends and the next begins: RFC 6733, 3. Only version and length are looked at, so that a message
//! that is too long is refused before it is received.

use crate::header::{HEADER_LEN, VERSION};
use crate::result_code::ResultCode;

/// Longest message that the header can describe, bytes: the length has 24 bits and is a multiple of 4.
pub const MESSAGE_LEN_MAX: usize = 0x00ff_fffc;

/// What a buffer begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A part of a message: at least this many bytes are missing.
    Needs(usize),
    /// A message of this length, bytes.
    Message(usize),
}

/// Why the bytes are no message. The following bytes cannot be read either, so the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// The version is not 1.
    #[error("the peer has sent a message of version {0}, and not of 1")]
    Version(u8),
    /// The length is shorter than a header.
    #[error("the peer has sent a message of {0} bytes, which is shorter than a header")]
    Short(usize),
    /// The length is not a multiple of 4.
    #[error("the peer has sent a message of {0} bytes, which is no multiple of 4")]
    Uneven(usize),
    /// The length is above the bound.
    #[error("the peer has sent a message of {len} bytes; at most {max} are allowed")]
    Long {
        /// Length in the header, bytes.
        len: usize,
        /// The bound, bytes.
        max: usize,
    },
    /// The bytes are not exactly one message.
    #[error("{0} bytes were taken for one message, which they are not")]
    Cut(usize),
}

impl FrameFault {
    /// Returns the Result-Code that describes the fault.
    #[must_use]
    pub fn result(&self) -> ResultCode {
        match self {
            FrameFault::Version(_) => ResultCode::UNSUPPORTED_VERSION,
            FrameFault::Short(_)
            | FrameFault::Uneven(_)
            | FrameFault::Long { .. }
            | FrameFault::Cut(_) => ResultCode::INVALID_MESSAGE_LENGTH,
        }
    }
}

/// Finds the message at the beginning of the buffer. `len_max` bounds its length, bytes.
///
/// # Errors
/// The fault of version and length, as soon as these four bytes have been received.
pub fn frame(buffer: &[u8], len_max: usize) -> Result<Frame, FrameFault> {
    let Some(&version) = buffer.first() else { return Ok(Frame::Needs(HEADER_LEN)) };
    if version != VERSION {
        return Err(FrameFault::Version(version));
    }
    let Some(head) = buffer.first_chunk::<4>() else {
        return Ok(Frame::Needs(HEADER_LEN - buffer.len()));
    };
    let len = u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize;
    if len < HEADER_LEN {
        return Err(FrameFault::Short(len));
    }
    if !len.is_multiple_of(4) {
        return Err(FrameFault::Uneven(len));
    }
    if len > len_max {
        return Err(FrameFault::Long { len, max: len_max });
    }
    Ok(if buffer.len() < len { Frame::Needs(len - buffer.len()) } else { Frame::Message(len) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(head: [u8; 4], len: usize) -> Result<Frame, FrameFault> {
        let mut buffer = vec![0; len.max(4)];
        buffer[..4].copy_from_slice(&head);
        frame(&buffer[..len], 8_192)
    }

    #[test]
    fn messages_are_found_at_every_length_of_the_buffer() {
        for len in 0..4 {
            assert_eq!(of([1, 0, 0, 24], len), Ok(Frame::Needs(20 - len)));
        }
        for len in 4..24 {
            assert_eq!(of([1, 0, 0, 24], len), Ok(Frame::Needs(24 - len)));
        }
        assert_eq!(of([1, 0, 0, 24], 24), Ok(Frame::Message(24)));
        assert_eq!(of([1, 0, 0, 20], 400), Ok(Frame::Message(20)));
        assert_eq!(of([1, 0, 0x20, 0], 8_192), Ok(Frame::Message(8_192)));
    }

    #[test]
    fn faults_have_their_result_codes() {
        for (head, len, fault, code) in [
            ([2, 0, 0, 24], 1, FrameFault::Version(2), 5011),
            ([0, 0, 0, 0], 4, FrameFault::Version(0), 5011),
            ([1, 0, 0, 0], 4, FrameFault::Short(0), 5015),
            ([1, 0, 0, 16], 16, FrameFault::Short(16), 5015),
            ([1, 0, 0, 22], 22, FrameFault::Uneven(22), 5015),
            ([1, 0, 0x20, 4], 4, FrameFault::Long { len: 8_196, max: 8_192 }, 5015),
            ([1, 0xff, 0xff, 0xfc], 4, FrameFault::Long { len: 16_777_212, max: 8_192 }, 5015),
            ([1, 0xff, 0xff, 0xff], 4, FrameFault::Uneven(16_777_215), 5015),
        ] {
            assert_eq!(of(head, len), Err(fault));
            assert_eq!(fault.result(), ResultCode(code));
        }
    }
}
