//! The faults of a simulated disk.

/// How often each fault is injected: once in so many calls, 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A write fails, perhaps after it has written a part.
    pub write: usize,
    /// The disk is full for some writes.
    pub full: usize,
    /// A sync fails, and the kernel drops the dirty pages: no later sync writes them.
    pub sync: usize,
    /// A read fails.
    pub read: usize,
    /// A sync does nothing and reports success.
    pub lie: usize,
    /// A sync writes one sector to another place.
    pub misdirect: usize,
    /// Before an operation other programs take all free space, or give it back.
    pub filled_by_others: usize,
    /// Files are created with zeros of the requested length.
    pub room: bool,
}
