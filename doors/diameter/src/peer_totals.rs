//! What connections of one peer have done.

use crate::code_counts::CodeCounts;
use scurry_diameter::peer::PeerCounts;

/// Totals of one connection, or of all connections of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerTotals {
    /// Messages by command, and errors.
    pub counts: PeerCounts,
    /// Answers of the application, by Result-Code. Those that the peer machine gives by itself are only in `counts`.
    pub answers: CodeCounts,
    /// Requests whose connection had ended before the answer was ready.
    pub dropped_answers: u64,
}

impl PeerTotals {
    /// Adds the totals of another connection.
    pub(crate) fn add(&mut self, other: &PeerTotals) {
        let PeerTotals { counts, answers, dropped_answers } = other;
        self.counts.add(counts);
        self.answers.add(answers);
        self.dropped_answers += dropped_answers;
    }
}
