//! Results of the rounds, as a table.

use crate::fault::Fault;
use crate::wait::write_table;
use std::fmt;

/// Results for one fault.
#[derive(Clone, Debug)]
pub struct Row {
    /// The fault.
    pub fault: Fault,
    /// Number of rounds.
    pub rounds: u64,
    /// Requests acknowledged on all copies.
    pub acknowledged_all: u64,
    /// Requests acknowledged by the primary alone.
    pub acknowledged_one: u64,
    /// Repetitions of requests that had no clear answer.
    pub resent: u64,
    /// Stored answers to repeated requests.
    pub replayed: u64,
    /// Requests acknowledged on all copies that were lost. The run fails if there are any.
    pub lost_all: u64,
    /// Requests acknowledged by the primary alone that were lost.
    pub lost_one: u64,
    /// Longest time without a clear answer for one client, ms.
    pub gap_ms: u64,
    /// Reason why no round was run. None if rounds were run.
    pub skipped: Option<String>,
}

impl Row {
    /// Returns a row without rounds.
    pub fn new(fault: Fault) -> Row {
        Row {
            fault,
            rounds: 0,
            acknowledged_all: 0,
            acknowledged_one: 0,
            resent: 0,
            replayed: 0,
            lost_all: 0,
            lost_one: 0,
            gap_ms: 0,
            skipped: None,
        }
    }

    /// Adds the results of another round.
    pub(crate) fn add(&mut self, other: &Row) {
        self.rounds += other.rounds;
        self.acknowledged_all += other.acknowledged_all;
        self.acknowledged_one += other.acknowledged_one;
        self.resent += other.resent;
        self.replayed += other.replayed;
        self.lost_all += other.lost_all;
        self.lost_one += other.lost_one;
        self.gap_ms = self.gap_ms.max(other.gap_ms);
    }
}

/// One row per fault.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Rows in the order of the runs.
    pub rows: Vec<Row>,
}

const HEAD: [&str; 9] = [
    "fault",
    "rounds",
    "acknowledged K=M",
    "acknowledged K=1",
    "sent again",
    "stored answers",
    "lost K=M",
    "lost K=1",
    "longest without answer",
];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.iter().map(|row| match &row.skipped {
            Some(why) => Err((row.fault.name(), why.as_str())),
            None => Ok([
                row.fault.name().to_owned(),
                row.rounds.to_string(),
                row.acknowledged_all.to_string(),
                row.acknowledged_one.to_string(),
                row.resent.to_string(),
                row.replayed.to_string(),
                row.lost_all.to_string(),
                row.lost_one.to_string(),
                format!("{}.{} s", row.gap_ms / 1_000, row.gap_ms % 1_000 / 100),
            ]),
        });
        write_table(f, HEAD, rows)
    }
}
