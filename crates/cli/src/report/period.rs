//! The period of a report: dates and times of a time zone, as people write them.

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use scurry_ledger::{NamedZone, Time, Zone};
use std::time::{SystemTime, UNIX_EPOCH};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
/// No zone is further from UTC, and none changes its clocks twice in twice as long.
const ZONE_DISTANCE_MS: i64 = 16 * HOUR_MS;

const FORMS: &str = "write 2026-11-29, 2026-11-29T10:00, today, yesterday, -7d (the begin of that day), -12h or -30m";

/// Options of the period.
#[derive(Args, Clone, Debug)]
pub(crate) struct PeriodOptions {
    /// First moment: 2026-11-29, 2026-11-29T10:00, today, yesterday, -7d (the begin of that day), -12h, -30m [default: the oldest event]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,

    /// End of the period, which is not part of it: `--to today` ends with yesterday [default: the newest event]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,

    /// One day: `--day yesterday` is `--from yesterday --to today`
    #[arg(long, value_name = "DATE", allow_hyphen_values = true, conflicts_with_all = ["from", "to"])]
    day: Option<String>,

    /// Time zone of dates and days, a name of the IANA database such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,
}

/// A period: from its first moment to its end, which is not part of it. Times are ms since 1970 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    /// None for the oldest event.
    pub(crate) from: Option<i64>,
    /// None for the newest event.
    pub(crate) to: Option<i64>,
    /// Zone of its dates.
    pub(crate) zone: Zone,
}

impl PeriodOptions {
    /// Returns the options of a report that has a zone and no period.
    pub(crate) fn of_zone(zone: &str) -> PeriodOptions {
        PeriodOptions { from: None, to: None, day: None, zone: zone.to_owned() }
    }

    /// Returns the period, as of the clock of this machine.
    pub(crate) fn period(&self) -> Result<Period> {
        self.period_at(now_ms())
    }

    fn period_at(&self, now: i64) -> Result<Period> {
        let zone = NamedZone::new(self.zone.as_bytes()).map(Zone::Named).with_context(|| {
            format!(
                "{:?} is no time zone: give a name of the IANA database, in its spelling, such as Europe/Berlin or UTC",
                self.zone
            )
        })?;
        if let Some(day) = &self.day {
            let day = local_day(day, zone, now)?;
            let (from, to) = (day_begin(zone, day), day_begin(zone, day + 1));
            return Ok(Period { from: Some(from), to: Some(to), zone });
        }
        let moment =
            |text: &Option<String>| text.as_ref().map(|text| moment(text, zone, now)).transpose();
        let (from, to) = (moment(&self.from)?, moment(&self.to)?);
        let period = Period { from, to, zone };
        if let (Some(from), Some(to)) = (from, to) {
            ensure!(
                from < to,
                "the period ends at {} and begins at {}: give --to a later time than --from",
                period.text(to),
                period.text(from)
            );
        }
        Ok(period)
    }
}

impl Period {
    /// Reports whether a moment is in the period.
    pub(crate) fn has(&self, time: i64) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }

    /// Formats a moment in the zone of the period, as RFC 3339.
    pub(crate) fn text(&self, time: i64) -> String {
        time_text(self.zone, time)
    }

    /// Returns the date of a moment in the zone of the period.
    pub(crate) fn date(&self, time: i64) -> String {
        self.text(time).chars().take(10).collect()
    }
}

/// Formats a moment in a zone, as RFC 3339.
pub(crate) fn time_text(zone: Zone, time: i64) -> String {
    let ahead = zone.ahead_ms(time);
    let local = crate::store::time_text(Time(time.saturating_add(ahead)));
    if ahead == 0 {
        return local;
    }
    let (sign, minutes) = (if ahead < 0 { '-' } else { '+' }, ahead.abs() / MINUTE_MS);
    format!("{}{sign}{:02}:{:02}", local.trim_end_matches('Z'), minutes / 60, minutes % 60)
}

#[expect(clippy::disallowed_methods, reason = "yesterday is a question of the clock")]
fn now_ms() -> i64 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(clock.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a moment that a text names.
fn moment(text: &str, zone: Zone, now: i64) -> Result<i64> {
    if text == "now" {
        return Ok(now);
    }
    for (unit, ms) in [('h', HOUR_MS), ('m', MINUTE_MS)] {
        if let Some(count) = text.strip_prefix('-').and_then(|rest| rest.strip_suffix(unit)) {
            let count = count.parse::<u32>().with_context(|| no_time(text))?;
            return Ok(now - i64::from(count) * ms);
        }
    }
    let Some((date, time)) = text.split_once('T') else {
        return Ok(day_begin(zone, local_day(text, zone, now)?));
    };
    let (time, zone) = match time.strip_suffix('Z') {
        Some(time) => (time, Zone::UTC),
        None => (time, zone),
    };
    let words: Vec<&str> = time.split(':').collect();
    let (2..=3) = words.len() else { bail!(no_time(text)) };
    let mut of_day = 0;
    for (word, (end, ms)) in words.iter().zip([(24, HOUR_MS), (60, MINUTE_MS), (60, 1_000)]) {
        let number = (word.len() == 2).then(|| word.parse::<u8>().ok()).flatten();
        let number = number.filter(|number| *number < end).with_context(|| no_time(text))?;
        of_day += i64::from(number) * ms;
    }
    let day = day_of_date(date).with_context(|| no_time(text))?;
    Ok(utc_of(zone, day * DAY_MS + of_day))
}

/// Returns the number of a local day, from 1970-01-01.
fn local_day(text: &str, zone: Zone, now: i64) -> Result<i64> {
    let today = (now + zone.ahead_ms(now)).div_euclid(DAY_MS);
    match text {
        "today" => return Ok(today),
        "yesterday" => return Ok(today - 1),
        _ => {}
    }
    if let Some(count) = text.strip_prefix('-').and_then(|rest| rest.strip_suffix('d')) {
        let count = count.parse::<u16>().with_context(|| no_time(text))?;
        return Ok(today - i64::from(count));
    }
    day_of_date(text).with_context(|| no_time(text))
}

fn no_time(text: &str) -> String {
    format!("{text:?} is no date or time: {FORMS}")
}

/// Returns the number of a day, from 1970-01-01. None if the calendar does not have it.
fn day_of_date(text: &str) -> Option<i64> {
    // The parser of events' dates knows the calendar.
    let time = scurry_ship::time_of(&format!("{text}T00:00:00.000Z"))?;
    Some(time / DAY_MS).filter(|_| time >= 0)
}

fn day_begin(zone: Zone, day: i64) -> i64 {
    utc_of(zone, day * DAY_MS)
}

/// Returns the first moment at which the clocks of a zone show this time, or a later one if they skip it.
fn utc_of(zone: Zone, local: i64) -> i64 {
    let before = zone.ahead_ms(local - ZONE_DISTANCE_MS);
    let after = zone.ahead_ms(local + ZONE_DISTANCE_MS);
    if before == after || zone.ahead_ms(local - before) == before {
        return local - before;
    }
    if zone.ahead_ms(local - after) == after {
        return local - after;
    }
    let (mut early, mut late) = (local - after, local - before);
    while late - early > 1 {
        let middle = early + (late - early) / 2;
        if zone.ahead_ms(middle) == after {
            late = middle;
        } else {
            early = middle;
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T21:47:11Z: the next day has begun in Tokyo.
    const NOW: i64 = 1_796_075_231_000;

    fn options(from: Option<&str>, to: Option<&str>, zone: &str) -> PeriodOptions {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        PeriodOptions { from: owned(from), to: owned(to), day: None, zone: zone.to_owned() }
    }

    #[test]
    fn days_begin_where_the_clocks_of_the_zone_say() {
        for (zone, from, expected) in [
            ("UTC", "today", "2026-11-30T00:00:00.000Z"),
            ("UTC", "yesterday", "2026-11-29T00:00:00.000Z"),
            ("Asia/Tokyo", "today", "2026-12-01T00:00:00.000+09:00"),
            ("Europe/Berlin", "-7d", "2026-11-23T00:00:00.000+01:00"),
            ("America/St_Johns", "2026-11-29T10:00", "2026-11-29T10:00:00.000-03:30"),
            ("Europe/Berlin", "2026-11-29T10:00:05Z", "2026-11-29T11:00:05.000+01:00"),
            ("UTC", "-12h", "2026-11-30T09:47:11.000Z"),
            ("UTC", "-30m", "2026-11-30T21:17:11.000Z"),
            ("UTC", "now", "2026-11-30T21:47:11.000Z"),
            // Clocks that are set forward at midnight, forward at 2, and back at 3.
            ("America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00.000-02:00"),
            ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T03:00:00.000+02:00"),
            ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T02:30:00.000+02:00"),
        ] {
            let period = options(Some(from), None, zone).period_at(NOW).expect(from);
            assert_eq!(period.text(period.from.expect("a begin")), expected, "{from} in {zone}");
        }
    }

    #[test]
    fn a_day_may_have_23_or_25_hours() {
        for (day, hours) in [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-29", 24)] {
            let mut options = options(None, None, "Europe/Berlin");
            options.day = Some(day.to_owned());
            let period = options.period_at(NOW).expect(day);
            let (from, to) = (period.from.expect("a begin"), period.to.expect("an end"));
            assert_eq!((to - from) / HOUR_MS, hours, "{day}");
            assert!(period.has(from) && period.has(to - 1) && !period.has(to));
            assert_eq!((period.date(from), period.date(to - 1)), (day.to_owned(), day.to_owned()));
        }
    }

    #[test]
    fn what_is_no_period_is_refused_in_words() {
        for (from, to, zone, why) in [
            ("today", "today", "UTC", "give --to a later time than --from"),
            ("2026-11-29", "2026-11-28", "UTC", "the period ends at 2026-11-28T00:00:00.000Z"),
            ("today", "now", "europe/berlin", "\"europe/berlin\" is no time zone"),
            ("2026-02-30", "now", "UTC", "\"2026-02-30\" is no date or time: write 2026-11-29"),
            ("29.11.2026", "now", "UTC", "is no date or time"),
            ("2026-11-29T24:00", "now", "UTC", "is no date or time"),
            ("2026-11-29T1:00", "now", "UTC", "is no date or time"),
            ("-d", "now", "UTC", "is no date or time"),
            ("1700000000000", "now", "UTC", "is no date or time"),
        ] {
            let error = options(Some(from), Some(to), zone).period_at(NOW).expect_err(from);
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
