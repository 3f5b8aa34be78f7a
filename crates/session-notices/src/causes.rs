//! The events that make notices, joined by account.

use scurry_service::{Event, EventField, EventId};
use std::collections::{BTreeMap, BTreeSet};

/// Events after which an account may pay more than before, a change of its status, and its creation.
pub(crate) const NAMES: [&str; 9] = [
    CREATED,
    "credited",
    "refilled",
    "refunded",
    "bucket-changed",
    "bucket-items",
    "limit-set",
    "limit-removed",
    STATUS,
];
const CREATED: &str = "created";
const STATUS: &str = "status";

/// What an account may pay more of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Units of the events.
    units: BTreeSet<Vec<u8>>,
    /// Whether an event was without a unit.
    any_unit: bool,
}

impl Cause {
    /// Reports whether the account may pay more of this unit.
    pub(crate) fn concerns(&self, unit: &[u8]) -> bool {
        self.any_unit || self.units.contains(unit)
    }
}

/// Joins events by account, so that a batch of top-ups makes one notice. Events of no commit are left out, and those of
/// a commit that creates an account: nothing was denied before its first credit.
pub(crate) fn join(events: &[Event<'_>]) -> BTreeMap<Vec<u8>, Cause> {
    let mut causes: BTreeMap<Vec<u8>, Cause> = BTreeMap::new();
    let created = events.iter().filter(|event| event.name == CREATED).filter_map(commit_of);
    let created: BTreeSet<_> = created.collect();
    for event in events {
        let Some(commit) = &event.commit else { continue };
        if commit_of(event).is_some_and(|commit| created.contains(&commit)) {
            continue;
        }
        let cause = causes.entry(commit.account.to_vec()).or_default();
        match event.field("unit") {
            Some(EventField::Bytes(unit)) => {
                cause.units.insert(unit.to_vec());
            }
            // A status concerns no unit: it makes notices by what the account is now.
            _ if event.name == STATUS => {}
            _ => cause.any_unit = true,
        }
    }
    causes
}

/// Returns the thread and the number of the commit that an event is of.
fn commit_of(event: &Event<'_>) -> Option<(u16, u64)> {
    match event.id {
        EventId::At(at) => Some((at.thread, at.sequence)),
        EventId::Crossing { .. } | EventId::Missed { .. } => None,
    }
}
