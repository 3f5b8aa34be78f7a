//! Settings of a replica.

use crate::ids::NodeId;

/// Settings of a replica. Votes are asked for before they are counted (pre-vote), a leader that hears no majority
/// steps down (check-quorum), and reads are confirmed by a round of the members and not by a lease: always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The node.
    pub id: NodeId,
    /// Ticks without a leader after which a node stands for election; drawn anew for each term between this and
    /// twice as many.
    pub election_ticks: u16,
    /// Ticks between two heartbeats; fewer than `election_ticks`.
    pub heartbeat_ticks: u16,
    /// Ticks that this node waits longer than others before it stands for election, so that one that is preferred
    /// stands first. A preference in the counting of votes could leave two of three nodes without a leader.
    pub patience: u16,
    /// The seed of what is drawn; other nodes have others.
    pub seed: u64,
    /// Appends to one node that are under way.
    pub window: usize,
    /// Bytes of the frames that one append describes, when there is more than one.
    pub append_bytes: u64,
    /// Bytes of frames that are not committed: beyond them a leader takes no more.
    pub uncommitted_bytes: u64,
}

/// A fault in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Heartbeats would come too late.
    #[error(
        "election_ticks is {election} and heartbeat_ticks {heartbeat}: it takes 0 < heartbeat_ticks < election_ticks"
    )]
    Ticks {
        /// `election_ticks`.
        election: u16,
        /// `heartbeat_ticks`.
        heartbeat: u16,
    },
    /// Nothing could be sent.
    #[error("window is 0: it takes at least 1")]
    Window,
}

impl Settings {
    /// The settings of a node whose tick is some tens of milliseconds.
    pub fn new(id: NodeId, seed: u64) -> Settings {
        Settings {
            id,
            election_ticks: 10,
            heartbeat_ticks: 2,
            patience: 0,
            seed,
            window: 256,
            append_bytes: 256 << 10,
            uncommitted_bytes: 8 << 20,
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
