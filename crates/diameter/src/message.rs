//! One whole message, borrowed from the buffer that it was received into.

use crate::avps::Avps;
use crate::frame::{Frame, FrameFault, MESSAGE_LEN_MAX, frame};
use crate::header::{HEADER_LEN, Header};

/// A message: its header has been read, its AVPs have not.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its header.
    pub header: Header,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the header of a message. The bytes are exactly one message, as [`frame()`] finds it.
    ///
    /// # Errors
    /// The fault of version or length. [`FrameFault::Cut`] when these are more or fewer bytes than one message.
    pub fn read(bytes: &'a [u8]) -> Result<Message<'a>, FrameFault> {
        match frame(bytes, MESSAGE_LEN_MAX)? {
            Frame::Message(len) if len == bytes.len() => {}
            Frame::Message(_) | Frame::Needs(_) => return Err(FrameFault::Cut(bytes.len())),
        }
        let Some((head, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(FrameFault::Short(bytes.len()));
        };
        Ok(Message { header: Header::read(head), body })
    }

    /// Returns a message whose AVPs cannot be read.
    pub(crate) fn without_avps(header: Header) -> Message<'static> {
        Message { header, body: &[] }
    }

    /// Returns its AVPs.
    #[must_use]
    pub fn avps(&self) -> Avps<'a> {
        Avps::new(self.body)
    }

    /// Returns the bytes after the header.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}
