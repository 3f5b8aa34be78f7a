//! Periods, computed by walking through the calendar month by month.

use scurry_ledger::Period;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// Returns the start of the period that contains `now`; 0 for a counter that never resets.
pub(super) fn period_start(period: Period, now: i64) -> i64 {
    match period {
        Period::None => 0,
        Period::Hour => now.div_euclid(HOUR) * HOUR,
        Period::Day => now.div_euclid(DAY) * DAY,
        Period::Week => {
            // 5 January 1970 was a Monday.
            let monday = 4 * DAY;
            monday + (now - monday).div_euclid(7 * DAY) * 7 * DAY
        }
        Period::Month => month_start(now),
    }
}

/// Periods on clocks with an offset from UTC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone {
    pub(crate) period: Period,
    pub(crate) minutes: i16,
}

impl Zone {
    fn ahead(self) -> i64 {
        i64::from(self.minutes) * 60_000
    }

    /// Returns the first start of a period after `time`.
    pub(crate) fn next_start(self, time: i64) -> i64 {
        let shown = time.saturating_add(self.ahead()).min(i64::MAX / 2);
        let start = period_start(self.period, shown);
        let next = match self.period {
            Period::None => i64::MAX / 2,
            Period::Hour => start + HOUR,
            Period::Day => start + DAY,
            Period::Week => start + 7 * DAY,
            Period::Month => period_start(Period::Month, start + 32 * DAY),
        };
        next - self.ahead()
    }

    /// Returns a number that grows by one with each start of a period.
    pub(crate) fn number(self, time: i64) -> i64 {
        let shown = time.saturating_add(self.ahead()).max(i64::MIN / 2);
        match self.period {
            Period::None => 0,
            Period::Hour => shown.div_euclid(HOUR),
            Period::Day => shown.div_euclid(DAY),
            Period::Week => (shown - 4 * DAY).div_euclid(7 * DAY),
            Period::Month => {
                let cycle = 146_097 * DAY;
                let in_cycle = shown.rem_euclid(cycle);
                let (mut year, mut month, mut start, mut count) = (1970, 1, 0, 0);
                while start + days_of(year, month) * DAY <= in_cycle {
                    start += days_of(year, month) * DAY;
                    (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                    count += 1;
                }
                shown.div_euclid(cycle) * 4_800 + count
            }
        }
    }
}

/// Returns the time from which an allowance is refilled in the zone `new`, if it was refilled up to `since` in `old`:
/// the start of the period that has the same number there.
pub(super) fn same_period(old: Zone, new: Zone, since: i64) -> i64 {
    // Hours are counted by a clock that is less than an hour ahead of UTC.
    let counted = |zone: Zone| match zone.period {
        Period::Hour => Zone { minutes: zone.minutes.rem_euclid(60), ..zone },
        _ => zone,
    };
    let number = counted(old).number(since);
    let mut start = since - 40 * DAY;
    while counted(new).number(start) < number {
        start = new.next_start(start);
    }
    start
}

/// Walks the months of a cycle of 400 years; all cycles are equal.
fn month_start(now: i64) -> i64 {
    let cycle = 146_097 * DAY;
    let base = now - now.rem_euclid(cycle);
    base + month_start_in_cycle(now - base)
}

fn month_start_in_cycle(now: i64) -> i64 {
    let (mut year, mut month, mut start) = (1970, 1, 0);
    while start + days_of(year, month) * DAY <= now {
        start += days_of(year, month) * DAY;
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
    start
}

fn days_of(year: i64, month: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
