//! The name of a log, and what its bytes and those of its snapshots are checked with.

use scurry_codec::{LogFormat, Seal};

/// The name that tells one log from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogId {
    /// Drawn at random for each log: frames of another log do not pass for frames of this one.
    pub id: u64,
    /// The core that writes it.
    pub core: u32,
}

impl LogId {
    pub(crate) fn seal(self) -> Seal {
        Seal::new(checksum, self.id)
    }

    /// The seal of its frames, in a format.
    pub fn seal_in(self, format: LogFormat) -> Seal {
        self.seal().in_format(format)
    }
}

/// crc32c, by the processor where it can: what everything of a log is checked with.
pub fn checksum(before: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(before, bytes)
}
