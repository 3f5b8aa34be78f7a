//! What a run did and found, as text.

use super::books::Counts;
use std::collections::BTreeMap;
use std::fmt;

/// The numbers of a run in which nothing was wrong.
#[derive(Clone, Debug, Default)]
pub struct DoorReport {
    /// How often each fault was injected.
    pub faults: BTreeMap<&'static str, u64>,
    pub(super) load: Counts,
    /// Accounts that were compared with what clients were answered, on each node.
    pub audits: u64,
    /// What all accounts were debited, octets.
    pub consumed: i128,
}

impl DoorReport {
    /// Returns how many requests were answered.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.load.answered.values().sum()
    }

    /// Returns how many requests of this kind were answered: I, U, T (Create, Update and Release of Nchf), debit,
    /// refund, settle or check.
    #[must_use]
    pub fn answered_of(&self, kind: &str) -> u64 {
        self.load.answered.get(kind).copied().unwrap_or(0)
    }

    /// Returns how many copies of answered requests were answered too, with the same answer.
    #[must_use]
    pub fn answered_again(&self) -> u64 {
        self.load.answered_again
    }

    /// Returns how many requests were under way on connections that their client cut.
    #[must_use]
    pub fn cut_off(&self) -> u64 {
        self.load.cut_off
    }
}

impl fmt::Display for DoorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = &self.load;
        writeln!(f, "faults: {:?}", self.faults)?;
        writeln!(
            f,
            "sessions and events begun: {}, sessions forgotten: {}",
            load.begun, load.abandoned
        )?;
        writeln!(f, "requests answered: {} {:?}", self.answered(), load.answered)?;
        writeln!(f, "results: {:?}, and not carried out {} times", load.results, load.busy)?;
        writeln!(
            f,
            "copies sent: {}, of them {} at once or later to the other door, {} after a failure; answers to requests \
             that had one: {}, of them {} of a second session",
            load.copies, load.repeats, load.failovers, load.answered_again, load.twice_opened
        )?;
        writeln!(
            f,
            "connections: {}, suspected: {}, cut by the client: {} with {} requests under way; most under way at once: {}, \
             slowest answer after {} ms",
            load.connections,
            load.suspects,
            load.cuts,
            load.cut_off,
            load.under_way_max,
            load.slowest_ms
        )?;
        writeln!(
            f,
            "audits: {} accounts on all nodes, {} octets debited, as answered but for {} of which no answer tells; nothing \
             held",
            self.audits, self.consumed, load.unknown
        )
    }
}
