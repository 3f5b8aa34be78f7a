//! What a shard's group does beyond itself: messages, what is read back from the device, a shard that is made anew.

use crate::channel::Body;
use crate::offer::{Offer, Word};
use crate::position::LogPosition;
use scurry_replica::{Message, NodeId, Sequence};

/// The ways of a shard's group beyond itself.
pub trait Outlet {
    /// Sends a message with the frames of its entries; false when it was dropped.
    fn send(&mut self, shard: u16, message: &Message, bodies: Vec<Body>) -> bool;
    /// Reads the frame that begins with this sequence back.
    fn read(&mut self, shard: u16, sequence: Sequence) -> Option<Body>;
    /// Forgets where it has read a log: other files have taken the place of its own.
    fn renewed(&mut self, shard: u16);
    /// Begins to send a snapshot to a node.
    fn catch_up(&mut self, shard: u16, to: NodeId, offer: Offer);
    /// True while a snapshot of a shard is being sent, and the log behind it has to be kept.
    fn is_sending(&self, shard: u16) -> bool;
    /// Answers a node that has sent a snapshot.
    fn answer(&mut self, shard: u16, to: NodeId, number: u64, word: Word);
    /// Begins to recover a shard up to the end of an entry.
    fn rebuild(&mut self, shard: u16, to: LogPosition);
}
