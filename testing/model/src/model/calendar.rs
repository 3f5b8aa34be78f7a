//! Periods, found by walking through the calendar day by day, and through the hours of a zone by quarters.

use chrono::{DateTime, Datelike, Days, Duration, MappedLocalTime, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;
use scurry_ledger::{NamedZone, Period, PeriodClock};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// What the clocks of a zone show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Minutes ahead of UTC.
    Ahead(i64),
    /// A zone with its rules.
    Of(Tz),
}

impl Clock {
    /// Returns the clock of a zone of the ledger, by its name.
    pub(crate) fn named(zone: NamedZone) -> Clock {
        Clock::Of(zone.name().parse().expect("both know the same zones"))
    }

    /// Returns the clock that a command names.
    pub(crate) fn given(of: &PeriodClock) -> Option<Clock> {
        of.zone.map(Clock::named).or(of.offset_minutes.map(Clock::Ahead))
    }

    fn ahead(self, time: i64) -> i64 {
        match self {
            Clock::Ahead(minutes) => minutes * MINUTE,
            Clock::Of(zone) => {
                let at = DateTime::from_timestamp_millis(time).expect("a time").naive_utc();
                i64::from(zone.offset_from_utc_datetime(&at).fix().local_minus_utc()) * 1_000
            }
        }
    }

    /// Returns the first moment whose local time is not before this hour of a day.
    fn first_moment(self, day: NaiveDate, hour: i64) -> i64 {
        let mut local = day.and_hms_opt(0, 0, 0).expect("a midnight") + Duration::hours(hour);
        match self {
            Clock::Ahead(minutes) => local.and_utc().timestamp_millis() - minutes * MINUTE,
            Clock::Of(zone) => loop {
                match zone.from_local_datetime(&local) {
                    MappedLocalTime::Single(time) | MappedLocalTime::Ambiguous(time, _) => {
                        return time.timestamp_millis();
                    }
                    // The clocks skip this second.
                    MappedLocalTime::None => local += Duration::seconds(1),
                }
            },
        }
    }
}

/// Periods on the clocks of a zone, with their begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) period: Period,
    pub(crate) clock: Clock,
    /// Hour, weekday or day of the month.
    pub(crate) begin: i64,
}

/// Greatest begin of a period.
pub(crate) fn last_begin(period: Period) -> i64 {
    match period {
        Period::Day => 23,
        Period::Week => 7,
        Period::Month | Period::Quarter | Period::Year => 31,
        _ => 0,
    }
}

/// Begin of a period where none is given.
pub(crate) fn first_begin(period: Period) -> i64 {
    i64::from(last_begin(period) == 7 || last_begin(period) == 31)
}

impl Zone {
    pub(crate) const NONE: Zone = Zone { period: Period::None, clock: Clock::Ahead(0), begin: 0 };

    /// Returns the zone of a command, and what is known already where the command says nothing.
    pub(crate) fn given(period: Period, of: &PeriodClock, known: Option<Zone>) -> Zone {
        if period == Period::None {
            return Zone::NONE;
        }
        let with_use = of.begin == Some(255);
        let before = known.map(|known| known.clock).filter(|_| !with_use);
        let clock = Clock::given(of).or(before);
        let begin = match known.filter(|known| known.period == period) {
            Some(known) => known.begin,
            None => first_begin(period),
        };
        let begin = of.begin.map_or(begin, i64::from);
        Zone { period, clock: clock.unwrap_or(Clock::Ahead(0)), begin }
    }

    /// Reports whether the period may begin there.
    pub(crate) fn is_fine(self) -> bool {
        if self.begin == 255 {
            return self.length_from_use().is_some() && self.clock == Clock::Ahead(0);
        }
        (first_begin(self.period)..=last_begin(self.period)).contains(&self.begin)
    }

    /// Returns the length of periods that begin with their first use; None if the calendar begins them.
    pub(crate) fn length_from_use(self) -> Option<i64> {
        if self.begin != 255 {
            return None;
        }
        match self.period {
            Period::Day => Some(DAY),
            Period::Week => Some(7 * DAY),
            Period::Days(count) => Some(i64::from(count) * DAY),
            _ => self.absolute(),
        }
    }

    /// Returns whether a period in which something was written is over. One that begins with its first use was
    /// written when it began.
    pub(crate) fn is_over(self, written_at: i64, now: i64) -> bool {
        match self.length_from_use() {
            Some(length) => written_at.saturating_add(length) <= now,
            None => self.number(written_at) < self.number(now),
        }
    }

    /// Returns what everyone sees of it.
    pub(crate) fn shown(self) -> String {
        let clock = match self.clock {
            Clock::Ahead(minutes) => minutes.to_string(),
            Clock::Of(zone) => zone.name().to_string(),
        };
        format!("{} {clock} {}", self.period, self.begin)
    }

    /// Reports whether a period begins on a day.
    fn begins_on(self, day: NaiveDate) -> bool {
        // The day itself, or the last of a month that does not have it.
        let on_its_day = || {
            let number = i64::from(day.day());
            let is_last = || day.succ_opt().is_some_and(|next| next.day() == 1);
            number == self.begin || (number < self.begin && is_last())
        };
        match self.period {
            Period::Day => true,
            Period::Days(count) => days(day) % i64::from(count) == 0,
            Period::Week => i64::from(day.weekday().number_from_monday()) == self.begin,
            Period::Month => on_its_day(),
            Period::Quarter => [1, 4, 7, 10].contains(&day.month()) && on_its_day(),
            Period::Year => day.month() == 1 && on_its_day(),
            _ => false,
        }
    }

    fn hour(self) -> i64 {
        if self.period == Period::Day { self.begin } else { 0 }
    }

    /// Returns the length of periods that are absolute time.
    fn absolute(self) -> Option<i64> {
        match self.period {
            Period::Minute => Some(MINUTE),
            Period::Hour => Some(HOUR),
            Period::Minutes(count) => Some(i64::from(count) * MINUTE),
            Period::Hours(count) => Some(i64::from(count) * HOUR),
            _ => None,
        }
    }

    /// Returns by how much the clock of minutes and hours is ahead of UTC.
    fn part_ahead(self, time: i64) -> i64 {
        match self.period {
            Period::Minute => self.clock.ahead(time).rem_euclid(MINUTE),
            Period::Hour => self.clock.ahead(time).rem_euclid(HOUR),
            _ => 0,
        }
    }

    fn absolute_number(self, length: i64, time: i64) -> i64 {
        let at = |time: i64| (time + self.part_ahead(time)).div_euclid(length);
        match (self.period, self.clock) {
            // Half an hour that is there twice belongs to the hour that has begun.
            (Period::Hour, Clock::Of(_)) => {
                (0..7).map(|tens| at(time - tens * 10 * MINUTE)).max().expect("some")
            }
            _ => at(time),
        }
    }

    /// Returns the first start of a period after `time`.
    pub(crate) fn next_start(self, time: i64) -> i64 {
        if self.period == Period::None {
            return i64::MAX / 2;
        }
        let time = time.clamp(-400 * DAY, NEVER);
        if let Some(length) = self.absolute() {
            let number = self.absolute_number(length, time);
            let mut start = (number + 1) * length - self.part_ahead(time);
            if let (Period::Hour, Clock::Of(_)) = (self.period, self.clock) {
                // Clocks are ahead of UTC by quarters of an hour.
                start = time.div_euclid(HOUR / 4) * HOUR / 4;
                while self.absolute_number(length, start) <= number {
                    start += HOUR / 4;
                }
            }
            return start;
        }
        let mut day = self.date(time) - Days::new(2);
        loop {
            if self.begins_on(day) {
                let start = self.clock.first_moment(day, self.hour());
                if start > time {
                    return start;
                }
            }
            day = day.succ_opt().expect("a next day");
        }
    }

    /// Returns a number that grows by one with each start of a period.
    pub(crate) fn number(self, time: i64) -> i64 {
        if self.period == Period::None {
            return 0;
        }
        let time = time.clamp(-400 * DAY, NEVER);
        if let Some(length) = self.absolute() {
            return self.absolute_number(length, time);
        }
        let mut day = self.date(time) + Days::new(2);
        while !self.begins_on(day) || self.clock.first_moment(day, self.hour()) > time {
            day = day.pred_opt().expect("a day before");
        }
        let month = i64::from(day.year()) * 12 + i64::from(day.month0());
        match self.period {
            Period::Month => month,
            Period::Quarter => month / 3,
            Period::Year => month / 12,
            // 1 January 1970 was a Thursday, so that the week from this weekday began in it or before.
            Period::Week => days(day).div_euclid(7),
            Period::Days(count) => days(day) / i64::from(count),
            _ => days(day),
        }
    }

    /// Returns the date that the clocks show.
    fn date(self, time: i64) -> NaiveDate {
        let local = time + self.clock.ahead(time);
        DateTime::from_timestamp_millis(local).expect("a time").date_naive()
    }
}

/// When a period was written that begins with its first use and has not begun.
pub(crate) const NOT_BEGUN: i64 = i64::MIN;

/// A time that no clock reaches.
const NEVER: i64 = 150_000_000_000_000;

fn days(day: NaiveDate) -> i64 {
    day.signed_duration_since(NaiveDate::default()).num_days()
}

/// Returns the time from which an allowance is refilled in the zone `new`, if it was refilled up to `since` in `old`:
/// the start of the period that has the same number there.
pub(super) fn same_period(old: Zone, new: Zone, since: i64) -> i64 {
    let number = old.number(since);
    let mut start = since - 3 * DAY;
    while new.number(start) < number {
        start = new.next_start(start);
    }
    start
}
