//! Buffers that connections borrow for as long as they hold bytes, so that idle connections
//! hold none and busy ones use memory that is warm.

/// A borrowed buffer's size, bytes: what is read from a connection in one turn.
pub(crate) const BUFFER_LEN: usize = 64 * 1024;
/// Buffers of each kind kept at most.
const KEPT_MAX: usize = 64;

/// Input buffers are filled in full (so that reading needs no zeroing), output buffers are empty.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    inputs: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
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

    /// A buffer that has grown is not kept.
    pub(crate) fn give_output(&mut self, mut buffer: Vec<u8>) {
        let fits = (BUFFER_LEN..=2 * BUFFER_LEN).contains(&buffer.capacity());
        if fits && self.outputs.len() < KEPT_MAX {
            buffer.clear();
            self.outputs.push(buffer);
        }
    }
}
