//! How long after its commit an event is in a complete file. A file has its name when it is delivered, and the kernel
//! notes that time: nothing watches the directory meanwhile.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::delivery::Delivery;
use super::report::{LagRow, Range};
use super::setting::ShipSetting;
use super::shipper::{Shipper, Source};
use crate::latency::LatencyRecorder;
use crate::scenario::Scenario;

/// Requests of each session in the measured time, at least: two sessions from begin to end.
const REQUESTS_MIN: f64 = 16.0;
/// Longest time from an event to its delivery that the shipper is given, ms.
const FLUSH_MS: &str = "100";

/// Measures a load that makes half as many events as one core delivers.
pub(super) fn measure(setting: &ShipSetting<'_>, delivery: &Delivery) -> Result<LagRow> {
    let events_per_s = delivery.json_per_s / 2.0;
    let rate = (events_per_s / delivery.events_per_op).max(1.0);
    let scenario = by_the_clock(&setting.scenario, rate);
    let (mut p50, mut p99, mut most) = (Vec::new(), Vec::new(), Vec::new());
    let mut events = 0;
    for number in 1..=setting.arguments.runs {
        let fleet = setting.start(&scenario)?;
        let source = Source::Server(fleet.first().address());
        let mut shipper = Shipper::start(setting, &source, "json", &["--flush-ms", FLUSH_MS])?;
        let (run, fleet) = setting.load(&scenario, fleet, number)?;
        shipper.catch_up(setting, fleet.first().address())?;
        shipper.stop()?;
        let mut lags = LatencyRecorder::new()?;
        for file in shipper.files()? {
            record(&file, run.interval_ms, &mut lags)?;
        }
        ensure!(lags.count() > 0, "no event of the load was delivered");
        events = lags.count();
        let ms = |share: f64| lags.quantile_us(share) / 1_000.0;
        p50.push(ms(0.5));
        p99.push(ms(0.99));
        most.push(ms(1.0));
    }
    Ok(LagRow {
        runs: setting.arguments.runs,
        requests_per_s: rate,
        events,
        p50_ms: Range::of(&p50),
        p99_ms: Range::of(&p99),
        most_ms: Range::of(&most),
    })
}

/// Returns the scenario at a rate, with so few sessions that each has its turn: a session begins with a read.
fn by_the_clock(scenario: &Scenario, rate: f64) -> Scenario {
    let most = rate * scenario.seconds / REQUESTS_MIN;
    let mut halves = std::iter::successors(Some(scenario.sessions), |sessions| Some(sessions / 2));
    let sessions = halves.find(|&sessions| f64::from(sessions) <= most).unwrap_or(1).max(1);
    let connections = scenario.connections.min(sessions);
    Scenario { rate: Some(rate), sessions, connections, ..scenario.clone() }
}

/// Records how late the events of a file are whose commits are within these times.
fn record(path: &Path, (from_ms, to_ms): (i64, i64), lags: &mut LatencyRecorder) -> Result<()> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    // Of all that a file is, its name was given last.
    let delivered_ms = about.ctime() * 1_000 + about.ctime_nsec() / 1_000_000;
    let mut reader = BufReader::new(file);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let time_ms = time_ms(&line).with_context(|| format!("an event has no time: {line}"))?;
        if (from_ms..=to_ms).contains(&time_ms) {
            // The clock of files is behind by some milliseconds.
            let lag_ms = u64::try_from(delivered_ms - time_ms).unwrap_or(0);
            lags.record(lag_ms * 1_000_000);
        }
    }
}

/// Returns the time of an event, ms since 1970.
fn time_ms(line: &str) -> Option<i64> {
    let date = line.split_once("\"time\":\"")?.1.get(..24)?;
    let number = |begin: usize, end: usize| date.get(begin..end)?.parse::<i64>().ok();
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = ((days * 24 + number(11, 13)?) * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    Some(seconds * 1_000 + number(20, 23)?)
}

/// Returns the days from 1970 to a date of the Gregorian calendar. The year begins with March, so that the leap day is
/// its last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_event_is_read() {
        let of =
            |date: &str| time_ms(&format!(r#"{{"id":"1.0:7","time":"{date}","event":"debited"}}"#));
        assert_eq!(of("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(of("2000-02-29T00:00:00.007Z"), Some(951_782_400_007));
        assert_eq!(of("2026-11-21T22:00:03.119Z"), Some(1_795_298_403_119));
        assert_eq!(time_ms(r#"{"id":"1.0:7..1.0:9","event":"missed"}"#), None);
    }
}
