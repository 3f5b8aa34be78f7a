//! The inputs of the host thread.

use crate::catch_up::News;
use crate::membership::OperatorRequest;
use crate::operator_requests::RequestReply;
use crate::peers::Inbound;
use scurry_consensus::replica::Index;
use scurry_consensus::shard::{FromCore, RebuiltShard, Stored};

/// All inputs of the thread.
pub(crate) enum Input {
    Core(u16, FromCore),
    Stored(u16, Stored),
    Peer(Inbound),
    /// A message of a thread that sends or receives a snapshot of a shard.
    CatchUp(u16, News),
    /// The end of recovering a shard up to an entry.
    Rebuilt {
        shard: u16,
        index: Index,
        outcome: Result<RebuiltShard, String>,
    },
    /// A request of an operator, and its reply for when it has ended.
    Request(OperatorRequest, RequestReply),
    /// The cores have ended, and this node stops.
    Stop,
}
