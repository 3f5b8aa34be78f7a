//! Freed memory blocks, kept for entries that need the same length. An account grows with each request of a session and
//! shrinks at its end. The allocator would merge each freed block with its free neighbours, whose memory is not in the
//! cache, and split it again for the next request.

/// Length in bytes above which blocks are left to the allocator.
const BLOCK_LEN_MAX: usize = 1024;
/// Most bytes kept of one length, so that an unused length does not fill the limit.
const LENGTH_BYTES_MAX: usize = 1024 * 1024;
/// Most bytes kept in all.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Unused blocks by length.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// Blocks by length in steps.
    kept: Vec<Vec<Box<[u8]>>>,
    step: usize,
    bytes: usize,
}

impl Blocks {
    /// Creates storage for blocks whose lengths differ by multiples of `step`.
    pub(crate) fn new(step: usize) -> Blocks {
        Blocks { kept: vec![Vec::new(); BLOCK_LEN_MAX / step + 1], step, bytes: 0 }
    }

    /// Returns a block of this length with arbitrary content.
    pub(crate) fn allocate(&mut self, len: usize) -> Box<[u8]> {
        let kept = self.kept.get_mut(len / self.step).and_then(Vec::pop);
        match kept {
            Some(block) if block.len() == len => {
                self.bytes -= len;
                block
            }
            _ => vec![0; len].into_boxed_slice(),
        }
    }

    /// Keeps a block for reuse, or frees it.
    pub(crate) fn keep(&mut self, block: Box<[u8]>) {
        let len = block.len();
        if let Some(kept) = self.kept.get_mut(len / self.step)
            && (kept.len() + 1) * len <= LENGTH_BYTES_MAX
            && self.bytes + len <= BYTES_MAX
        {
            self.bytes += len;
            kept.push(block);
        }
    }

    /// Returns the bytes of the kept blocks.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes as u64
    }

    pub(crate) fn clear(&mut self) {
        *self = Blocks::new(self.step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_at_its_length_and_what_is_kept_is_bounded() {
        let mut blocks = Blocks::new(16);
        blocks.keep(vec![7; 40].into());
        blocks.keep(vec![8; 56].into());
        assert_eq!(blocks.memory_bytes(), 96);
        assert_eq!(*blocks.allocate(56), [8; 56]);
        assert_eq!(*blocks.allocate(56), [0; 56]);
        assert_eq!(*blocks.allocate(40), [7; 40]);
        assert_eq!(blocks.memory_bytes(), 0);
        for len in (8..2_000).step_by(16) {
            let before = blocks.memory_bytes();
            for _ in 0..LENGTH_BYTES_MAX {
                blocks.keep(vec![0; len].into());
                if blocks.memory_bytes() == before || blocks.memory_bytes() as usize > BYTES_MAX {
                    break;
                }
            }
            assert!((blocks.memory_bytes() - before) as usize <= LENGTH_BYTES_MAX, "{len}");
        }
        assert!(blocks.memory_bytes() as usize <= BYTES_MAX);
        assert_eq!(blocks.allocate(3_000).len(), 3_000);
    }
}
