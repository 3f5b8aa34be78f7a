//! When to look at which account again. One timer per account at most: it may fire too early
//! (then it is armed again), never too late, so an UPDATE that moves a deadline back costs
//! nothing here.

use crate::entry::UNARMED;
use scurry_ledger::Time;
use std::collections::BTreeMap;

/// Milliseconds of one tick: accounts that are due within it share a list.
const TICK_MS: i64 = 16;

/// Hashes of account ids by the tick at which to look at them.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    ticks: BTreeMap<u64, Vec<u64>>,
    len: u64,
}

impl Timers {
    /// The tick that a time falls into. Ticks are counted from 1970 and reach 140,000 years; a
    /// later time is looked at then.
    pub(crate) fn tick_of(time: Time) -> u64 {
        u64::try_from(time.0 / TICK_MS).unwrap_or(0).min(UNARMED - 1)
    }

    pub(crate) fn arm(&mut self, tick: u64, hash: u64) {
        self.ticks.entry(tick).or_default().push(hash);
        self.len += 1;
    }

    /// The first tick that has timers, no later than `last`.
    pub(crate) fn pop(&mut self, last: u64) -> Option<(u64, Vec<u64>)> {
        let first = self.ticks.first_entry()?;
        if *first.key() > last {
            return None;
        }
        let (tick, hashes) = first.remove_entry();
        self.len -= hashes.len() as u64;
        Some((tick, hashes))
    }

    /// The start of the first tick that has timers.
    pub(crate) fn next(&self) -> Option<Time> {
        let (tick, _) = self.ticks.first_key_value()?;
        Some(Time(i64::try_from(*tick).unwrap_or(i64::MAX).saturating_mul(TICK_MS)))
    }

    pub(crate) fn clear(&mut self) {
        self.ticks.clear();
        self.len = 0;
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.len * 8 + self.ticks.len() as u64 * 48
    }
}
