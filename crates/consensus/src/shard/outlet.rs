//! Interface of a shard's group to its surroundings: the network, the log on the device, and the recovery of shards.

use crate::replica::{ByteCount, Message, NodeId, Sequence, Term};
use crate::shard::channel::FrameBytes;
use crate::shard::offer::{SnapshotMessage, SnapshotOffer};
use crate::shard::position::LogPosition;
use crate::shard::state_check::{DigestReport, Verdict};

/// Actions that a shard's group asks of its host.
pub trait HostActions {
    /// Sends a message with the frames of its entries; false when it was dropped.
    fn send(&mut self, shard: u16, message: &Message, bodies: Vec<FrameBytes>) -> bool;
    /// Returns how many bytes of frames the link to a node takes at a time: about what it carries in half a second.
    fn room(&self, to: NodeId) -> ByteCount;
    /// Reads the frame that begins with this sequence from the device; None when it cannot be read.
    fn read(&mut self, shard: u16, sequence: Sequence) -> Option<FrameBytes>;
    /// Discards the read position in a shard's log: other files have replaced it.
    fn renewed(&mut self, shard: u16);
    /// Starts to send a snapshot to a node.
    fn catch_up(&mut self, shard: u16, to: NodeId, offer: SnapshotOffer);
    /// Returns true while a snapshot of a shard is being sent, and the log after it must be kept.
    fn is_sending(&self, shard: u16) -> bool;
    /// Answers a node that has sent a snapshot.
    fn answer(&mut self, shard: u16, to: NodeId, number: u64, word: SnapshotMessage);
    /// Sends another node the sum of this node's memory. A lost report is not repeated.
    fn report(&mut self, shard: u16, to: NodeId, report: &DigestReport);
    /// Tells another node what this leader has committed in its term. A lost word is not repeated.
    fn tell_committed(&mut self, shard: u16, to: NodeId, term: Term, committed: Sequence);
    /// Keeps what this node had in memory, for a person to look at.
    fn keep_copies(&mut self, shard: u16, verdict: &Verdict);
    /// Starts to recover a shard from the device, up to the end of an entry.
    fn rebuild(&mut self, shard: u16, to: LogPosition);
}
