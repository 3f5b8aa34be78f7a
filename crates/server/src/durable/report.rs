//! What INFO shows of a log and its snapshots.

use scurry_ledger::Time;

/// What INFO shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct DurableReport {
    pub(crate) sequence: u64,
    pub(crate) durable: u64,
    pub(crate) synced: u64,
    pub(crate) bytes: u64,
    pub(crate) batches: u64,
    pub(crate) full: bool,
    pub(crate) failed: bool,
    pub(crate) snapshot_running: bool,
    pub(crate) snapshots: u64,
    pub(crate) snapshots_failed: u64,
    pub(crate) snapshot_sequence: u64,
    pub(crate) snapshot_time: Time,
}

impl DurableReport {
    /// Takes in that of another core. Sequences are counted together; the snapshot that is the
    /// oldest of the cores' last ones stands for all.
    pub(crate) fn add(&mut self, other: &DurableReport) {
        self.sequence += other.sequence;
        self.durable += other.durable;
        self.synced += other.synced;
        self.bytes += other.bytes;
        self.batches += other.batches;
        self.full |= other.full;
        self.failed |= other.failed;
        self.snapshot_running |= other.snapshot_running;
        self.snapshots += other.snapshots;
        self.snapshots_failed += other.snapshots_failed;
        self.snapshot_sequence += other.snapshot_sequence;
        self.snapshot_time = match (self.snapshot_time, other.snapshot_time) {
            (Time(0), time) | (time, Time(0)) => time,
            (one, other) => one.min(other),
        };
    }
}
