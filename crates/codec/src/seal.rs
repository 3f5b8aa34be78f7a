//! The checksum of frames and chunks. It is an argument, because what makes it fast asks the
//! processor, which a crate without std cannot; docs/adr/0013-bytes-on-disk.md.

/// crc32c (Castagnoli) continued from the checksum of what came before, 0 at the beginning:
/// `checksum(checksum(0, a), b)` is the checksum of `a` and `b` one behind the other.
pub type Checksum = fn(u32, &[u8]) -> u32;

/// How the frames and chunks of one log are sealed: the checksum begins with the id of the log,
/// which they do not hold, so that those of another log do not pass.
#[derive(Clone, Copy, Debug)]
pub struct Seal {
    checksum: Checksum,
    /// The checksum of the log's id.
    start: u32,
}

impl Seal {
    /// For the log of this id, which is chosen at random when a log begins.
    pub fn new(checksum: Checksum, log_id: u64) -> Seal {
        Seal { checksum, start: checksum(0, &log_id.to_le_bytes()) }
    }

    pub(crate) fn of(&self, bytes: &[u8]) -> u32 {
        (self.checksum)(self.start, bytes)
    }
}
