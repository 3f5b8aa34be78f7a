//! The bytes that were received and are not taken yet. The buffer is small until capabilities were exchanged, and never
//! longer than the longest message and one read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Length of the buffer at first, bytes: enough for the capabilities of most peers.
const FIRST_LEN: usize = 4 * 1024;
/// Room for each read once a peer sends more, bytes.
const READ_LEN: usize = 16 * 1024;

/// A buffer with the bytes from `start` to `end`.
#[derive(Debug)]
pub(super) struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub(super) fn new() -> Input {
        Input { buffer: vec![0; FIRST_LEN], start: 0, end: 0 }
    }

    /// Returns the bytes that are not taken.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(super) fn consume(&mut self, len: usize) {
        assert!(len <= self.end - self.start, "the caller has seen these bytes");
        self.start += len;
    }

    /// Makes room for at least `missing_len` bytes. The caller has bounded the length of a message.
    pub(super) fn reserve(&mut self, missing_len: usize) {
        let len = self.end - self.start;
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, len);
        let is_long = self.buffer.len() > READ_LEN && len + missing_len <= READ_LEN;
        if len + missing_len > self.buffer.len() {
            self.buffer.resize(len + missing_len + READ_LEN, 0);
        } else if is_long {
            self.buffer.truncate(READ_LEN);
            self.buffer.shrink_to_fit();
        }
    }

    /// Makes the buffer large enough for a peer that sends many requests at once.
    pub(super) fn widen(&mut self) {
        if self.buffer.len() < READ_LEN {
            self.buffer.resize(READ_LEN, 0);
        }
    }

    /// Reads what is there. Returns the number of bytes; 0 is the end.
    pub(super) fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        task: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut room = ReadBuf::new(&mut self.buffer[self.end..]);
        assert!(room.capacity() > 0, "an incomplete message has room for its rest");
        ready!(Pin::new(stream).poll_read(task, &mut room))?;
        let len = room.filled().len();
        self.end += len;
        Poll::Ready(Ok(len))
    }
}
