//! The expected content of a shard: three accounts with their models, and a naive map of the other keys.

use scurry_engine::Config;
use scurry_ledger::Limits;
use scurry_model::{Keys, Pair};
use std::collections::BTreeSet;

/// Ids of the accounts.
pub(crate) const ACCOUNTS: [&[u8]; 3] = [b"anna", b"bert", b"carl"];

/// The other keys, for values and entities.
pub(crate) const KEYS: [&[u8]; 8] = [b"a", b"b", b"c", b"d", b"e", b"", b"key:with:a:name", b"h"];

/// The result of a check, with a description of the fault.
pub(crate) type CheckResult = Result<(), String>;

/// The expected state after a sequence of records.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) pairs: [Pair; 3],
    pub(crate) keys: Keys,
    /// Accounts under the other keys that are closed.
    pub(crate) closed: BTreeSet<Vec<u8>>,
    /// The time of the last record, milliseconds.
    pub(crate) at: i64,
}

impl World {
    pub(crate) fn new(limits: &Limits, config: &Config) -> World {
        let pair = || Pair { thorough: false, ..Pair::new(limits.clone()) };
        let keys =
            Keys::new(config.node.into(), config.entity_tombstone_ms, config.version_ahead_ms_max);
        World { pairs: [pair(), pair(), pair()], keys, closed: BTreeSet::new(), at: 0 }
    }

    /// Removes everything but the greatest version of an entity.
    pub(crate) fn clear(&mut self) {
        for pair in &mut self.pairs {
            *pair = Pair { thorough: false, ..Pair::new(pair.limits.clone()) };
        }
        self.keys.held.clear();
        self.closed.clear();
    }
}
