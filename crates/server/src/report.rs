//! What only a core knows about itself, for commands that show the whole server.

use crate::counters::Counters;
use crate::durable::DurableReport;
use crate::latency::Latency;
use crate::slowlog::SlowCommand;
use scurry_engine::Stats;
use scurry_ledger::Totals;

/// What a command needs to know of every core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Counts and sums.
    Report,
    /// The connections.
    Clients,
    /// Slow commands.
    Slowlog,
    /// What took long.
    Latency,
}

/// What one core says.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Counts and sums.
    Report(Box<Report>),
    /// Lines of CLIENT LIST.
    Clients(String),
    /// Newest first.
    Slowlog(Vec<SlowCommand>),
    /// What took long.
    Latency(Box<Latency>),
}

/// Counts and sums of one core, or of several together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) stats: Stats,
    pub(crate) totals: Totals,
    pub(crate) counters: Counters,
    pub(crate) clients: usize,
    /// Memory of connections, bytes.
    pub(crate) connection_bytes: u64,
    pub(crate) durable: DurableReport,
}

impl Report {
    /// Takes what the cores have said together.
    pub(crate) fn of_all(answers: &[Answer]) -> Report {
        let mut all = Report::default();
        for answer in answers {
            if let Answer::Report(report) = answer {
                all.stats.add(&report.stats);
                all.totals.add(&report.totals);
                all.counters.add(&report.counters);
                all.clients += report.clients;
                all.connection_bytes += report.connection_bytes;
                all.durable.add(&report.durable);
            }
        }
        all
    }
}
