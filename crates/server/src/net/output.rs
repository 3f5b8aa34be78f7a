//! The output of a connection: replies are appended at the end, committed, and sent from the front.

use crate::net::buffer::Buffers;

/// A buffer that is filled less than this part is exchanged for a small one while it waits.
const SHELVED_SHARE: usize = 16;

/// An output buffer that borrows its memory from the pool while it holds bytes.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    committed: usize,
    /// Number of bytes in front that were sent.
    left: usize,
}

impl Output {
    /// Returns the buffer to append replies to.
    pub(crate) fn staging(&mut self, buffers: &mut Buffers) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = buffers.take_output();
        }
        &mut self.bytes
    }

    /// Allows all that was appended to be sent.
    pub(crate) fn commit(&mut self) {
        self.committed = self.bytes.len();
    }

    /// Returns the bytes that may be sent and were not.
    pub(crate) fn leaving(&self) -> &[u8] {
        &self.bytes[self.left..self.committed]
    }

    /// Counts `len` bytes as sent. The buffer is cleared when all that was appended is sent.
    pub(crate) fn leave(&mut self, len: usize) {
        self.left += len;
        if self.left == self.bytes.len() {
            self.bytes.clear();
            (self.left, self.committed) = (0, 0);
        }
    }

    /// Returns the allocated memory, bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the buffer to the pool when it is empty.
    pub(crate) fn release(&mut self, buffers: &mut Buffers) {
        if self.bytes.is_empty() && self.bytes.capacity() > 0 {
            buffers.give_output(std::mem::take(&mut self.bytes));
        } else if self.left > self.bytes.len() / 2 {
            // Removes sent bytes, so that a slow reader does not make the buffer grow.
            self.bytes.drain(..self.left);
            self.committed -= self.left;
            self.left = 0;
        }
    }

    /// Returns a nearly empty buffer to the pool, and keeps the few bytes that it holds in an allocation of their size.
    pub(crate) fn shrink_buffers(&mut self, buffers: &mut Buffers) {
        if self.bytes.len() < self.bytes.capacity() / SHELVED_SHARE {
            let few = self.bytes.as_slice().to_vec();
            buffers.give_output(std::mem::replace(&mut self.bytes, few));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_leaves_in_order_and_room_comes_back() {
        let (mut output, mut buffers) = (Output::default(), Buffers::default());
        output.staging(&mut buffers).extend_from_slice(b"abcd");
        assert_eq!(output.leaving(), b"");
        output.commit();
        output.staging(&mut buffers).extend_from_slice(b"ef");
        assert_eq!(output.leaving(), b"abcd");
        output.leave(1);
        assert_eq!(output.leaving(), b"bcd");
        output.leave(3);
        output.release(&mut buffers);
        output.shrink_buffers(&mut buffers);
        assert_eq!((output.leaving(), output.capacity()), (&b""[..], 2));
        output.commit();
        assert_eq!(output.leaving(), b"ef");
        output.leave(2);
        output.release(&mut buffers);
        assert_eq!((output.leaving(), output.capacity()), (&b""[..], 0));
    }
}
