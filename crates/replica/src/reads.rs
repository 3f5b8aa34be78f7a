//! Reads of a leader that wait until it is sure that it was the leader when they were asked for.
//!
//! A read is confirmed by an entry that was appended after it and is committed, or, when nothing was appended, by
//! a round of the members. The engine drops a round that is asked for before the leader has committed an entry of
//! its term, so it is asked for later, and none of this is a lease: no time has a part in it.

use crate::ids::{Index, ReadTicket, Round};
use std::collections::VecDeque;

#[derive(Debug)]
struct Waiting {
    ticket: ReadTicket,
    /// The last entry when the read was asked for: what it shows is at most that.
    last: Index,
    /// The round that was begun after it was asked for.
    round: Option<Round>,
    confirmed: bool,
}

/// Reads, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    waiting: VecDeque<Waiting>,
    tickets: u64,
    rounds: Round,
}

impl Reads {
    pub(crate) fn ask(&mut self, last: Index) -> ReadTicket {
        self.tickets += 1;
        let ticket = ReadTicket(self.tickets);
        self.waiting.push_back(Waiting { ticket, last, round: None, confirmed: false });
        ticket
    }

    /// The next round, when there are reads that no entry and no round under way will confirm.
    pub(crate) fn next_round(&mut self, last: Index) -> Option<Round> {
        if !self.waiting.back().is_some_and(|read| read.round.is_none() && read.last == last) {
            return None;
        }
        self.rounds.0 += 1;
        for read in self.waiting.iter_mut().rev().take_while(|read| read.round.is_none()) {
            read.round = Some(self.rounds);
        }
        Some(self.rounds)
    }

    /// A majority has answered in this round.
    pub(crate) fn answered(&mut self, round: Round) {
        for read in &mut self.waiting {
            read.confirmed |= read.round.is_some_and(|of| of <= round);
        }
    }

    /// Takes out what may leave when this much is committed.
    pub(crate) fn leave(&mut self, committed: Index, out: &mut Vec<ReadTicket>) {
        let may =
            |read: &Waiting| committed > read.last || (read.confirmed && committed == read.last);
        while let Some(read) = self.waiting.front().filter(|read| may(read)) {
            out.push(read.ticket);
            self.waiting.pop_front();
        }
    }

    /// The node leads no more: it can be sure of nothing.
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
