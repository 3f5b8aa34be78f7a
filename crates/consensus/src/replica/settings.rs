//! Settings of a replica.

use crate::replica::ids::{ByteCount, NodeId};

/// Settings of a replica. Not configurable, always on: pre-vote, check-quorum (a leader that hears no majority steps
/// down), and reads that are confirmed by a round of heartbeats, never by a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Id of this node.
    pub id: NodeId,
    /// Ticks without a leader after which a node becomes a candidate. The actual value is drawn for each term, between
    /// this and twice as many.
    pub election_ticks: u16,
    /// Ticks between two heartbeats; fewer than `election_ticks`.
    pub heartbeat_ticks: u16,
    /// Ticks that this node waits longer than others before it becomes a candidate, so that a preferred node is first.
    /// A preference in the counting of votes could leave two of three nodes without a leader.
    pub extra_election_ticks: u16,
    /// Seed of the drawn timeouts; different on each node.
    pub seed: u64,
    /// Maximum number of unacknowledged appends to one node.
    pub window: usize,
    /// Maximum bytes of the frames that one append describes; a single larger frame is sent alone.
    pub append_bytes: ByteCount,
    /// Maximum bytes of uncommitted frames; a leader appends no more until some are committed.
    pub uncommitted_bytes: ByteCount,
}

/// Invalid settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Heartbeats would arrive after the election timeout, or never.
    #[error(
        "election_ticks is {election} and heartbeat_ticks {heartbeat}: it takes 0 < heartbeat_ticks < election_ticks"
    )]
    Ticks {
        /// `election_ticks`.
        election: u16,
        /// `heartbeat_ticks`.
        heartbeat: u16,
    },
    /// No append could be sent.
    #[error("window is 0: it takes at least 1")]
    Window,
}

impl Settings {
    /// Returns the settings of a node whose tick is some tens of milliseconds.
    pub fn new(id: NodeId, seed: u64) -> Settings {
        Settings {
            id,
            election_ticks: 10,
            heartbeat_ticks: 2,
            extra_election_ticks: 0,
            seed,
            window: 256,
            append_bytes: ByteCount(256 << 10),
            uncommitted_bytes: ByteCount(8 << 20),
        }
    }

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let (election, heartbeat) = (self.election_ticks, self.heartbeat_ticks);
        if heartbeat == 0 || election <= heartbeat {
            return Err(SettingsError::Ticks { election, heartbeat });
        }
        if self.window == 0 {
            return Err(SettingsError::Window);
        }
        Ok(())
    }
}
