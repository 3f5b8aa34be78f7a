//! A simulated disk: a queue of stores, and the content of the device.

use scurry_consensus::replica::{Base, Entry, Index, Recovered, Store, Term, Ticket, Vote};
use scurry_model::Random;
use std::collections::VecDeque;

/// Disk of one node.
#[derive(Clone, Debug)]
pub struct Disk {
    /// Content that survives a crash.
    pub device: Recovered,
    /// Stores that are not on the device yet, in order.
    pub queue: VecDeque<Store>,
    /// Entries that were written to the device, each with the term of the entry before it.
    pub written: Vec<(Entry, Term)>,
}

impl Disk {
    /// Creates a disk with this base on its device and no entries.
    pub fn new(base: Base) -> Disk {
        let vote = Vote::default();
        let device = Recovered { vote, committed: base.index, base, entries: Vec::new() };
        Disk { device, queue: VecDeque::new(), written: Vec::new() }
    }

    /// Returns the index of the last entry on the device.
    pub fn last(&self) -> Index {
        self.device.entries.last().map_or(self.device.base.index, |entry| entry.index)
    }

    /// Reports whether the device has the entry, or had it before it was compacted into the base.
    pub fn has(&self, index: Index, term: Term) -> bool {
        index <= self.device.base.index || self.term_of(index) == Some(term)
    }

    fn term_of(&self, index: Index) -> Option<Term> {
        let at = index.0.checked_sub(self.device.base.index.0 + 1)?;
        self.device.entries.get(usize::try_from(at).ok()?).map(|entry| entry.term)
    }

    /// Finishes the first `count` stores and returns the ticket of the last of them.
    pub fn finish(&mut self, count: usize) -> Option<Ticket> {
        let mut last = None;
        for _ in 0..count {
            let Some(store) = self.queue.pop_front() else { break };
            last = Some(store.ticket);
            let len = store.entries.len();
            self.write(store, true, true, len);
        }
        last
    }

    /// Simulates a power failure: a random number of stores reach the device, in order, and part of the next one.
    pub fn crash(&mut self, random: &mut Random) {
        let whole = random.below(self.queue.len() + 1);
        self.finish(whole);
        if let Some(store) = self.queue.pop_front() {
            let len = random.below(store.entries.len() + 1);
            // Of the torn store, the vote may or may not be written; entries are written only after the truncation.
            let (vote, cut) = (random.one_in(2), len > 0 || random.one_in(2));
            self.write(store, vote, cut, len);
        }
        self.queue.clear();
    }

    fn write(&mut self, store: Store, vote: bool, cut: bool, len: usize) {
        let device = &mut self.device;
        if let Some(new) = store.vote.filter(|_| vote) {
            assert!(
                new.term >= device.vote.term,
                "a term is taken back: {:?} {new:?}",
                device.vote
            );
            device.vote = new;
        }
        if let Some(from) = store.truncate_from.filter(|_| cut) {
            assert!(from > device.base.index, "what is behind the base is committed");
            device.entries.retain(|entry| entry.index < from);
        }
        for entry in store.entries.into_iter().take(len) {
            let base = (device.base.index, device.base.term);
            let last = device.entries.last().map_or(base, |entry| (entry.index, entry.term));
            assert_eq!(entry.index.0, last.0.0 + 1, "entries are stored one behind another");
            self.written.push((entry.clone(), last.1));
            device.entries.push(entry);
            device.committed = device.committed.max(store.committed);
        }
    }

    /// Removes the entries that a snapshot covers.
    pub fn compact(&mut self, base: &Base) {
        let kept = |entry: &Entry| entry.index > base.index;
        self.device.entries.retain(kept);
        self.device.base = base.clone();
    }
}
