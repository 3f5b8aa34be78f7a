//! Buffers and readers that connections borrow for as long as they hold bytes, so that idle connections
//! hold none and busy ones use memory that is warm.

use crate::bundle::Bundle;
use crate::reader::Reader;

/// Bundles that are empty; they travel as pointers.
pub(crate) type Spare = Vec<Box<Bundle>>;

/// A borrowed buffer's size, bytes: what is read from a connection in one turn.
pub(crate) const BUFFER_LEN: usize = 64 * 1024;
/// Kept of each kind at most.
pub(crate) const KEPT_MAX: usize = 64;

/// Input buffers are filled in full (so that reading needs no zeroing), output buffers are empty.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    inputs: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
    #[expect(clippy::vec_box, reason = "they move to connections as pointers")]
    readers: Vec<Box<Reader>>,
    /// Empty; see [`crate::gather::Gather::end`].
    pub(crate) bundles: Spare,
}

impl Pool {
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        self.inputs.pop().unwrap_or_else(|| vec![0; BUFFER_LEN])
    }

    /// A buffer that has grown is not kept.
    pub(crate) fn give_input(&mut self, buffer: Vec<u8>) {
        if buffer.len() == BUFFER_LEN && self.inputs.len() < KEPT_MAX {
            self.inputs.push(buffer);
        }
    }

    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        self.outputs.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN))
    }

    pub(crate) fn take_reader(&mut self) -> Box<Reader> {
        self.readers.pop().unwrap_or_default()
    }

    /// The reader must be idle.
    pub(crate) fn give_reader(&mut self, mut reader: Box<Reader>) {
        reader.shrink();
        if self.readers.len() < KEPT_MAX {
            self.readers.push(reader);
        }
    }

    /// A buffer that has grown is not kept.
    pub(crate) fn give_output(&mut self, mut buffer: Vec<u8>) {
        let fits = (BUFFER_LEN..=2 * BUFFER_LEN).contains(&buffer.capacity());
        if fits && self.outputs.len() < KEPT_MAX {
            buffer.clear();
            self.outputs.push(buffer);
        }
    }
}
