//! Buffers and readers that connections borrow for as long as they hold bytes, so that idle connections
//! hold none and busy ones use memory that is warm.

use crate::bundle::Bundle;
use crate::reader::Reader;

/// Bundles that are empty; they travel as pointers.
pub(crate) type Spare = Kept<Box<Bundle>>;

/// A borrowed buffer's size, bytes: what is read from a connection in one turn.
pub(crate) const BUFFER_LEN: usize = 64 * 1024;
/// Kept of each kind at most.
const KEPT_MAX: usize = 64;

/// What says how much memory it takes.
pub(crate) trait Room {
    /// Bytes.
    fn room(&self) -> usize;
}

impl Room for Vec<u8> {
    fn room(&self) -> usize {
        self.capacity()
    }
}

/// Things of one kind that are used again, [`KEPT_MAX`] at most, and their memory.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    things: Vec<T>,
    bytes: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { things: Vec::new(), bytes: 0 }
    }
}

impl<T: Room> Kept<T> {
    pub(crate) fn take(&mut self) -> Option<T> {
        let thing = self.things.pop()?;
        self.bytes -= thing.room();
        Some(thing)
    }

    pub(crate) fn give(&mut self, thing: T) {
        if self.things.len() < KEPT_MAX {
            self.bytes += thing.room();
            self.things.push(thing);
        }
    }
}

/// Input buffers are filled in full (so that reading needs no zeroing), output buffers are empty.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    inputs: Kept<Vec<u8>>,
    outputs: Kept<Vec<u8>>,
    readers: Kept<Box<Reader>>,
    /// Empty; see [`crate::gather::Gather::end`].
    pub(crate) bundles: Spare,
}

impl Pool {
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        self.inputs.take().unwrap_or_else(|| vec![0; BUFFER_LEN])
    }

    /// A buffer that has grown is not kept.
    pub(crate) fn give_input(&mut self, buffer: Vec<u8>) {
        if buffer.len() == BUFFER_LEN {
            self.inputs.give(buffer);
        }
    }

    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        self.outputs.take().unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN))
    }

    pub(crate) fn take_reader(&mut self) -> Box<Reader> {
        self.readers.take().unwrap_or_default()
    }

    /// The reader must be idle.
    pub(crate) fn give_reader(&mut self, mut reader: Box<Reader>) {
        reader.shrink();
        self.readers.give(reader);
    }

    /// A buffer that has grown is not kept.
    pub(crate) fn give_output(&mut self, mut buffer: Vec<u8>) {
        if (BUFFER_LEN..=2 * BUFFER_LEN).contains(&buffer.capacity()) {
            buffer.clear();
            self.outputs.give(buffer);
        }
    }

    /// What it keeps, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let kept = self.inputs.bytes + self.outputs.bytes + self.readers.bytes + self.bundles.bytes;
        kept as u64
    }
}
