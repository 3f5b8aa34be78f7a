//! The version of an entity: a hybrid logical clock, so that writes on several nodes have one
//! order that follows real time where clocks allow, and any order of arrival ends the same.

use scurry_ledger::Time;
use std::fmt;

/// When an entity was written: milliseconds since 1970 (44 bits), a counter within the
/// millisecond (10 bits), the node that wrote (9 bits). 63 bits, so it is a positive number on
/// the wire. The order of versions is the order of writes; of two writes with the same one their
/// content decides ([`crate::EntityContent`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

const NODE_BITS: u32 = 9;
const COUNTER_BITS: u32 = 10;
const MS_SHIFT: u32 = NODE_BITS + COUNTER_BITS;
const MS_MAX: u64 = (1 << 44) - 1;
const COUNTER_MAX: u64 = (1 << COUNTER_BITS) - 1;

/// Greatest number of a node.
pub const NODE_MAX: u16 = (1 << NODE_BITS) - 1;

impl Version {
    /// No version: what stands where no entity is.
    pub const ABSENT: Version = Version(0);

    /// The greatest version.
    pub const LAST: Version = Version(i64::MAX as u64);

    /// A version as it stands on the wire; none when it needs more than 63 bits.
    pub fn new(number: u64) -> Option<Version> {
        (number <= Version::LAST.0).then_some(Version(number))
    }

    /// The number on the wire.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Milliseconds since 1970.
    pub const fn ms(self) -> u64 {
        self.0 >> MS_SHIFT
    }

    /// The node that wrote.
    pub const fn node(self) -> u16 {
        (self.0 & NODE_MAX as u64) as u16
    }

    /// A node's first version at a time.
    pub fn at(now: Time, node: u16) -> Version {
        Version(ms_of(now) << MS_SHIFT | u64::from(node.min(NODE_MAX)))
    }

    /// A node's version that is greater than `last` and not before `now`. None at the end of
    /// the range, in the year 2527.
    pub fn next(self, now: Time, node: u16) -> Option<Version> {
        let first = Version::at(now, node);
        if first.ms() > self.ms() {
            return Some(first);
        }
        let counter = self.0 >> NODE_BITS & COUNTER_MAX;
        let (ms, counter) =
            if counter < COUNTER_MAX { (self.ms(), counter + 1) } else { (self.ms() + 1, 0) };
        let number = ms << MS_SHIFT | counter << NODE_BITS | u64::from(node.min(NODE_MAX));
        (ms <= MS_MAX).then_some(Version(number))
    }

    /// True when it lies more than this ahead of `now`: a clock that runs wrong, or not a version.
    pub fn is_ahead(self, now: Time, by_ms: i64) -> bool {
        self.ms() > ms_of(now).saturating_add(u64::try_from(by_ms).unwrap_or(0))
    }
}

fn ms_of(now: Time) -> u64 {
    u64::try_from(now.0).unwrap_or(0).min(MS_MAX)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_version_is_greater_and_not_before_now() {
        let now = Time(1_700_000_000_000);
        let mut last = Version::ABSENT;
        for step in 0..5_000 {
            let next = last.next(now, 7).expect("room");
            assert!(next > last && next.ms() >= 1_700_000_000_000, "step {step}");
            assert_eq!(next.node(), 7);
            last = next;
        }
        // 1,024 counters to a millisecond: 5,000 writes borrow four milliseconds.
        assert_eq!(last.ms(), 1_700_000_000_004);
        assert_eq!(last.next(Time(0), 3).map(Version::ms), Some(1_700_000_000_004));
        assert_eq!(Version::LAST.next(now, 0), None);
    }

    #[test]
    fn a_greater_node_does_not_hide_a_later_write() {
        let now = Time(1_000);
        let theirs = Version::at(now, NODE_MAX);
        let ours = theirs.next(now, 0).expect("room");
        assert!(ours > theirs, "{ours:?} {theirs:?}");
    }

    #[test]
    fn a_version_on_the_wire_has_63_bits() {
        assert_eq!(Version::new(1 << 63), None);
        assert_eq!(Version::new(i64::MAX as u64), Some(Version::LAST));
        let version = Version::at(Time(i64::MAX), NODE_MAX);
        assert!(version <= Version::LAST);
    }

    #[test]
    fn a_version_is_ahead_by_more_than_the_bound_only() {
        let version = Version::at(Time(11_000), 0);
        assert!(!version.is_ahead(Time(10_000), 1_000));
        assert!(version.is_ahead(Time(10_000), 999));
    }
}
