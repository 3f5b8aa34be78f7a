//! What is committed, told by somebody who sees all nodes: the entries, and what the models show behind each.

use crate::world::{Checked, World};
use scurry_consensus::replica::{Entry, Index, Kind, Replica};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The time in which a node executes commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    /// The term in which it leads.
    pub(super) term: u64,
    /// The sequence that was committed when it began.
    pub(super) from: u64,
}

/// An entry that is committed.
struct Sure {
    entry: Entry,
    /// The last sequence of it.
    last: u64,
}

/// Everything that is committed, and what may come to be.
pub(super) struct Truth {
    entries: Vec<Sure>,
    /// The models behind each sequence that commands have left.
    worlds: BTreeMap<u64, Rc<World>>,
    /// The same of what was executed in a term, and is not known to be committed.
    made: BTreeMap<(u64, u64), Rc<World>>,
}

impl Truth {
    pub(super) fn new(world: World) -> Truth {
        let worlds = BTreeMap::from([(0, Rc::new(world))]);
        Truth { entries: Vec::new(), worlds, made: BTreeMap::new() }
    }

    /// Entries that are committed.
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The last sequence that is committed.
    pub(super) fn sequence(&self) -> u64 {
        self.entries.last().map_or(0, |sure| sure.last)
    }

    /// True when a command was committed behind the last change of members: a majority has noted the end of that
    /// change as committed with it. Before, a node that starts again may count by the members of before, and one of
    /// those that is lost for good is missed.
    pub(super) fn has_settled(&self) -> bool {
        self.entries.last().is_some_and(|sure| matches!(sure.entry.kind, Kind::Frame(_)))
    }

    /// The models behind a sequence that is committed.
    pub(super) fn world(&self, sequence: u64) -> Option<Rc<World>> {
        self.worlds.get(&sequence).cloned()
    }

    /// The models as they are.
    pub(super) fn newest(&self) -> Rc<World> {
        self.worlds.last_key_value().map(|(_, world)| world.clone()).expect("the first one")
    }

    /// A leader has executed something up to a sequence, and this is what it has left.
    pub(super) fn makes(&mut self, lead: Lead, sequence: u64, world: &World) {
        self.made.insert((lead.term, sequence), Rc::new(world.clone()));
    }

    /// True when what a leader has shown at a sequence is committed.
    pub(super) fn is_sure(&self, lead: Lead, sequence: u64) -> bool {
        if sequence > self.sequence() {
            return false;
        }
        let at = self.entries.partition_point(|sure| sure.last < sequence);
        sequence <= lead.from
            || self.entries.get(at).is_some_and(|sure| sure.entry.term.0 == lead.term)
    }

    /// A node calls entries up to here committed. Nobody has called others so.
    pub(super) fn commits(&mut self, replica: &Replica, from: u64, to: u64) -> Checked {
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

    fn add(&mut self, entry: Entry) -> Checked {
        let before = self.sequence();
        let last = match &entry.kind {
            Kind::Frame(descriptor) if descriptor.first == before + 1 => descriptor.last,
            Kind::Frame(descriptor) => {
                return Err(format!("behind {before} comes {descriptor:?}"));
            }
            Kind::Empty | Kind::Switched | Kind::Members(_) => {
                let same = self.newest();
                self.worlds.insert(before + 1, same);
                before + 1
            }
        };
        let term = entry.term.0;
        if matches!(entry.kind, Kind::Frame(_)) {
            let made = self.made.extract_if((term, before + 1)..=(term, last), |_, _| true);
            let made: Vec<_> = made.map(|((_, sequence), world)| (sequence, world)).collect();
            if made.last().is_none_or(|(sequence, _)| *sequence != last) {
                return Err(format!("{entry:?} is committed, and nobody has executed it"));
            }
            self.worlds.extend(made);
        }
        self.entries.push(Sure { entry, last });
        Ok(())
    }
}
