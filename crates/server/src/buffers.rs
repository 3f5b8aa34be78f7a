//! Buffers that connections borrow for as long as they hold bytes, so that idle connections hold none and
//! busy ones use memory that is warm.

use crate::kept::Kept;

/// A borrowed buffer's size, bytes: what is read from a connection in one turn.
pub(crate) const BUFFER_LEN: usize = 64 * 1024;
/// Input buffers are filled in full (so that reading needs no zeroing), output buffers are empty.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    inputs: Kept<Vec<u8>>,
    outputs: Kept<Vec<u8>>,
}

impl Buffers {
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

    /// A buffer that has grown is not kept.
    pub(crate) fn give_output(&mut self, mut buffer: Vec<u8>) {
        if (BUFFER_LEN..=2 * BUFFER_LEN).contains(&buffer.capacity()) {
            buffer.clear();
            self.outputs.give(buffer);
        }
    }
}
