//! What rounds have shown, as a table.

use super::Fault;
use crate::wait::write_table;
use std::fmt;

/// The rounds of one fault.
#[derive(Clone, Debug)]
pub struct Row {
    /// Fault of the rounds.
    pub fault: Fault,
    /// How many there were.
    pub rounds: u64,
    /// Requests that were answered clearly.
    pub acknowledged: u64,
    /// Times that a request was sent again, having no clear answer.
    pub resent: u64,
    /// Stored answers that were given to requests that came again under load.
    pub replayed: u64,
    /// Debits that were looked for and found, once. The run fails when one is lost or was done twice.
    pub found: u64,
    /// The longest time for which a client had no clear answer, ms: with its own patience.
    pub client_gap_ms: u64,
    /// The longest time for which no client had one, ms.
    pub gap_ms: u64,
    /// The longest time from the end of the fault until all nodes voted and had everything, ms.
    pub whole_ms: u64,
    /// Remarks about what nodes did.
    pub remarks: Vec<String>,
    /// Why there was no round.
    pub skipped: Option<String>,
}

impl Row {
    /// Without rounds.
    pub fn new(fault: Fault) -> Row {
        Row {
            fault,
            rounds: 0,
            acknowledged: 0,
            resent: 0,
            replayed: 0,
            found: 0,
            client_gap_ms: 0,
            gap_ms: 0,
            whole_ms: 0,
            remarks: Vec::new(),
            skipped: None,
        }
    }

    /// Takes in what another round of it has shown.
    pub(crate) fn add(&mut self, other: &Row) {
        self.rounds += other.rounds;
        self.acknowledged += other.acknowledged;
        self.resent += other.resent;
        self.replayed += other.replayed;
        self.found += other.found;
        self.client_gap_ms = self.client_gap_ms.max(other.client_gap_ms);
        self.gap_ms = self.gap_ms.max(other.gap_ms);
        self.whole_ms = self.whole_ms.max(other.whole_ms);
        for remark in &other.remarks {
            if !self.remarks.contains(remark) {
                self.remarks.push(remark.clone());
            }
        }
    }
}

/// A row for each fault.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they were tried.
    pub rows: Vec<Row>,
    /// Calls of shared keys that were found linearizable.
    pub calls: u64,
}

const HEAD: [&str; 10] = [
    "fault",
    "rounds",
    "acknowledged",
    "sent again",
    "stored answers",
    "debits found once",
    "longest without any answer",
    "of one client",
    "whole again after",
    "remarks",
];

fn seconds(ms: u64) -> String {
    format!("{}.{:02} s", ms / 1_000, ms % 1_000 / 10)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.iter().map(|row| match &row.skipped {
            Some(why) => Err((row.fault.name(), why.as_str())),
            None => Ok([
                row.fault.name().to_owned(),
                row.rounds.to_string(),
                row.acknowledged.to_string(),
                row.resent.to_string(),
                row.replayed.to_string(),
                row.found.to_string(),
                seconds(row.gap_ms),
                seconds(row.client_gap_ms),
                seconds(row.whole_ms),
                row.remarks.join("; "),
            ]),
        });
        write_table(f, HEAD, rows)?;
        writeln!(f, "{} calls of shared keys were linearizable", self.calls)
    }
}
