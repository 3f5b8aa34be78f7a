//! The identity of a log, and the checksum for its frames and snapshots.

use scurry_codec::{LogFormat, Seal};

/// The identity of one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogId {
    /// A random number for each log: frames of other logs do not pass the checksum.
    pub id: u64,
    /// The core that writes it.
    pub core: u32,
}

impl LogId {
    pub(crate) fn seal(self) -> Seal {
        Seal::new(checksum, self.id)
    }

    /// Returns the seal of its frames, in a format.
    pub fn seal_in(self, format: LogFormat) -> Seal {
        self.seal().in_format(format)
    }
}

/// Computes crc32c, in hardware if available; it protects all files of a log.
pub fn checksum(before: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(before, bytes)
}
