//! The input of a connection, and the buffers that connections borrow while they hold bytes. Idle connections hold
//! none, and busy ones use memory that is warm in the cache.

use crate::object_pool::ObjectPool;

/// Maximum number of bytes that are moved out of a whole buffer: copying more costs more than it saves.
const SHELVED_LEN_MAX: usize = BUFFER_LEN / 2;

/// An input buffer that borrows its memory from the pool while it holds bytes.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// Returns the bytes that have arrived and are not consumed.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Returns room for more, never empty: borrows a buffer, closes the gap in front, or doubles. Growth follows what
    /// has arrived, not an announced length, since a client can announce any length at no cost.
    pub(crate) fn room(&mut self, buffers: &mut Buffers) -> &mut [u8] {
        if self.bytes.len() < BUFFER_LEN {
            self.take_whole(buffers);
        }
        if self.start > 0 && self.bytes.len() - self.end < BUFFER_LEN / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(2 * self.bytes.len(), 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Counts the first `len` bytes of the room as arrived.
    pub(crate) fn fill(&mut self, len: usize) {
        self.end = (self.end + len).min(self.bytes.len());
    }

    /// Removes the first bytes.
    pub(crate) fn consume(&mut self, len: usize) {
        self.start = (self.start + len).min(self.end);
    }

    /// Returns the allocated memory, bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Borrows a whole buffer again, and copies the kept bytes into it.
    #[inline]
    fn take_whole(&mut self, buffers: &mut Buffers) {
        let mut bytes = buffers.take_input();
        let kept = self.start..self.end;
        (self.start, self.end) = (0, kept.len());
        bytes[..kept.len()].copy_from_slice(&self.bytes[kept]);
        self.bytes = bytes;
    }

    /// Returns the buffer to the pool, and keeps the few bytes that it holds in an allocation of their size.
    pub(crate) fn shrink_buffers(&mut self, buffers: &mut Buffers) {
        if self.bytes.len() >= BUFFER_LEN && self.end - self.start <= SHELVED_LEN_MAX {
            let kept = self.filled().to_vec();
            (self.start, self.end) = (0, kept.len());
            buffers.give_input(std::mem::replace(&mut self.bytes, kept));
        }
    }

    /// Returns the buffer to the pool when it is empty.
    pub(crate) fn release(&mut self, buffers: &mut Buffers) {
        if self.start == self.end && !self.bytes.is_empty() {
            buffers.give_input(std::mem::take(&mut self.bytes));
            (self.start, self.end) = (0, 0);
        }
    }
}

/// Length of a borrowed buffer, bytes: at most this much is read from a connection in one turn.
pub(crate) const BUFFER_LEN: usize = 64 * 1024;
/// A pool of buffers. Input buffers have their full length (so that reading needs no zeroing), output buffers are
/// empty.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    inputs: ObjectPool<Vec<u8>>,
    outputs: ObjectPool<Vec<u8>>,
}

impl Buffers {
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        self.inputs.take_object().unwrap_or_else(|| vec![0; BUFFER_LEN])
    }

    /// Takes a buffer back. One that has grown is not kept.
    pub(crate) fn give_input(&mut self, buffer: Vec<u8>) {
        if buffer.len() == BUFFER_LEN {
            self.inputs.give(buffer);
        }
    }

    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        self.outputs.take_object().unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN))
    }

    /// Takes a buffer back. One that has grown is not kept.
    pub(crate) fn give_output(&mut self, mut buffer: Vec<u8>) {
        if (BUFFER_LEN..=2 * BUFFER_LEN).contains(&buffer.capacity()) {
            buffer.clear();
            self.outputs.give(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_their_order_through_gaps_and_growth() {
        let (mut buffer, mut buffers) = (Buffer::default(), Buffers::default());
        let (mut written, mut read) = (0u64, 0u64);
        for round in 0..2_000usize {
            let room = buffer.room(&mut buffers);
            let len = room.len().min(1 + round * 37 % 5_000);
            for byte in &mut room[..len] {
                *byte = (written % 251) as u8;
                written += 1;
            }
            buffer.fill(len);
            let consumed = if round % 100 == 99 { buffer.filled().len() } else { len * 9 / 10 };
            for byte in &buffer.filled()[..consumed] {
                assert_eq!(u64::from(*byte), read % 251);
                read += 1;
            }
            buffer.consume(consumed);
            if round % 3 == 0 {
                buffer.shrink_buffers(&mut buffers);
                let len = buffer.filled().len();
                assert!(len > SHELVED_LEN_MAX || buffer.capacity() == len, "{round}: {len} bytes");
            }
            buffer.release(&mut buffers);
        }
        assert_eq!(read, written);
    }
}
