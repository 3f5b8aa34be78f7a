//! The version of an entity: a hybrid logical clock. Writes on several nodes get one order, close to real time as far
//! as the clocks agree, and the result does not depend on the order of arrival.

use scurry_ledger::Time;
use std::fmt;

/// Time of a write to an entity: milliseconds since 1970 (44 bits), a counter within the millisecond (10 bits), the
/// writing node (9 bits). With 63 bits it is a positive number on the wire. Versions order writes; of two writes with
/// equal versions the greater content wins ([`crate::EntityContent`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

const NODE_BITS: u32 = 9;
const COUNTER_BITS: u32 = 10;
const MS_SHIFT: u32 = NODE_BITS + COUNTER_BITS;
const MS_MAX: u64 = (1 << 44) - 1;
const COUNTER_MAX: u64 = (1 << COUNTER_BITS) - 1;

/// Greatest node number.
pub const NODE_MAX: u16 = (1 << NODE_BITS) - 1;

impl Version {
    /// The version of a missing entity.
    pub const ABSENT: Version = Version(0);

    /// The greatest version.
    pub const LAST: Version = Version(i64::MAX as u64);

    /// Returns the version of a number from the wire, None when it needs more than 63 bits.
    pub fn new(number: u64) -> Option<Version> {
        (number <= Version::LAST.0).then_some(Version(number))
    }

    /// Returns the number for the wire.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns milliseconds since 1970.
    pub const fn ms(self) -> u64 {
        self.0 >> MS_SHIFT
    }

    /// Returns the node that wrote.
    pub const fn node(self) -> u16 {
        (self.0 & NODE_MAX as u64) as u16
    }

    /// Returns a node's first version at a time.
    pub fn at(now: Time, node: u16) -> Version {
        Version(ms_of(now) << MS_SHIFT | u64::from(node.min(NODE_MAX)))
    }

    /// Returns a node's next version: greater than this one and not before `now`. None at the end of the range, in the
    /// year 2527.
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

    /// Reports whether it is more than `by_ms` ahead of `now`, because of a wrong clock or an invalid version.
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
        // A millisecond has 1,024 counters, so 5,000 writes use up four more.
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
