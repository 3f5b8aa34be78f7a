//! What a run did and found, as text.

use super::books::Counts;
use std::collections::BTreeMap;
use std::fmt;

/// The numbers of a run in which nothing was wrong.
#[derive(Clone, Debug, Default)]
pub struct DiameterReport {
    /// How often each fault was injected.
    pub faults: BTreeMap<&'static str, u64>,
    pub(super) load: Counts,
    /// Accounts that were compared with what clients were answered, on each node.
    pub audits: u64,
    /// What all accounts were debited, octets.
    pub consumed: i128,
}

impl DiameterReport {
    /// Returns how many requests were answered.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.load.answered.values().sum()
    }

    /// Returns how many requests of this kind were answered: I, U, T, debit, refund, settle or check.
    #[must_use]
    pub fn answered_of(&self, kind: &str) -> u64 {
        self.load.answered.get(kind).copied().unwrap_or(0)
    }

    /// Returns how many copies of answered requests were answered too, with the same answer.
    #[must_use]
    pub fn answered_again(&self) -> u64 {
        self.load.answered_again
    }
}

impl fmt::Display for DiameterReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = &self.load;
        writeln!(f, "faults: {:?}", self.faults)?;
        writeln!(
            f,
            "sessions and events begun: {}, sessions forgotten: {}",
            load.begun, load.abandoned
        )?;
        writeln!(f, "requests answered: {} {:?}", self.answered(), load.answered)?;
        writeln!(f, "result codes: {:?}, and 3004 {} times", load.results, load.busy)?;
        writeln!(
            f,
            "copies sent: {}, of them {} at once or later to the other door, {} after a failure; answers to requests \
             that had one: {}",
            load.copies, load.repeats, load.failovers, load.answered_again
        )?;
        writeln!(
            f,
            "connections: {}, suspected: {}, slowest answer after {} ms",
            load.connections, load.suspects, load.slowest_ms
        )?;
        writeln!(
            f,
            "audits: {} accounts on all nodes, {} octets debited, all as answered, nothing held",
            self.audits, self.consumed
        )
    }
}
