//! The type of lengths, offsets and budgets of bytes on the way of an entry from the wire to the device. They are numbers
//! of the size of an index or a sequence, so only a type of their own tells them apart.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A number of bytes: a length, a budget, or the offset of a byte in a file. Sums and differences that are out of range
/// panic in debug builds, as those of `u64` do.
///
/// A length is no index, and an index no length:
///
/// ```
/// use scurry_codec::{ByteCount, Index};
/// let _entry: (Index, ByteCount) = (Index(7), ByteCount(4096));
/// ```
///
/// ```compile_fail,E0308
/// use scurry_codec::{ByteCount, Index};
/// let _entry: (Index, ByteCount) = (ByteCount(4096), Index(7));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub u64);

impl ByteCount {
    /// Returns the length of these bytes.
    pub const fn of(bytes: &[u8]) -> ByteCount {
        ByteCount(bytes.len() as u64)
    }

    /// Returns the number, as it is written and shown.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number as a length in memory, `usize::MAX` when memory cannot hold as many bytes.
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Formats the number without a unit.
impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add for ByteCount {
    type Output = ByteCount;

    fn add(self, other: ByteCount) -> ByteCount {
        ByteCount(self.0 + other.0)
    }
}

impl AddAssign for ByteCount {
    fn add_assign(&mut self, other: ByteCount) {
        self.0 += other.0;
    }
}

impl Sub for ByteCount {
    type Output = ByteCount;

    fn sub(self, other: ByteCount) -> ByteCount {
        ByteCount(self.0 - other.0)
    }
}

impl SubAssign for ByteCount {
    fn sub_assign(&mut self, other: ByteCount) {
        self.0 -= other.0;
    }
}

impl Sum for ByteCount {
    fn sum<I: Iterator<Item = ByteCount>>(counts: I) -> ByteCount {
        counts.fold(ByteCount(0), Add::add)
    }
}
