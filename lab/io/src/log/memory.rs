//! Memory that begins at a block, as writing past the cache asks for.

/// The block that lengths, offsets and memory of direct writes are multiples of.
pub(crate) const BLOCK: usize = 4_096;

/// A buffer whose bytes begin at a multiple of `BLOCK`; empty by default.
#[derive(Default)]
pub(crate) struct Aligned {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub(crate) fn new(len: usize) -> Aligned {
        let memory = vec![0xa5; len + BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        Aligned { memory, start, len }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// The next multiple of a block.
pub(crate) fn padded(len: usize) -> usize {
    len.next_multiple_of(BLOCK)
}
