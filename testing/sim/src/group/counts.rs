//! Counts of what runs have done.

/// Counts of what runs have done, so that tests can demand that they were worth something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "plain counts of what they are called")]
pub struct GroupCounts {
    /// Entries that are committed.
    pub entries: u64,
    /// Commands that were executed and have written.
    pub executed: u64,
    /// Answers to commands that left.
    pub answers: u64,
    /// Answers that only show something.
    pub reads: u64,
    /// Requests that were sent again, with the id that they had.
    pub again: u64,
    /// Requests that were refused by a node that does not lead.
    pub refused: u64,
    /// Answers that were held and given up with a leadership.
    pub lost: u64,
    pub chains: u64,
    pub releases: u64,
    /// Leaderships in which a core was told to lead.
    pub leads: u64,
    /// Leaders that were deposed.
    pub resigned: u64,
    /// Shards that were recovered from the device because they showed what was not committed, or lacked a snapshot.
    pub replaced: u64,
    /// Runs in which one served while another had no memory yet.
    pub beside: u64,
    pub crashes: u64,
    /// Nodes that ended because their disk failed.
    pub failed: u64,
    /// Leaders that stood still and went on.
    pub awakened: u64,
    /// Snapshots that count.
    pub snapshots: u64,
    /// Nodes whose log was replaced by a snapshot.
    pub caught_up: u64,
    pub transfers: u64,
    /// Nodes that have taken the place of others.
    pub joined: u64,
    /// Nodes that were lost when the group had said that it can lose any one.
    pub borne: u64,
    /// Groups that have said that they cannot.
    pub warned: u64,
}

impl GroupCounts {
    /// Adds those of another run.
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
        self.awakened += other.awakened;
        self.snapshots += other.snapshots;
        self.caught_up += other.caught_up;
        self.transfers += other.transfers;
        self.joined += other.joined;
        self.borne += other.borne;
        self.warned += other.warned;
    }
}
