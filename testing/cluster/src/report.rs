//! What rounds have shown, as a table.

use crate::fault::Fault;
use crate::wait::write_table;
use std::fmt;

/// The rounds of one fault.
#[derive(Clone, Debug)]
pub struct Row {
    /// Fault of the rounds.
    pub fault: Fault,
    /// How many there were.
    pub rounds: u64,
    /// Requests that were answered and on all copies.
    pub acknowledged_all: u64,
    /// Requests that were answered by the primary alone.
    pub acknowledged_one: u64,
    /// Times that a request was sent again, having no clear answer.
    pub resent: u64,
    /// Stored answers that were given to requests that came again.
    pub replayed: u64,
    /// Requests of the first kind that were not there. The run fails when there are any.
    pub lost_all: u64,
    /// Requests of the second kind that were not there.
    pub lost_one: u64,
    /// The longest time for which a client had no clear answer, ms.
    pub gap_ms: u64,
    /// Why there was no round.
    pub skipped: Option<String>,
}

impl Row {
    /// Without rounds.
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

    /// Takes in what another round of it has shown.
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

/// A row for each fault.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they were tried.
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
