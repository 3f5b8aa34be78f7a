//! Results of the rounds, as a table.

use super::Fault;
use crate::wait::write_table;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Results for one fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The fault.
    pub fault: Fault,
    /// Number of rounds.
    pub rounds: u64,
    /// Requests with a clear answer.
    pub acknowledged: u64,
    /// Repetitions of requests that had no clear answer.
    pub resent: u64,
    /// Stored answers to requests repeated under load.
    pub replayed: u64,
    /// Debits checked and found exactly once. The run fails if one is lost or was executed twice.
    pub found: u64,
    /// Movements of money in events, each of which was compared with its balance.
    #[serde(default)]
    pub events: u64,
    /// Longest time without a clear answer for one client, ms. Includes its own timeout.
    pub client_gap_ms: u64,
    /// Longest time without a clear answer for any client, ms.
    pub gap_ms: u64,
    /// Longest time from the end of a fault until all nodes voted and had caught up, ms.
    pub whole_ms: u64,
    /// Remarks about the behaviour of nodes.
    pub remarks: Vec<String>,
    /// Reason why no round was run. None if rounds were run.
    pub skipped: Option<String>,
}

impl Row {
    /// Returns a row without rounds.
    pub fn new(fault: Fault) -> Row {
        Row {
            fault,
            rounds: 0,
            acknowledged: 0,
            resent: 0,
            replayed: 0,
            found: 0,
            events: 0,
            client_gap_ms: 0,
            gap_ms: 0,
            whole_ms: 0,
            remarks: Vec::new(),
            skipped: None,
        }
    }

    /// Adds the results of other rounds.
    pub(crate) fn add(&mut self, other: &Row) {
        self.rounds += other.rounds;
        self.acknowledged += other.acknowledged;
        self.resent += other.resent;
        self.replayed += other.replayed;
        self.found += other.found;
        self.events += other.events;
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

/// One row per fault.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Rows in the order of the runs.
    pub rows: Vec<Row>,
    /// Calls of shared keys that were found linearizable.
    pub calls: u64,
}

const HEAD: [&str; 11] = [
    "fault",
    "rounds",
    "acknowledged",
    "sent again",
    "stored answers",
    "changes found once",
    "movements in events",
    "longest without any answer",
    "of one client",
    "whole again after",
    "remarks",
];

pub(crate) fn seconds(ms: u64) -> String {
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
                row.events.to_string(),
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
