//! The output of a connection: replies are appended, committed, and leave in front.

use crate::net::buffer::Buffers;

/// A buffer that is filled less than this part is exchanged for a small one while it waits.
const SHELVED_SHARE: usize = 16;

/// A buffer of the pool while there are bytes in it.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    committed: usize,
    /// Bytes in front that have left.
    left: usize,
}

impl Output {
    /// Where replies are appended.
    pub(crate) fn staging(&mut self, buffers: &mut Buffers) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = buffers.take_output();
        }
        &mut self.bytes
    }

    /// From now on all that was appended may leave.
    pub(crate) fn commit(&mut self) {
        self.committed = self.bytes.len();
    }

    /// Bytes that may leave and have not.
    pub(crate) fn leaving(&self) -> &[u8] {
        &self.bytes[self.left..self.committed]
    }

    /// So many of them have left. The room of all that was appended is free when all of it has.
    pub(crate) fn leave(&mut self, len: usize) {
        self.left += len;
        if self.left == self.bytes.len() {
            self.bytes.clear();
            (self.left, self.committed) = (0, 0);
        }
    }

    /// Bytes of room.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives the buffer back when it is empty.
    pub(crate) fn release(&mut self, buffers: &mut Buffers) {
        if self.bytes.is_empty() && self.bytes.capacity() > 0 {
            buffers.give_output(std::mem::take(&mut self.bytes));
        } else if self.left > self.bytes.len() / 2 {
            // What has left makes room, so that a slow reader does not make the buffer grow.
            self.bytes.drain(..self.left);
            self.committed -= self.left;
            self.left = 0;
        }
    }

    /// Gives a buffer back that is nearly empty, and keeps what little it holds in one of that size.
    pub(crate) fn shelve(&mut self, buffers: &mut Buffers) {
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
        output.shelve(&mut buffers);
        assert_eq!((output.leaving(), output.capacity()), (&b""[..], 2));
        output.commit();
        assert_eq!(output.leaving(), b"ef");
        output.leave(2);
        output.release(&mut buffers);
        assert_eq!((output.leaving(), output.capacity()), (&b""[..], 0));
    }
}
