//! What a command says about the clock of periods, beside their length.

use crate::{Cycle, NamedZone, Period, Zone};

/// Time zone and begin of periods, where a command gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodClock {
    /// Minutes by which the clocks are ahead of UTC; without a zone.
    pub offset_minutes: Option<i64>,
    /// Zone of the clocks; without an offset.
    pub zone: Option<NamedZone>,
    /// Hour, weekday or day of the month at which a period begins, see [`Period::begins`]; or [`Cycle::FIRST_USE`].
    pub begin: Option<u8>,
}

impl PeriodClock {
    /// The clock of which nothing is said.
    pub const NONE: PeriodClock = PeriodClock { offset_minutes: None, zone: None, begin: None };

    /// Returns the clock with an offset from UTC.
    pub fn with_offset(minutes: i64) -> PeriodClock {
        PeriodClock { offset_minutes: Some(minutes), ..PeriodClock::NONE }
    }

    /// Returns the clock of a zone.
    pub fn with_zone(zone: NamedZone) -> PeriodClock {
        PeriodClock { zone: Some(zone), ..PeriodClock::NONE }
    }

    /// Reports whether anything is said.
    pub fn is_given(&self) -> bool {
        *self != PeriodClock::NONE
    }

    /// Returns the cycle of this clock, with a period and the zone of a cycle before, unless another is given. The begin
    /// of the cycle before is kept with its period.
    pub(crate) fn cycle(&self, period: Period, before: Cycle) -> Cycle {
        if period == Period::None {
            return Cycle::NONE;
        }
        let usual = match before.period == period {
            true => before.begin,
            false => period.begins().0,
        };
        // Offsets out of range were refused before.
        let offset = |minutes| Zone::Fixed(i16::try_from(minutes).unwrap_or(0));
        let zone = self.zone.map(Zone::Named).or(self.offset_minutes.map(offset));
        let begin = self.begin.unwrap_or(usual);
        // Periods that begin with a use have no zone.
        let before = if self.begin == Some(Cycle::FIRST_USE) { Zone::UTC } else { before.zone };
        Cycle { period, zone: zone.unwrap_or(before), begin }
    }
}
