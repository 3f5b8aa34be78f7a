//! The committed entries, as an observer of all nodes knows them, and the state of the models after each.

use crate::world::{CheckResult, World};
use scurry_consensus::replica::{Entry, EntryKind, Index, Replica};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A leadership: the time in which a node executes commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leadership {
    /// The term of the leadership.
    pub(super) term: u64,
    /// The sequence up to which everything was committed when the leadership began.
    pub(super) from: u64,
}

/// A committed entry.
struct CommittedEntry {
    entry: Entry,
    /// The last sequence of the entry.
    last: u64,
}

/// Everything that is committed, and everything that may yet be.
pub(super) struct CommittedHistory {
    entries: Vec<CommittedEntry>,
    /// The models after each committed sequence at which a command ended.
    worlds: BTreeMap<u64, Rc<World>>,
    /// The models after each executed sequence that is not known to be committed, by term and sequence.
    made: BTreeMap<(u64, u64), Rc<World>>,
}

impl CommittedHistory {
    pub(super) fn new(world: World) -> CommittedHistory {
        let worlds = BTreeMap::from([(0, Rc::new(world))]);
        CommittedHistory { entries: Vec::new(), worlds, made: BTreeMap::new() }
    }

    /// Returns the number of committed entries.
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Returns the last committed sequence.
    pub(super) fn sequence(&self) -> u64 {
        self.entries.last().map_or(0, |sure| sure.last)
    }

    /// Reports whether a command was committed after the last change of members. A majority then has noted that the
    /// change is committed. Before that, a node that restarts may count votes by the old members, and need the vote of
    /// an old member that is lost for good.
    pub(super) fn has_settled(&self) -> bool {
        self.entries.last().is_some_and(|sure| matches!(sure.entry.kind, EntryKind::Frame(_)))
    }

    /// Returns the models after a committed sequence; None if no command ended at it.
    pub(super) fn world(&self, sequence: u64) -> Option<Rc<World>> {
        self.worlds.get(&sequence).cloned()
    }

    /// Returns the models after the last committed sequence.
    pub(super) fn newest(&self) -> Rc<World> {
        self.worlds.last_key_value().map(|(_, world)| world.clone()).expect("the first one")
    }

    /// Records the models after commands that a leader has executed up to this sequence.
    pub(super) fn record_executed(&mut self, lead: Leadership, sequence: u64, world: &World) {
        self.made.insert((lead.term, sequence), Rc::new(world.clone()));
    }

    /// Reports whether the state that a leader showed at a sequence is committed.
    pub(super) fn is_state_committed(&self, lead: Leadership, sequence: u64) -> bool {
        if sequence > self.sequence() {
            return false;
        }
        // Up to `from` everything was committed before the leadership. After it, the entry must be of its term.
        let at = self.entries.partition_point(|sure| sure.last < sequence);
        sequence <= lead.from
            || self.entries.get(at).is_some_and(|sure| sure.entry.term.0 == lead.term)
    }

    /// Records that a node considers the entries after `from` up to `to` committed. Fails if another node has committed
    /// a different entry at the same index, or if this node skips entries.
    pub(super) fn commits(&mut self, replica: &Replica, from: u64, to: u64) -> CheckResult {
        let from = from.max(replica.base().index.0);
        for index in from + 1..=to {
            let entry = replica.entry(Index(index)).ok_or("what is committed is not there")?;
            let at = usize::try_from(index - 1).map_err(|error| error.to_string())?;
            match self.entries.get(at) {
                Some(sure) if sure.entry == entry => {}
                Some(sure) => {
                    return Err(format!(
                        "{} commits {entry:?}, and {:?} was",
                        replica.id(),
                        sure.entry
                    ));
                }
                None if at == self.entries.len() => self.add(entry)?,
                None => return Err(format!("{} skips what is committed", replica.id())),
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: Entry) -> CheckResult {
        let before = self.sequence();
        let last = match &entry.kind {
            EntryKind::Frame(descriptor) if descriptor.first.get() == before + 1 => {
                descriptor.last.get()
            }
            EntryKind::Frame(descriptor) => {
                return Err(format!("behind {before} comes {descriptor:?}"));
            }
            // An entry without commands uses one sequence and changes no account or key.
            EntryKind::Empty | EntryKind::MembersFinal | EntryKind::Members(_) => {
                let same = self.newest();
                self.worlds.insert(before + 1, same);
                before + 1
            }
        };
        let term = entry.term.0;
        // The leader of the term must have executed all of the frame.
        if matches!(entry.kind, EntryKind::Frame(_)) {
            let made = self.made.extract_if((term, before + 1)..=(term, last), |_, _| true);
            let made: Vec<_> = made.map(|((_, sequence), world)| (sequence, world)).collect();
            if made.last().is_none_or(|(sequence, _)| *sequence != last) {
                return Err(format!("{entry:?} is committed, and nobody has executed it"));
            }
            self.worlds.extend(made);
        }
        self.entries.push(CommittedEntry { entry, last });
        Ok(())
    }
}
