//! The log in memory, 40 bytes an entry after its base, and the engine's view of it.

use crate::replica::effects::Vote;
use crate::replica::entry::{Descriptor, Entry, EntryKind, Members};
use crate::replica::ids::{ByteCount, Index, NUMBER_MAX, Sequence, Term};
use raft::eraftpb::{ConfState, Entry as RaftEntry, EntryType, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of entries that the engine gets at once, when it asks with a limit.
const ENTRIES_MAX: u64 = 1024;

/// The state of a log before its first entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The last entry that was removed; 0 when there is none.
    pub index: Index,
    /// The term of that entry.
    pub term: Term,
    /// The members in force after that entry.
    pub members: Members,
}

/// The log and the vote that were read from a node's disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The last stored vote.
    pub vote: Vote,
    /// The state before the entries.
    pub base: Base,
    /// The entries.
    pub entries: Vec<Entry>,
    /// The greatest stored commit index.
    pub committed: Index,
}

/// Invalid data read from a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoveredError {
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] crate::replica::settings::SettingsError),
    /// An entry is missing or repeated.
    #[error("entry {found:?} where {expected:?} belongs: restore the log from a peer")]
    Gap {
        /// The index that was found.
        found: Index,
        /// The index that was expected.
        expected: Index,
    },
    /// The term of an entry is older than that of the entry before it, or 0.
    #[error(
        "the term of entry {0:?} is lower than the one before, or 0: restore the log from a peer"
    )]
    Term(Index),
    /// A term or an index is out of range.
    #[error("{0} is no term and no index: restore the log from a peer")]
    Number(u64),
}

/// An entry without its index and its members.
#[derive(Clone, Copy, Debug)]
struct Slot {
    term: Term,
    first: Sequence,
    last: Sequence,
    /// Bytes of all frames up to and including this entry.
    end: ByteCount,
    checksum: u32,
    kind: SlotKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotKind {
    Empty,
    Frame,
    Turn,
}

/// The log of a replica.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    base: Base,
    /// Bytes of frames up to and including the base.
    begin: ByteCount,
    slots: VecDeque<Slot>,
    /// Entries about members: the new members, or None for the end of a change.
    turns: BTreeMap<Index, Option<Box<Members>>>,
    /// The vote with which the engine starts.
    vote: Vote,
    committed: Index,
}

impl Log {
    /// Creates the log from the data on the disk. A commit index beyond its end was stored beside entries that were
    /// lost; it is lowered to the end.
    pub(crate) fn new(recovered: Recovered) -> Result<Log, RecoveredError> {
        let Recovered { mut vote, base, entries, committed } = recovered;
        let (mut index, mut term) = (base.index, base.term);
        for number in [index.0, term.0, vote.term.0] {
            number_below_max(number)?;
        }
        // Only the log without a first entry has index and term 0.
        if (index == Index(0)) != (term == Term(0)) {
            return Err(RecoveredError::Term(base.index));
        }
        let mut log = Log {
            base,
            begin: ByteCount(0),
            slots: VecDeque::with_capacity(entries.len()),
            turns: BTreeMap::new(),
            vote,
            committed: Index(0),
        };
        for entry in entries {
            index = index.next();
            if entry.index != index {
                return Err(RecoveredError::Gap { found: entry.index, expected: index });
            }
            if entry.term < term.max(Term(1)) {
                return Err(RecoveredError::Term(entry.index));
            }
            term = Term(number_below_max(entry.term.0)?);
            log.push(&entry);
        }
        number_below_max(index.0)?;
        // The entries may have been stored without the vote of their term; that vote was never sent.
        if vote.term < term {
            vote = Vote { term, candidate: None };
        }
        log.vote = vote;
        log.committed = committed.clamp(log.base.index, index);
        // The engine starts with these: it would vote in a term that the log has passed.
        assert!(log.vote.term >= log.last_term(), "the vote is older than the log");
        assert!(log.committed <= log.last(), "more is committed than the log has");
        log.check();
        Ok(log)
    }

    /// Asserts what holds between two calls.
    fn check(&self) {
        let Base { index, term, .. } = self.base;
        assert!((index == Index(0)) == (term == Term(0)), "a base has an index without a term");
        assert!(self.last_term() >= term, "the log ends in an older term than its base");
        assert!(self.end(self.last()) >= self.begin, "the log has fewer bytes than its base");
        let turns = (self.turns.first_key_value(), self.turns.last_key_value());
        if let (Some((first, _)), Some((last, _))) = turns {
            assert!(*first > index, "a removed entry is still about members");
            assert!(*last <= self.last(), "an entry about members lies after the end");
        }
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    pub(crate) fn vote(&self) -> Vote {
        self.vote
    }

    pub(crate) fn last(&self) -> Index {
        Index(self.base.index.0 + self.slots.len() as u64)
    }

    /// Returns the term of the last entry, or of the base.
    pub(crate) fn last_term(&self) -> Term {
        self.slots.back().map_or(self.base.term, |slot| slot.term)
    }

    fn slot(&self, index: Index) -> Option<&Slot> {
        let at = index.0.checked_sub(self.base.index.0 + 1)?;
        self.slots.get(usize::try_from(at).ok()?)
    }

    /// Returns the bytes of all frames up to and including this entry.
    fn end(&self, index: Index) -> ByteCount {
        self.slot(index).map_or(self.begin, |slot| slot.end)
    }

    /// Returns the bytes of the frames after `from`, up to and including `to`.
    pub(crate) fn bytes(&self, from: Index, to: Index) -> ByteCount {
        let (begin, end) = (self.end(from), self.end(to));
        // A negative length would let the leader append without a bound.
        assert!(begin <= end, "bytes are counted backwards, from {from:?} to {to:?}");
        end - begin
    }

    /// Returns the term of an entry, or of the base.
    pub(crate) fn term_of(&self, index: Index) -> Option<Term> {
        if index == self.base.index {
            return Some(self.base.term);
        }
        self.slot(index).map(|slot| slot.term)
    }

    /// Returns the first entry of the run of this term at the end of the log; the next index when the run is empty.
    pub(crate) fn first_of_last_term(&self, term: Term) -> Index {
        let of_term = self.slots.iter().rev().take_while(|slot| slot.term == term).count() as u64;
        Index(self.last().0 + 1 - of_term)
    }

    pub(crate) fn entry(&self, index: Index) -> Option<Entry> {
        let slot = self.slot(index)?;
        let kind = match slot.kind {
            SlotKind::Empty => EntryKind::Empty,
            SlotKind::Frame => EntryKind::Frame(Descriptor {
                first: slot.first,
                last: slot.last,
                len: self.bytes(Index(index.0 - 1), index),
                checksum: slot.checksum,
            }),
            SlotKind::Turn => match self.turns.get(&index)? {
                Some(members) => EntryKind::Members(members.clone()),
                None => EntryKind::MembersFinal,
            },
        };
        Some(Entry { term: slot.term, index, kind })
    }

    /// Returns the content of an entry about members: the new members, or None inside for the end of a change.
    pub(crate) fn turn(&self, index: Index) -> Option<&Option<Box<Members>>> {
        self.turns.get(&index)
    }

    /// Appends an entry.
    pub(crate) fn push(&mut self, entry: &Entry) {
        let (end, index, term) = (self.end(self.last()), self.last().next(), entry.term);
        // All later reads would take an entry at a wrong position for another entry.
        assert!(entry.index == index, "{:?} is put in the place of {index:?}", entry.index);
        // Elections compare the last terms: an older one after a newer one would let a shorter log win.
        assert!(term >= self.last_term(), "the term of {index:?} is older than the one before");
        let none = Sequence(0);
        let kind = SlotKind::Empty;
        let empty = Slot { term, first: none, last: none, end, checksum: 0, kind };
        let turn = Slot { kind: SlotKind::Turn, ..empty };
        self.slots.push_back(match &entry.kind {
            EntryKind::Empty => empty,
            EntryKind::Frame(Descriptor { first, last, len, checksum }) => {
                let (first, last, checksum) = (*first, *last, *checksum);
                let end = end + *len;
                Slot { first, last, end, checksum, kind: SlotKind::Frame, ..empty }
            }
            EntryKind::Members(members) => {
                self.turns.insert(index, Some(members.clone()));
                turn
            }
            EntryKind::MembersFinal => {
                self.turns.insert(index, None);
                turn
            }
        });
    }

    /// Removes all entries from this index on. Returns true when it has removed any.
    pub(crate) fn truncate(&mut self, from: Index) -> bool {
        // Entries up to the base are committed, and a snapshot shows them.
        assert!(from > self.base.index, "{from:?} is cut off a log that begins after it");
        let kept = from.0 - self.base.index.0 - 1;
        let cut = kept < self.slots.len() as u64;
        self.slots.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        self.turns.split_off(&from);
        self.check();
        cut
    }

    /// Removes the entries up to the base that [`Log::base_at`] returns for this index.
    pub(crate) fn compact(&mut self, to: Index) {
        let base = self.base_at(to);
        let to = base.index;
        if to <= self.base.index {
            return;
        }
        self.begin = self.end(to);
        self.turns = self.turns.split_off(&to.next());
        let count = usize::try_from(to.0 - self.base.index.0).unwrap_or(usize::MAX);
        let (last, end) = (self.last(), self.end(self.last()));
        self.slots.drain(..count);
        self.base = base;
        // Only the beginning goes: the entries after it keep their places and their bytes.
        assert!(self.last() == last, "the log ends elsewhere after it was made shorter");
        assert!(self.end(last) == end, "bytes of kept entries were lost with the removed ones");
        self.check();
    }

    /// Returns the base of a log that starts after this entry. Within a change of members it is the base before the
    /// change, because a base names one list of members.
    pub(crate) fn base_at(&self, to: Index) -> Base {
        let mut members = &self.base.members;
        let mut to = to.min(self.last()).max(self.base.index);
        let mut joint = None;
        for (index, turn) in self.turns.range(..=to) {
            match turn {
                Some(next) => joint = Some((Index(index.0 - 1), next.as_ref())),
                None => members = joint.take().map_or(members, |(_, next)| next),
            }
        }
        // The change has started and not ended by then: stay before it.
        if let Some((before, _)) = joint {
            to = before;
        }
        // Removed entries do not come back.
        assert!(to >= self.base.index, "the base goes back to {to:?}");
        let term = self.term_of(to).unwrap_or_default();
        assert!(term >= self.base.term, "the term of the base goes back");
        Base { index: to, term, members: members.clone() }
    }
}

/// Returns an entry as the engine sees it: without its content.
pub(crate) fn engine_entry(term: Term, index: Index, is_turn: bool) -> RaftEntry {
    let mut entry = RaftEntry { term: term.0, index: index.0, ..RaftEntry::default() };
    if is_turn {
        entry.set_entry_type(EntryType::EntryConfChangeV2);
    }
    entry
}

fn number_below_max(number: u64) -> Result<u64, RecoveredError> {
    if number < NUMBER_MAX { Ok(number) } else { Err(RecoveredError::Number(number)) }
}

/// Entries have no content for the engine: it is joined with its messages when they are sent, and kept aside when they
/// are received.
impl Storage for Log {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let hard_state = HardState {
            term: self.vote.term.0,
            vote: self.vote.candidate.map_or(0, |candidate| candidate.get()),
            commit: self.committed.0,
            ..HardState::default()
        };
        Ok(RaftState { hard_state, conf_state: conf_state(&self.base.members) })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> raft::Result<Vec<RaftEntry>> {
        if low <= self.base.index.0 {
            return Err(StorageError::Compacted.into());
        }
        if high > self.last().0 + 1 {
            return Err(StorageError::Unavailable.into());
        }
        assert!(low <= high, "entries are asked for backwards");
        // The limit is in bytes of frames; the engine would count the bytes of its own entries, which have no content.
        let (mut count, before) = (high - low, self.end(Index(low - 1)));
        if let Some(max) = max_size.into().map(ByteCount) {
            count = count.min(ENTRIES_MAX);
            let fits = |slot: &&Slot| slot.end - before <= max;
            let at = usize::try_from(low - self.base.index.0 - 1).unwrap_or(usize::MAX);
            let limited = usize::try_from(count).unwrap_or(usize::MAX);
            let fitting = self.slots.range(at..at + limited).take_while(fits).count() as u64;
            // A frame longer than the limit is sent alone.
            count = fitting.max(1);
        }
        let entry = |index| {
            let index = Index(index);
            let slot = self.slot(index)?;
            Some(engine_entry(slot.term, index, slot.kind == SlotKind::Turn))
        };
        let entries: Vec<RaftEntry> = (low..low + count).filter_map(entry).collect();
        // The receiver takes entries by their place in the append: a gap would move those after it.
        assert!(entries.len() as u64 == count, "an entry within the log is missing");
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let error = if index < self.base.index.0 {
            StorageError::Compacted
        } else {
            StorageError::Unavailable
        };
        self.term_of(Index(index)).map(Term::get).ok_or_else(|| error.into())
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.base.index.0 + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last().0)
    }

    /// Returns the base. The snapshot itself is sent by the host to a node that needs it.
    fn snapshot(&self, _: u64, _: u64) -> raft::Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        metadata.index = self.base.index.0;
        metadata.term = self.base.term.0;
        metadata.set_conf_state(conf_state(&self.base.members));
        Ok(snapshot)
    }
}

fn conf_state(members: &Members) -> ConfState {
    let numbers = |nodes: &[crate::replica::ids::NodeId]| -> Vec<u64> {
        nodes.iter().map(|node| node.get()).collect()
    };
    (numbers(members.voters()), numbers(members.learners())).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::ids::NodeId;

    fn members(numbers: &[u64]) -> Members {
        Members::new(numbers.iter().filter_map(|number| NodeId::new(*number)), []).unwrap()
    }

    fn recovered(kinds: &[(u64, EntryKind)]) -> Recovered {
        let entry = |(index, (term, kind)): (u64, &(u64, EntryKind))| Entry {
            term: Term(*term),
            index: Index(index),
            kind: kind.clone(),
        };
        Recovered {
            vote: Vote { term: Term(3), candidate: NodeId::new(1) },
            base: Base { index: Index(4), term: Term(2), members: members(&[1]) },
            entries: (5..).zip(kinds).map(entry).collect(),
            committed: Index(4),
        }
    }

    fn frame(len: u32) -> EntryKind {
        let len = ByteCount(len.into());
        EntryKind::Frame(Descriptor { first: Sequence(1), last: Sequence(2), len, checksum: 9 })
    }

    #[test]
    fn an_entry_takes_40_bytes() {
        assert_eq!(size_of::<Slot>(), 40);
    }

    #[test]
    fn entries_come_back_until_they_are_cut_or_forgotten() {
        let kinds = [(2, frame(10)), (2, EntryKind::Empty), (3, frame(5)), (3, frame(u32::MAX))];
        let found = recovered(&kinds);
        let mut log = Log::new(found.clone()).unwrap();
        for entry in &found.entries {
            assert_eq!(log.entry(entry.index).as_ref(), Some(entry));
        }
        let bytes = |log: &Log, from, to| log.bytes(Index(from), Index(to)).0;
        assert_eq!((log.last(), bytes(&log, 4, 7), bytes(&log, 6, 7)), (Index(8), 15, 5));
        let first = |log: &Log, term| log.first_of_last_term(Term(term)).0;
        assert_eq!((first(&log, 3), first(&log, 9)), (7, 9));
        log.compact(Index(6));
        assert_eq!((log.base().index, log.base().term), (Index(6), Term(2)));
        assert_eq!((log.term_of(Index(5)), log.term_of(Index(6))), (None, Some(Term(2))));
        assert_eq!(log.entry(Index(6)), None);
        assert_eq!(log.entry(Index(7)).as_ref(), found.entries.get(2));
        assert_eq!(bytes(&log, 6, 7), 5);
        assert!(!log.truncate(Index(9)) && log.truncate(Index(8)) && log.last() == Index(7));
        log.push(&Entry { term: Term(4), index: Index(8), kind: frame(1) });
        assert_eq!(bytes(&log, 6, 8), 6);
    }

    #[test]
    fn a_base_is_never_within_a_change_of_members() {
        let change = |numbers| EntryKind::Members(Box::new(members(numbers)));
        let kinds = [
            (2, change(&[1, 2])),
            (2, EntryKind::MembersFinal),
            (2, frame(1)),
            (2, change(&[1, 2, 3])),
            (2, frame(1)),
            (2, EntryKind::MembersFinal),
        ];
        let base = |to: u64| {
            let mut log = Log::new(recovered(&kinds)).unwrap();
            log.compact(Index(to));
            (log.base().index.0, log.base().members.voters().len())
        };
        assert_eq!(
            [5, 6, 7, 8, 9, 10].map(base),
            [(4, 1), (6, 2), (7, 2), (7, 2), (7, 2), (10, 3)]
        );
        let mut log = Log::new(recovered(&kinds)).unwrap();
        log.truncate(Index(9));
        assert!(log.turn(Index(8)).is_some() && log.turn(Index(10)).is_none());
    }

    #[test]
    fn appends_are_bounded_by_the_bytes_of_frames() {
        let log = Log::new(recovered(&[(2, frame(10)), (2, frame(10)), (2, frame(10))])).unwrap();
        let count =
            |low, max| log.entries(low, 8, max, GetEntriesContext::empty(false)).unwrap().len();
        assert_eq!([count(5, Some(20)), count(5, Some(0)), count(6, Some(29))], [2, 1, 2]);
        assert_eq!(count(5, None), 3);
        assert!(log.entries(4, 6, None, GetEntriesContext::empty(false)).is_err());
    }

    #[test]
    fn a_log_that_cannot_be_is_refused_in_words() {
        let error = |change: &dyn Fn(&mut Recovered)| {
            let mut found = recovered(&[(2, frame(1)), (3, frame(1))]);
            change(&mut found);
            Log::new(found).map(|log| log.committed.0)
        };
        assert_eq!(error(&|found| found.committed = Index(99)), Ok(6), "it ends before");
        assert_eq!(error(&|found| found.committed = Index(0)), Ok(4), "the base is committed");
        let gap = RecoveredError::Gap { found: Index(6), expected: Index(5) };
        assert_eq!(error(&|found| drop(found.entries.remove(0))), Err(gap));
        assert_eq!(
            error(&|found| found.entries[0].term = Term(1)),
            Err(RecoveredError::Term(Index(5)))
        );
        assert_eq!(
            error(&|found| found.vote.term = Term(u64::MAX)),
            Err(RecoveredError::Number(u64::MAX))
        );
        assert_eq!(error(&|found| found.base.term = Term(0)), Err(RecoveredError::Term(Index(4))));
    }

    #[test]
    fn a_vote_older_than_the_log_is_no_vote() {
        let mut found = recovered(&[(3, frame(1))]);
        assert_eq!(Log::new(found.clone()).unwrap().vote(), found.vote);
        found.vote.term = Term(2);
        let vote = Vote { term: Term(3), candidate: None };
        assert_eq!(Log::new(found).unwrap().vote(), vote);
    }
}
