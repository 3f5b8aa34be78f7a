//! Periods of UTC by walking through the calendar, a month at a time.

use scurry_ledger::Period;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// The start of the period that contains `now`; 0 for a counter that never falls back.
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

/// Walks the months of a cycle of 400 years; all cycles are alike.
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
