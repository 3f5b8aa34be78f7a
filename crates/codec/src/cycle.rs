//! Bytes of a cycle that is not of the first version: its period has another length, its zone a name, or its begin was
//! given. The same in a Change and in an image:
//!
//! | bytes | field |
//! |---|---|
//! | u8 | number of the period |
//! | u8 | begin |
//! | u16 | count of minutes, hours or days, 0 of a period with a name |
//! | i16 or text | minutes of a fixed zone, after a byte 0; else the name of the zone |
//!
//! A zone has its name here and never a number: the tables of other builds have other numbers.

use crate::Malformed;
use scurry_ledger::{Cycle, NamedZone, Period, ZONE_NAME_LEN_MAX, Zone};

/// Number in place of a period, which says that these bytes follow.
pub(crate) const EXTENDED: u8 = 7;

/// Greatest length of the bytes.
pub(crate) const CYCLE_LEN_MAX: usize = 4 + ZONE_NAME_LEN_MAX;

/// Returns the number of a period of the first version: of a cycle that needs no more beside it than an offset.
pub(crate) fn plain_number(cycle: Cycle) -> Option<u8> {
    let number = cycle.period.number();
    let is_plain = number <= Period::Month.number()
        && cycle.zone.named().is_none()
        && cycle.given_begin().is_none();
    is_plain.then_some(number)
}

/// Returns the number of a counter's period of the first version, which is in UTC.
pub(crate) fn plain_counter_number(cycle: Cycle) -> Option<u8> {
    plain_number(cycle).filter(|_| cycle.zone == Zone::UTC)
}

/// Returns the period of the first version with this number.
pub(crate) fn plain_period(number: u8) -> Option<Period> {
    Period::from_number(number, 0).filter(|_| number <= Period::Month.number())
}

/// The bytes of a cycle.
pub(crate) struct CycleBytes {
    bytes: [u8; CYCLE_LEN_MAX],
    len: usize,
}

impl CycleBytes {
    pub(crate) fn new(cycle: Cycle) -> CycleBytes {
        let mut bytes = [0; CYCLE_LEN_MAX];
        (bytes[0], bytes[1]) = (cycle.period.number(), cycle.begin);
        bytes[2..4].copy_from_slice(&cycle.period.count().to_le_bytes());
        let len = match cycle.zone {
            Zone::Fixed(minutes) => {
                // The byte 0 is no letter of a name.
                bytes[5..7].copy_from_slice(&minutes.to_le_bytes());
                7
            }
            Zone::Named(zone) => {
                let name = zone.name().as_bytes();
                bytes[4..4 + name.len()].copy_from_slice(name);
                4 + name.len()
            }
        };
        CycleBytes { bytes, len }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads the bytes of a cycle. Each cycle has one form, so one that has a number by `plain` is refused.
pub(crate) fn take_cycle(bytes: &[u8], plain: fn(Cycle) -> Option<u8>) -> Result<Cycle, Malformed> {
    let (Some((&[number, begin, low, high], zone)), true) =
        (bytes.split_first_chunk::<4>(), bytes.len() <= CYCLE_LEN_MAX)
    else {
        return Err(Malformed::Choice);
    };
    let period = Period::from_number(number, u16::from_le_bytes([low, high]));
    let period = period.filter(|&period| period != Period::None).ok_or(Malformed::Choice)?;
    let zone = match *zone {
        [0, low, high] => Zone::Fixed(i16::from_le_bytes([low, high])),
        [] | [0, ..] => return Err(Malformed::Choice),
        _ => Zone::Named(NamedZone::new(zone).ok_or(Malformed::Zone)?),
    };
    let cycle = Cycle { period, zone, begin };
    let is_one = cycle.is_valid() && plain(cycle).is_none();
    if is_one { Ok(cycle) } else { Err(Malformed::Choice) }
}
