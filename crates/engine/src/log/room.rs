//! What a log takes without asking the file system for more.

/// Room that is set aside. What is committed within it cannot find the disk full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that the open segment still takes, 0 before the first one.
    pub left: u64,
    /// Bytes of frames that the next segment takes, 0 while its room is not set aside.
    pub ahead: u64,
}

impl Room {
    /// Nobody has looked.
    pub(super) const UNKNOWN: Room = Room { left: u64::MAX, ahead: 0 };

    /// Bytes that are sure to be taken, in whatever batches they come: a batch that does not fit
    /// into what is left goes to the next segment as a whole, and those behind it as well.
    pub fn sure(self) -> u64 {
        self.left.max(self.ahead)
    }
}
