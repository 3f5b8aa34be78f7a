//! What only a core knows about itself, for commands that show the whole server.

use crate::adapter::AdapterReport;
use crate::measures::Measures;
use crate::measures::counters::Counters;
use crate::measures::histogram::Histogram;
use crate::measures::latency::Latency;
use crate::measures::rates::PerSecond;
use crate::measures::slowlog::SlowCommand;
use scurry_engine::Stats;
use scurry_group::Reading;
use scurry_ledger::{Time, Totals};

/// A question of a command to every core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Counts and sums.
    Report,
    /// The connections.
    Clients,
    /// Slow commands.
    Slowlog,
    /// Events that took long.
    Latency,
}

/// The answer of one core.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Counts and sums.
    Report(Box<Report>),
    /// Lines of CLIENT LIST.
    Clients(String),
    /// Slow commands, newest first.
    Slowlog(Vec<SlowCommand>),
    /// Events that took long.
    Latency(Box<Latency>),
}

impl Answer {
    /// Returns its memory, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let bytes = match self {
            Answer::Report(_) => size_of::<Report>(),
            Answer::Clients(text) => text.capacity(),
            Answer::Slowlog(entries) => entries.iter().map(SlowCommand::memory_bytes).sum(),
            Answer::Latency(_) => size_of::<Latency>(),
        };
        bytes as u64
    }
}

/// Counts and sums of one core, or of several together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) stats: Stats,
    pub(crate) totals: Totals,
    pub(crate) counters: Counters,
    /// Work per second, at present.
    pub(crate) rates: PerSecond,
    pub(crate) clients: usize,
    /// Number of clients that wait for events.
    pub(crate) blocked: usize,
    /// Number of unauthenticated clients among `clients`, and their memory, bytes.
    pub(crate) waiting: usize,
    pub(crate) lobby_bytes: u64,
    /// Memory of connections, bytes.
    pub(crate) connection_bytes: u64,
    /// Keys that are tracked for connections.
    pub(crate) tracked: TrackedKeys,
    pub(crate) measures: Measures,
    pub(crate) durable: DurableReport,
    pub(crate) adapter: AdapterReport,
}

/// Figures of one core for `/metrics`.
#[derive(Clone, Debug)]
pub(crate) struct CoreReport {
    pub(crate) core: u16,
    pub(crate) report: Report,
    /// CPU time of its thread, ns.
    pub(crate) cpu_ns: u64,
    /// Time from giving a batch to the log until it was as durable as required.
    pub(crate) log_writes: Histogram,
    /// The core's time.
    pub(crate) now: Reading,
}

impl Report {
    /// Joins the answers of the cores.
    pub(crate) fn of_all(answers: &[Answer]) -> Report {
        let mut all = Report::default();
        for answer in answers {
            if let Answer::Report(report) = answer {
                all.stats.add(&report.stats);
                all.totals.add(&report.totals);
                all.counters.add(&report.counters);
                all.rates.add(report.rates);
                all.clients += report.clients;
                all.blocked += report.blocked;
                all.waiting += report.waiting;
                all.lobby_bytes += report.lobby_bytes;
                all.connection_bytes += report.connection_bytes;
                all.tracked.add(report.tracked);
                all.measures.add(&report.measures);
                all.durable.add(&report.durable);
                all.adapter.add(&report.adapter);
            }
        }
        all
    }
}

/// Figures of a log and its snapshots.
#[derive(Clone, Debug, Default)]
pub(crate) struct DurableReport {
    pub(crate) sequence: u64,
    pub(crate) durable: u64,
    pub(crate) synced: u64,
    pub(crate) bytes: u64,
    pub(crate) batches: u64,
    pub(crate) full: bool,
    pub(crate) failed: bool,
    /// The device of a node of a group has no room; the other nodes go on.
    pub(crate) device_full: bool,
    /// The device of a node of a group has work and has finished none for a second.
    pub(crate) device_still: bool,
    pub(crate) snapshot_running: bool,
    pub(crate) snapshots: u64,
    pub(crate) snapshots_failed: u64,
    pub(crate) snapshot_sequence: u64,
    pub(crate) snapshot_time: Time,
    pub(crate) kept: KeptLog,
}

impl DurableReport {
    /// Adds the report of another core. Sequences are summed. Of the cores' last snapshots, the oldest stands for all.
    pub(crate) fn add(&mut self, other: &DurableReport) {
        self.sequence += other.sequence;
        self.durable += other.durable;
        self.synced += other.synced;
        self.bytes += other.bytes;
        self.batches += other.batches;
        self.full |= other.full;
        self.failed |= other.failed;
        self.device_full |= other.device_full;
        self.device_still |= other.device_still;
        self.snapshot_running |= other.snapshot_running;
        self.snapshots += other.snapshots;
        self.snapshots_failed += other.snapshots_failed;
        self.snapshot_sequence += other.snapshot_sequence;
        self.snapshot_time = match (self.snapshot_time, other.snapshot_time) {
            (Time(0), time) | (time, Time(0)) => time,
            (one, other) => one.min(other),
        };
        self.kept.add(&other.kept);
    }
}

/// What a log keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptLog {
    /// Bytes on the device.
    pub(crate) bytes: u64,
    /// Time of the oldest change; None while there is none.
    pub(crate) from: Option<Time>,
    /// Age that is to be kept, ms; None if the settings name none.
    pub(crate) wanted_ms: Option<u64>,
    /// Age for which there is room, as fast as the log has grown so far, ms. None if nothing is to be kept, or the log
    /// is too young to tell.
    pub(crate) possible_ms: Option<u64>,
}

impl KeptLog {
    /// Adds the log of another core. The shortest stands for all.
    fn add(&mut self, other: &KeptLog) {
        self.bytes += other.bytes;
        self.from = self.from.max(other.from);
        self.wanted_ms = self.wanted_ms.or(other.wanted_ms);
        self.possible_ms = match (self.possible_ms, other.possible_ms) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

/// Keys that are tracked for clients of every core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrackedKeys {
    pub(crate) keys: usize,
    /// Pairs of a key and a client that has read it.
    pub(crate) items: usize,
    /// Memory, bytes.
    pub(crate) bytes: u64,
}

impl TrackedKeys {
    /// Adds the figures of another core.
    pub(crate) fn add(&mut self, other: TrackedKeys) {
        self.keys += other.keys;
        self.items += other.items;
        self.bytes += other.bytes;
    }
}
