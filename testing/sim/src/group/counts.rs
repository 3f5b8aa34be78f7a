//! Counts of the events of runs.

/// Counts of the events of a run. Tests check them to prove that runs cover enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "plain counts of what they are called")]
pub struct GroupCounts {
    /// Committed entries.
    pub entries: u64,
    /// Executed commands that have written records.
    pub executed: u64,
    /// Sent answers to commands that have written records.
    pub answers: u64,
    /// Sent answers that only show something.
    pub reads: u64,
    /// Requests that were sent again with the same id.
    pub again: u64,
    /// Requests that were refused by a node that does not lead.
    pub refused: u64,
    /// Held answers that were dropped at the end of a leadership.
    pub lost: u64,
    pub chains: u64,
    pub releases: u64,
    /// Orders to a core to lead.
    pub leads: u64,
    /// Orders to a core to stop leading.
    pub resigned: u64,
    /// Shards that were recovered from the device because they showed uncommitted records or lacked a snapshot.
    pub replaced: u64,
    /// Runs in which one node served while another had not recovered its memory.
    pub beside: u64,
    pub crashes: u64,
    /// Nodes that ended because their disk failed.
    pub failed: u64,
    /// Paused leaders that continued.
    pub resumed_leaders: u64,
    /// Published snapshots.
    pub snapshots: u64,
    /// Nodes whose log was replaced by a snapshot.
    pub caught_up: u64,
    pub transfers: u64,
    /// Nodes that replaced other nodes.
    pub joined: u64,
    /// Nodes that were lost after the group had reported that it can lose any one node.
    pub tolerated_losses: u64,
    /// Groups that reported that they cannot lose a node.
    pub warned: u64,
    /// Starts of nodes with another version than before.
    pub versions: u64,
    /// Digests of its memory that a leader has written.
    pub digests: u64,
    /// Comparisons of a follower's memory with a digest.
    pub compared: u64,
}

impl GroupCounts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &GroupCounts) {
        self.entries += other.entries;
        self.executed += other.executed;
        self.answers += other.answers;
        self.reads += other.reads;
        self.again += other.again;
        self.refused += other.refused;
        self.lost += other.lost;
        self.chains += other.chains;
        self.releases += other.releases;
        self.leads += other.leads;
        self.resigned += other.resigned;
        self.replaced += other.replaced;
        self.beside += other.beside;
        self.crashes += other.crashes;
        self.failed += other.failed;
        self.resumed_leaders += other.resumed_leaders;
        self.snapshots += other.snapshots;
        self.caught_up += other.caught_up;
        self.transfers += other.transfers;
        self.joined += other.joined;
        self.tolerated_losses += other.tolerated_losses;
        self.warned += other.warned;
        self.versions += other.versions;
        self.digests += other.digests;
        self.compared += other.compared;
    }
}
