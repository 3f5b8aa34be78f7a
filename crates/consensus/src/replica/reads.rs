//! Reads that a leader holds until it is certain that it led when they were requested.
//!
//! A read is confirmed when an entry that was appended after it is committed or, if no entry follows, by a round of
//! heartbeats. The engine drops a round that is requested before the leader has committed an entry of its term, so such
//! a round is requested later. None of this is a lease: no time is involved.

use crate::replica::ids::{Index, ReadTicket, Round};
use std::collections::VecDeque;

#[derive(Debug)]
struct Waiting {
    ticket: ReadTicket,
    /// The last entry when the read was requested: the read shows nothing after it.
    last: Index,
    /// The round that was started after the read was requested.
    round: Option<Round>,
    confirmed: bool,
}

/// Reads, in the order of their requests.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    waiting: VecDeque<Waiting>,
    tickets: u64,
    rounds: Round,
}

impl Reads {
    /// Asserts what holds between two calls: a round that confirms a read confirms all reads before it.
    fn check(&self) {
        let (Some(first), Some(last)) = (self.waiting.front(), self.waiting.back()) else { return };
        assert!(last.ticket == ReadTicket(self.tickets), "a read's ticket is out of order");
        assert!(first.ticket <= last.ticket, "reads wait out of order");
        assert!(first.last <= last.last, "an earlier read shows more than a later one");
        assert!(last.round <= Some(self.rounds), "a read waits for a round that was not begun");
        if last.round.is_some() {
            assert!(first.round.is_some(), "a round was begun for a later read alone");
            assert!(first.round <= last.round, "an earlier read waits for a later round");
        }
        if last.confirmed {
            assert!(first.confirmed, "a later read is confirmed before an earlier one");
        }
    }

    pub(crate) fn ask(&mut self, last: Index) -> ReadTicket {
        self.tickets += 1;
        let ticket = ReadTicket(self.tickets);
        self.waiting.push_back(Waiting { ticket, last, round: None, confirmed: false });
        self.check();
        ticket
    }

    /// Starts a round and returns it, when some read will be confirmed by no later entry and by no round in progress.
    pub(crate) fn next_round(&mut self, last: Index) -> Option<Round> {
        // A later entry confirms the read when it is committed: then no round is needed.
        if !self.waiting.back().is_some_and(|read| read.round.is_none() && read.last == last) {
            return None;
        }
        self.rounds.0 += 1;
        for read in self.waiting.iter_mut().rev().take_while(|read| read.round.is_none()) {
            read.round = Some(self.rounds);
        }
        self.check();
        Some(self.rounds)
    }

    /// Records that a majority has answered this round; it confirms the reads of earlier rounds too.
    pub(crate) fn answered(&mut self, round: Round) {
        // Another leadership's round says nothing about this one.
        assert!(round <= self.rounds, "{round:?} is answered and was not begun");
        for read in &mut self.waiting {
            // A round confirms every read that was requested before it started.
            read.confirmed |= read.round.is_some_and(|of| of <= round);
        }
        self.check();
    }

    /// Removes the reads that may be answered with this commit index, and appends them to `out`.
    pub(crate) fn leave(&mut self, committed: Index, out: &mut Vec<ReadTicket>) {
        let may =
            |read: &Waiting| committed > read.last || (read.confirmed && committed == read.last);
        while let Some(read) = self.waiting.front().filter(|read| may(read)) {
            out.push(read.ticket);
            self.waiting.pop_front();
        }
        self.check();
    }

    /// Removes all reads: a node that no longer leads can confirm none.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(reads: &mut Reads, committed: u64) -> Vec<u64> {
        let mut out = Vec::new();
        reads.leave(Index(committed), &mut out);
        out.iter().map(|ticket| ticket.0).collect()
    }

    #[test]
    fn a_read_waits_for_what_it_shows_and_for_a_round() {
        let mut reads = Reads::default();
        reads.ask(Index(7));
        assert_eq!(reads.next_round(Index(7)), Some(Round(1)));
        assert_eq!(reads.next_round(Index(7)), None, "one is under way");
        reads.answered(Round(1));
        assert_eq!(left(&mut reads, 6), [0; 0], "it shows an entry that is not committed");
        assert_eq!(left(&mut reads, 7), [1]);
    }

    #[test]
    fn an_older_round_confirms_no_later_read() {
        let mut reads = Reads::default();
        reads.ask(Index(7));
        assert_eq!(reads.next_round(Index(7)), Some(Round(1)));
        reads.ask(Index(7));
        reads.answered(Round(1));
        assert_eq!(left(&mut reads, 7), [1]);
        assert_eq!(reads.next_round(Index(7)), Some(Round(2)));
        reads.answered(Round(2));
        assert_eq!(left(&mut reads, 7), [2]);
    }

    #[test]
    fn an_entry_behind_a_read_takes_the_place_of_a_round() {
        let mut reads = Reads::default();
        reads.ask(Index(7));
        assert_eq!(reads.next_round(Index(8)), None);
        assert_eq!(left(&mut reads, 7), [0; 0]);
        assert_eq!(left(&mut reads, 8), [1]);
    }
}
