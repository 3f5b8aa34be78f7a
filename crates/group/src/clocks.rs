//! The clocks of the other nodes. The time of the ledger on the leader is clamped to them
//! (docs/adr/0038-time-of-a-group.md): one clock that was set forward by a year would end every hold and refill every
//! allowance, and time in the log never goes back.
//!
//! A clock is kept as the time that it showed when this node's uptime was 0, which stays the same until the clock is
//! set.

use crate::clock::{Clock, Reading};
use scurry_consensus::replica::NodeId;
use scurry_ledger::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Greatest distance of the group's time from the middle one of its nodes' clocks, ms.
pub const APART_MS_MAX: i64 = 1_000;
/// Readings that are kept of each node. The latest time among them counts, since that message was in transit for the
/// shortest time.
const CLOCK_READINGS_MAX: usize = 8;
/// Interval between two readings that are sent to a node, ms.
const WORD_EVERY_MS: i64 = 1_000;
/// A clock that differs by this much from the last reading was set, ms.
const SET_MS_MIN: i64 = 500;

/// When to send this node's clock to one other node.
#[derive(Debug, Default)]
pub(super) struct ClockSchedule {
    /// The last reading that was sent, as the clock's time at uptime 0, and the uptime then, ms. None before the first.
    told: Option<(i64, i64)>,
}

impl ClockSchedule {
    /// Returns how many times to send a reading now. At the start, and after the clock was set, it is sent
    /// [`WORDS_MAX`] times, to replace all earlier readings that the other node keeps. Otherwise an earlier reading of
    /// a clock that was ahead would count for as many seconds.
    pub(super) fn due(&mut self, own: Reading) -> usize {
        let is_set = |told: i64| (told - begun(own)).abs() >= SET_MS_MIN;
        let words = match self.told {
            Some((told, _)) if is_set(told) => CLOCK_READINGS_MAX,
            Some((_, at_ms)) => usize::from(own.uptime_ms - at_ms >= WORD_EVERY_MS),
            None => CLOCK_READINGS_MAX,
        };
        if words > 0 {
            self.told = Some((begun(own), own.uptime_ms));
        }
        words
    }
}

/// The last readings of the other nodes' clocks.
#[derive(Debug)]
pub(crate) struct Clocks {
    clock: Clock,
    told: Mutex<BTreeMap<NodeId, VecDeque<i64>>>,
    /// The two clocks of others between which this node's would be the middle one, ms at uptime 0; `i64::MIN` or
    /// `i64::MAX` if there is no such clock.
    low: AtomicI64,
    high: AtomicI64,
}

impl Clocks {
    /// Creates it without readings. Times that are passed to [`Clocks::time`] must be read from `clock` or a copy of
    /// it.
    pub(crate) fn new(clock: Clock) -> Clocks {
        let (low, high) = (AtomicI64::new(i64::MIN), AtomicI64::new(i64::MAX));
        Clocks { clock, told: Mutex::default(), low, high }
    }

    /// Returns this node's wall clock.
    pub(super) fn own(&self) -> Reading {
        self.clock.wall()
    }

    /// Notes a reading of a node's wall clock.
    pub(super) fn note(&self, node: NodeId, time: Time) {
        let begun = time.plus_ms(-self.own().uptime_ms).0;
        let mut told = self.told();
        let words = told.entry(node).or_default();
        words.push_back(begun);
        if words.len() > CLOCK_READINGS_MAX {
            words.pop_front();
        }
        self.look(&told);
    }

    /// Forgets the readings of nodes that are no longer members.
    pub(super) fn keep_only(&self, members: &BTreeSet<NodeId>) {
        let mut told = self.told();
        told.retain(|node, _| members.contains(node));
        self.look(&told);
    }

    /// Returns the time of the group, for the present reading of the leader's clock: that reading, clamped.
    #[inline]
    pub(crate) fn time(&self, own: Reading) -> Time {
        let (low, high) = self.between();
        let low = low.saturating_sub(APART_MS_MAX);
        let high = high.saturating_add(APART_MS_MAX);
        Time(begun(own).clamp(low, high)).plus_ms(own.uptime_ms)
    }

    /// Returns by how much this node's wall clock is ahead of the middle one, ms. 0 if it is the middle one itself.
    pub(super) fn off_ms(&self) -> i64 {
        let (low, high) = self.between();
        let own = begun(self.own());
        own - own.clamp(low, high)
    }

    fn between(&self) -> (i64, i64) {
        let low = self.low.load(Ordering::Relaxed);
        // Another thread may have stored a new `low` after `high` was computed. `clamp` needs `low <= high`.
        (low, self.high.load(Ordering::Relaxed).max(low))
    }

    fn told(&self) -> MutexGuard<'_, BTreeMap<NodeId, VecDeque<i64>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, told: &BTreeMap<NodeId, VecDeque<i64>>) {
        let clocks = told.values().filter_map(|words| words.iter().max().copied());
        let (low, high) = middle(clocks.collect());
        self.low.store(low, Ordering::Relaxed);
        self.high.store(high, Ordering::Relaxed);
    }
}

fn begun(own: Reading) -> i64 {
    own.time.plus_ms(-own.uptime_ms).0
}

/// Returns the two clocks of the others between which one more clock would be the middle one. Of an even number of
/// clocks in all, the earlier of the two in the middle counts: a hold that ends late does less harm than one that ends
/// early.
fn middle(mut others: Vec<i64>) -> (i64, i64) {
    others.sort_unstable();
    let at = others.len() / 2;
    let low = at.checked_sub(1).and_then(|at| others.get(at));
    (low.copied().unwrap_or(i64::MIN), others.get(at).copied().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;
    const YEAR_MS: i64 = 365 * 24 * HOUR_MS;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    /// Returns the clocks of other nodes that differ from this node's by these amounts.
    fn told(by_ms: &[i64]) -> Clocks {
        let clocks = Clocks::new(Clock::start(Time(0)));
        let now = clocks.own().time;
        for (number, ms) in (2..).zip(by_ms) {
            clocks.note(node(number), now.plus_ms(*ms));
        }
        clocks
    }

    /// Returns by how much the time of the group is ahead of this node's clock, after that was set by `set_ms`.
    fn held(clocks: &Clocks, set_ms: i64) -> i64 {
        let own = clocks.own();
        let set = Reading { time: own.time.plus_ms(set_ms), ..own };
        clocks.time(set).0 - own.time.0
    }

    /// Asserts that two amounts are equal, apart from the time that the test itself takes.
    #[track_caller]
    fn is_about(ms: i64, expected: i64) {
        assert!((ms - expected).abs() < HOUR_MS / 2, "{ms} and not about {expected}");
    }

    #[test]
    fn a_clock_that_is_wrong_alone_is_held_to_the_others() {
        let clocks = told(&[0, 0]);
        for wrong in [-YEAR_MS, -HOUR_MS, HOUR_MS, YEAR_MS] {
            is_about(held(&clocks, wrong), 0);
        }
        assert_eq!(held(&clocks, 0), 0, "one that is right is left alone");
        assert_eq!(held(&clocks, 500), 500, "also where it is not quite right");
        is_about(clocks.off_ms(), 0);
    }

    #[test]
    fn another_node_with_a_wrong_clock_changes_nothing() {
        for wrong in [-YEAR_MS, YEAR_MS] {
            let clocks = told(&[0, wrong]);
            assert_eq!(held(&clocks, 0), 0);
            is_about(held(&clocks, YEAR_MS), if wrong > 0 { YEAR_MS } else { 0 });
        }
        // The earlier of two clocks counts, since no third one shows which is right.
        let clocks = told(&[-YEAR_MS]);
        is_about(held(&clocks, 0), -YEAR_MS);
        is_about(clocks.off_ms(), YEAR_MS);
        assert_eq!(held(&told(&[YEAR_MS]), 0), 0);
        assert_eq!(held(&told(&[]), YEAR_MS), YEAR_MS, "nobody says anything else");
    }

    #[test]
    fn a_word_that_was_long_under_way_sets_nothing_back_and_a_clock_that_was_set_counts() {
        let clocks = told(&[0, 0]);
        let late = |clocks: &Clocks, count| {
            for number in [2, 3] {
                for _ in 0..count {
                    clocks.note(node(number), clocks.own().time.plus_ms(-HOUR_MS));
                }
            }
        };
        late(&clocks, CLOCK_READINGS_MAX - 1);
        assert_eq!(held(&clocks, 0), 0);
        late(&clocks, 1);
        is_about(held(&clocks, 0), -HOUR_MS);
    }

    #[test]
    fn a_clock_that_was_put_right_counts_as_that_with_the_next_telling() {
        let (clocks, mut telling) = (told(&[0]), ClockSchedule::default());
        let reading = |set_ms, uptime_ms| Reading {
            time: Time(1_000_000_000).plus_ms(set_ms + uptime_ms),
            uptime_ms,
        };
        assert_eq!(
            telling.due(reading(0, 0)),
            CLOCK_READINGS_MAX,
            "it may have been set while nobody was told"
        );
        assert_eq!(telling.due(reading(0, 999)), 0);
        assert_eq!(
            telling.due(reading(400, 1_000)),
            1,
            "slewed, or told by a thread that had to wait"
        );
        assert_eq!(telling.due(reading(HOUR_MS, 1_500)), CLOCK_READINGS_MAX);
        assert_eq!(telling.due(reading(HOUR_MS, 1_600)), 0);
        let again = telling.due(reading(0, 1_700));
        // Node 3 has a wrong clock, corrects it and sends it again. Then this node alone has a wrong one.
        let now = clocks.own().time;
        clocks.note(node(3), now.plus_ms(YEAR_MS));
        is_about(held(&clocks, YEAR_MS), YEAR_MS);
        (0..again).for_each(|_| clocks.note(node(3), now));
        is_about(held(&clocks, YEAR_MS), 0);
    }

    #[test]
    fn whoever_is_no_member_has_no_say() {
        let clocks = told(&[-YEAR_MS, -YEAR_MS]);
        is_about(held(&clocks, 0), -YEAR_MS);
        clocks.keep_only(&BTreeSet::new());
        assert_eq!(held(&clocks, 0), 0);
    }

    #[test]
    fn the_middle_of_any_number_is_between_these() {
        let none = (i64::MIN, i64::MAX);
        for (others, expected) in [
            (vec![], none),
            (vec![5], (none.0, 5)),
            (vec![7, 5], (5, 7)),
            (vec![9, 5, 7], (5, 7)),
            (vec![9, 5, 7, 1], (5, 7)),
        ] {
            assert_eq!(middle(others), expected);
        }
    }
}
