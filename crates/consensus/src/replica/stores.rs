//! Stores that are pending or in progress, and the messages that wait for them.

use crate::replica::effects::{Store, Vote};
use crate::replica::entry::Entry;
use crate::replica::ids::{Index, Ticket};
use crate::replica::message::{Message, MessageBody};
use std::collections::VecDeque;

/// A store that the host has not taken yet.
#[derive(Debug)]
struct PendingStore {
    /// The engine's number of the last `Ready` in this store.
    number: u64,
    vote: Option<Vote>,
    truncate_from: Option<Index>,
    entries: Vec<Entry>,
    held: Vec<Message>,
}

/// A store that the host has taken and not completed.
#[derive(Debug)]
struct UnderWay {
    ticket: Ticket,
    number: u64,
    vote: Option<Vote>,
    truncate_from: Option<Index>,
    last: Option<Index>,
    held: Vec<Message>,
}

/// All stores of a replica.
#[derive(Debug)]
pub(crate) struct Stores {
    tickets: u64,
    gathered: Option<PendingStore>,
    under_way: VecDeque<UnderWay>,
    /// The vote on the device.
    durable: Vote,
    /// The newest vote, which may still be pending.
    latest: Vote,
    /// The last entry on the device.
    durable_last: Index,
}

/// The outcome of completed stores.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// The engine's number up to which everything is stored; None when a later store removes some of the entries.
    pub(crate) number: Option<u64>,
    /// Messages that waited for these stores.
    pub(crate) released: Vec<Message>,
}

impl Stores {
    /// Creates the stores of a node that has read this vote and a log that ends here from its device.
    pub(crate) fn new(durable: Vote, durable_last: Index) -> Stores {
        Stores {
            tickets: 0,
            gathered: None,
            under_way: VecDeque::new(),
            durable,
            latest: durable,
            durable_last,
        }
    }

    /// Asserts what holds between two calls.
    fn check(&self) {
        let (durable, latest) = (self.durable, self.latest);
        assert!(durable.term <= latest.term, "the device has a term that was never reached");
        let is_kept = durable.candidate.is_none() || durable.candidate == latest.candidate;
        assert!(durable.term < latest.term || is_kept, "a vote on the device was taken back");
        if self.are_done() {
            assert!(self.durable == self.latest, "a vote waits for no store");
        }
        if let (Some(first), Some(last)) = (self.under_way.front(), self.under_way.back()) {
            assert!(last.ticket == Ticket(self.tickets), "a ticket was given out of order");
            assert!(first.ticket <= last.ticket, "stores are under way out of order");
            assert!(first.number <= last.number, "the engine's steps are stored out of order");
        }
        if let Some(gathered) = &self.gathered {
            let has_vote = gathered.vote.is_some();
            assert!(has_vote || !gathered.entries.is_empty(), "a store has nothing to store");
            assert!(gathered.vote.is_none_or(|vote| vote == self.latest), "a vote is not stored");
            let before = self.under_way.back().map_or(0, |store| store.number);
            assert!(gathered.number > before, "a step of the engine is stored twice");
        }
    }

    /// Returns true when no store is pending or in progress.
    pub(crate) fn are_done(&self) -> bool {
        self.gathered.is_none() && self.under_way.is_empty()
    }

    /// Returns the vote on the device.
    pub(crate) fn durable_vote(&self) -> Vote {
        self.durable
    }

    /// Returns the newest vote, which may still be pending.
    pub(crate) fn latest_vote(&self) -> Vote {
        self.latest
    }

    /// Returns the last entry on the device.
    pub(crate) fn durable_last(&self) -> Index {
        self.durable_last
    }

    /// Adds to the pending store. Returns false when there is nothing to store and no store to wait for.
    ///
    /// The host has not taken the pending store yet, so a cut need not reach the device when it falls within it:
    ///
    /// | case | the engine gives | pending entries | the pending store |
    /// |---|---|---|---|
    /// | @A | no vote and no entries | any | stays as it is |
    /// | @B | a vote, entries or both, and no cut | any | gets the entries at its end |
    /// | @C | a cut and entries from there | begin at or before the cut | drops its own from the cut on, then as @B |
    /// | @D | a cut and entries from there | begin after the cut, or none | drops all and cuts the device, then as @B |
    ///
    /// In @D the device is cut at the earlier one of this cut and a cut of the pending store.
    pub(crate) fn gather(
        &mut self,
        number: u64,
        vote: Vote,
        truncate_from: Option<Index>,
        entries: Vec<Entry>,
    ) -> bool {
        // A node that returned to an older term could vote in it a second time.
        assert!(
            vote.term >= self.latest.term,
            "a term goes back: {vote:?} after {:?}",
            self.latest
        );
        // Two candidates that have this node's vote could both lead the same term.
        assert!(
            vote.term > self.latest.term
                || self.latest.candidate.is_none()
                || vote.candidate == self.latest.candidate,
            "two votes in one term: {vote:?} after {:?}",
            self.latest
        );
        let vote = (vote != self.latest).then_some(vote);
        self.latest = vote.unwrap_or(self.latest);
        // @A
        if vote.is_none() && entries.is_empty() {
            return !self.are_done();
        }
        let empty = || PendingStore {
            number,
            vote: None,
            truncate_from: None,
            entries: Vec::new(),
            held: Vec::new(),
        };
        let gathered = self.gathered.get_or_insert_with(empty);
        gathered.number = number;
        gathered.vote = vote.or(gathered.vote);
        match (truncate_from, gathered.entries.first().map(|entry| entry.index)) {
            // @C: entries that the host has not taken yet are simply dropped.
            (Some(from), Some(first)) if from >= first => {
                gathered.entries.retain(|entry| entry.index < from);
            }
            // @D
            (Some(from), _) => {
                gathered.entries.clear();
                let before = gathered.truncate_from.unwrap_or(from);
                gathered.truncate_from = Some(from.min(before));
            }
            // @B
            (None, _) => {}
        }
        gathered.entries.extend(entries);
        self.check();
        true
    }

    /// Holds a message until everything that is pending or in progress now is stored. Returns it when nothing is.
    pub(crate) fn hold(&mut self, message: Message) -> Option<Message> {
        // It would leave when a store is complete that does not have its term.
        assert!(message.term <= self.latest.term, "a message has a term that no store has");
        let gathered = self.gathered.as_mut().map(|gathered| &mut gathered.held);
        let held = gathered.or_else(|| self.under_way.back_mut().map(|store| &mut store.held));
        let Some(held) = held else { return Some(message) };
        // While a disk hangs, the leader repeats its appends: one response is enough.
        let same = |before: &&mut Message| {
            (before.to, before.term) == (message.to, message.term)
                && matches!(before.body, MessageBody::Appended { .. })
        };
        if let MessageBody::Appended { index, .. } = message.body
            && let Some(before) = held.iter_mut().find(same)
        {
            if !matches!(before.body, MessageBody::Appended { index: older, .. } if older > index) {
                *before = message;
            }
            return None;
        }
        held.push(message);
        None
    }

    /// Returns the next store for the host to write, with the commit index.
    pub(crate) fn next_to_write(&mut self, committed: Index) -> Option<Store> {
        let PendingStore { number, vote, truncate_from, entries, held } = self.gathered.take()?;
        // A skipped or repeated entry would be a gap that no restart can repair.
        assert!(
            entries.is_sorted_by(|a, b| a.index.next() == b.index && a.term <= b.term),
            "entries of a store do not follow each other"
        );
        // A start would find a log that ends before entries that were acknowledged.
        let first = entries.first().map(|entry| entry.index);
        assert!(
            truncate_from.is_none() || truncate_from == first,
            "entries are removed from {truncate_from:?} and replaced from {first:?}"
        );
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let last = entries.last().map(|entry| entry.index);
        self.under_way.push_back(UnderWay { ticket, number, vote, truncate_from, last, held });
        self.check();
        Some(Store { ticket, vote, truncate_from, entries, committed })
    }

    /// Completes all stores up to this ticket.
    pub(crate) fn stored(&mut self, ticket: Ticket) -> Stored {
        // The host would confirm what this replica has never asked for.
        assert!(ticket <= Ticket(self.tickets), "{ticket:?} is stored and was never given");
        let (mut stored, mut last) = (Stored::default(), None);
        while self.under_way.front().is_some_and(|store| store.ticket <= ticket) {
            let Some(store) = self.under_way.pop_front() else { break };
            let before = self.durable;
            self.durable = store.vote.unwrap_or(before);
            // The counterpart of the assertion in `gather`: what is durable now is not an older promise.
            assert!(self.durable.term >= before.term, "the durable term goes back");
            stored.number = Some(store.number);
            last = store.last.or(last);
            self.durable_last = store.last.unwrap_or(self.durable_last);
            stored.released.extend(store.held);
        }
        // The engine compares index and term of the entry that was stored last. After a truncation the same entry may
        // have been appended again, while a later store is still to remove the one on the device.
        let to_come = self.under_way.iter().map(|store| store.truncate_from);
        let to_come = to_come.chain(self.gathered.iter().map(|store| store.truncate_from));
        if to_come.flatten().any(|from| last.is_some_and(|last| from <= last)) {
            stored.number = None;
        }
        self.check();
        stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::entry::EntryKind;
    use crate::replica::ids::{NodeId, Term};

    fn entries(term: u64, indexes: std::ops::RangeInclusive<u64>) -> Vec<Entry> {
        let entry = |index| Entry { term: Term(term), index: Index(index), kind: EntryKind::Empty };
        indexes.map(entry).collect()
    }

    fn appended(index: u64) -> Message {
        let (from, to) = (NodeId::new(1).unwrap(), NodeId::new(2).unwrap());
        let body = MessageBody::Appended { index: Index(index), committed: Index(0) };
        Message { from, to, term: Term(1), body }
    }

    fn vote() -> Vote {
        Vote { term: Term(1), candidate: None }
    }

    #[test]
    fn what_was_not_taken_yet_is_one_store() {
        let mut stores = Stores::new(vote(), Index(0));
        assert!(stores.gather(1, vote(), None, entries(1, 4..=6)));
        assert!(stores.gather(2, vote(), Some(Index(6)), entries(2, 6..=6)));
        let store = stores.next_to_write(Index(3)).unwrap();
        assert_eq!((store.truncate_from, store.committed), (None, Index(3)));
        assert_eq!(store.entries, [entries(1, 4..=5), entries(2, 6..=6)].concat());
        // From here on the first store is taken: removing its entries needs an explicit truncation.
        assert!(stores.gather(3, vote(), None, entries(2, 7..=7)));
        assert!(stores.gather(4, vote(), Some(Index(5)), entries(3, 5..=5)));
        assert!(stores.gather(5, vote(), None, entries(3, 6..=6)));
        let store = stores.next_to_write(Index(3)).unwrap();
        assert_eq!((store.truncate_from, store.entries), (Some(Index(5)), entries(3, 5..=6)));
        assert_eq!(stores.next_to_write(Index(3)), None);
    }

    #[test]
    fn a_message_waits_for_all_that_is_to_be_stored_when_it_is_made() {
        let mut stores = Stores::new(vote(), Index(0));
        assert_eq!(stores.hold(appended(0)), Some(appended(0)), "nothing is to be stored");
        stores.gather(1, vote(), None, entries(1, 1..=1));
        let first = stores.next_to_write(Index(0)).unwrap().ticket;
        assert_eq!(stores.hold(appended(1)), None);
        stores.gather(2, vote(), None, entries(1, 2..=2));
        assert_eq!(stores.hold(appended(2)), None);
        assert_eq!(stores.hold(appended(1)), None, "an older answer tells nothing");
        let second = stores.next_to_write(Index(0)).unwrap().ticket;
        let stored = stores.stored(first);
        assert_eq!((stored.number, stored.released), (Some(1), vec![appended(1)]));
        assert!(!stores.are_done());
        let stored = stores.stored(second);
        assert_eq!((stored.number, stored.released), (Some(2), vec![appended(2)]));
        assert!(stores.are_done() && stores.stored(second).number.is_none());
    }

    #[test]
    fn what_a_later_store_takes_back_is_not_stored() {
        let mut stores = Stores::new(vote(), Index(0));
        let mut take = |number, truncate_from, entries| {
            stores.gather(number, vote(), truncate_from, entries);
            stores.next_to_write(Index(0)).unwrap().ticket
        };
        let first = take(1, None, entries(1, 5..=5));
        let second = take(2, Some(Index(5)), entries(2, 5..=5));
        // The leader of term 1 returns with its entry.
        let third = take(3, Some(Index(5)), entries(1, 5..=5));
        assert_eq!(stores.stored(first).number, None);
        assert_eq!(stores.stored(second).number, None);
        assert_eq!(stores.stored(third).number, Some(3));
    }
}
