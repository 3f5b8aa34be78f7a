//! EX, PX, EXAT and PXAT: converts the client's number to a time in milliseconds.

use super::PlainFault;
use crate::parse_integer;
use crate::table::Spec;
use scurry_ledger::Time;

/// Units of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineUnit {
    /// EX: seconds from now.
    Seconds,
    /// PX: milliseconds from now.
    Milliseconds,
    /// EXAT: seconds since 1970.
    SecondsAt,
    /// PXAT: milliseconds since 1970.
    MillisecondsAt,
}

impl DeadlineUnit {
    /// Returns the unit of this option, in any case.
    pub fn of_option(option: &[u8]) -> Option<DeadlineUnit> {
        [
            (&b"EX"[..], DeadlineUnit::Seconds),
            (b"PX", DeadlineUnit::Milliseconds),
            (b"EXAT", DeadlineUnit::SecondsAt),
            (b"PXAT", DeadlineUnit::MillisecondsAt),
        ]
        .into_iter()
        .find_map(|(word, unit)| option.eq_ignore_ascii_case(word).then_some(unit))
    }

    const fn factor(self) -> i64 {
        match self {
            DeadlineUnit::Seconds | DeadlineUnit::SecondsAt => 1000,
            DeadlineUnit::Milliseconds | DeadlineUnit::MillisecondsAt => 1,
        }
    }

    const fn base(self, now: Time) -> i64 {
        match self {
            DeadlineUnit::Seconds | DeadlineUnit::Milliseconds => now.0,
            DeadlineUnit::SecondsAt | DeadlineUnit::MillisecondsAt => 0,
        }
    }

    /// Returns the time for this number of units, for a command that allows past times; `None` if it leaves 64 bits.
    pub fn at(self, number: i64, now: Time) -> Option<Time> {
        number.checked_mul(self.factor())?.checked_add(self.base(now)).map(Time)
    }
}

/// A unit with its number as the client wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline<'a> {
    /// Unit of the number.
    pub unit: DeadlineUnit,
    /// Number, not checked yet.
    pub number: &'a [u8],
}

impl Deadline<'_> {
    /// Returns the deadline as a time. This command allows positive numbers only; the time may be in the past.
    pub fn time(&self, now: Time, spec: &'static Spec) -> Result<Time, PlainFault<'static>> {
        let number = parse_integer(self.number).ok_or(PlainFault::NotAnInteger)?;
        if number <= 0 {
            return Err(PlainFault::ExpireTime(spec));
        }
        self.unit.at(number, now).ok_or(PlainFault::ExpireTime(spec))
    }
}
