//! What a disk does wrong.

/// Each fault comes once in so many calls; 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A write that fails, after a part of it perhaps.
    pub write: usize,
    /// Room that is missing for some writes.
    pub full: usize,
    /// A sync that fails; what it should have written is given up.
    pub sync: usize,
    /// A read that fails.
    pub read: usize,
    /// A sync that does nothing and says that it did.
    pub lie: usize,
    /// A sync that writes a sector to another place.
    pub misdirect: usize,
    /// An operation before which others take all the room there is, or give it back.
    pub crowd: usize,
    /// Files are created with their room as zeros.
    pub room: bool,
}
