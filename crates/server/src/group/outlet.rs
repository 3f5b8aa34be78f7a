//! What a shard's group does beyond itself: messages, what is read back from the device, a shard that is made anew.

use super::channel::Body;
use scurry_replica::Message;

pub(super) trait Outlet {
    /// Sends a message with the frames of its entries; false when it was dropped.
    fn send(&mut self, shard: u16, message: &Message, bodies: Vec<Body>) -> bool;
    /// Reads the frame that begins with this sequence back.
    fn read(&mut self, shard: u16, sequence: u64) -> Option<Body>;
    /// Begins to recover a shard up to an entry and its last sequence.
    fn rebuild(&mut self, shard: u16, index: u64, sequence: u64);
}
