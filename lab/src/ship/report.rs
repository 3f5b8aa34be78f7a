//! The figures of a shipper, and the tables of them.

use serde::Serialize;

use crate::figures::{median, range, rounded};
use crate::host::Host;
use crate::report::grouped;

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ShipReport {
    /// Machine of the measurement.
    #[serde(flatten)]
    pub host: Host,
    /// Durability of the store.
    pub durability: String,
    /// What charging costs with a shipper, by load.
    pub charging: Vec<ChargingRow>,
    /// What one core delivers, by way.
    pub delivery: Vec<DeliveryRow>,
    /// How late events are delivered.
    pub lag: LagRow,
}

/// A figure over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// Median.
    pub median: f64,
    /// Least.
    pub least: f64,
    /// Greatest.
    pub greatest: f64,
}

/// Charging with a shipper that follows, against none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChargingRow {
    /// The load.
    pub load: String,
    /// Runs of each side.
    pub runs: u32,
    /// Commands per second without a shipper.
    pub none_ops_per_s: Range,
    /// Commands per second with one.
    pub ops_per_s: Range,
    /// CPU of the threads that charge, microseconds for each command, without a shipper.
    pub none_core_us: Range,
    /// The same with one.
    pub core_us: Range,
    /// What the shipper adds to it, percent, run by run.
    pub core_added_percent: Range,
    /// CPU of the server's threads that read events, microseconds for each command.
    pub reader_us: Range,
    /// CPU of the whole server, microseconds for each command, without a shipper.
    pub none_all_us: Range,
    /// The same with one.
    pub all_us: Range,
    /// Events that the shipper delivered, per second of its life.
    pub shipped_per_s: Range,
}

/// Delivery of a log that is there.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DeliveryRow {
    /// What was read and written.
    pub way: String,
    /// Runs.
    pub runs: u32,
    /// Events of each run.
    pub events: u64,
    /// Bytes of each run: of payloads, or of replies.
    pub bytes: u64,
    /// Events per second.
    pub events_per_s: Range,
    /// Megabytes per second.
    pub mb_per_s: Range,
    /// CPU of the shipper, or of the client, microseconds for each event.
    pub cpu_us_per_event: Range,
    /// Resident memory at the end, bytes; 0 where it was not measured.
    pub memory_last: Range,
    /// Resident memory at most, bytes; 0 where it was not measured.
    pub memory_most: Range,
}

/// Time from commit to delivery.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LagRow {
    /// Runs.
    pub runs: u32,
    /// Requests per second of the load.
    pub requests_per_s: f64,
    /// Events of the last run.
    pub events: u64,
    /// Median, milliseconds.
    pub p50_ms: Range,
    /// 99 of 100 are at or below, milliseconds.
    pub p99_ms: Range,
    /// Longest, milliseconds.
    pub most_ms: Range,
}

impl Range {
    /// Returns the figure of these runs; zeros without one.
    pub fn of(values: &[f64]) -> Range {
        let Some(median) = median(values) else { return Range::default() };
        let (least, greatest) = range(values);
        Range {
            median: rounded(median, 4),
            least: rounded(least, 4),
            greatest: rounded(greatest, 4),
        }
    }

    fn shown(&self, show: impl Fn(f64) -> String) -> String {
        format!("{} ({} to {})", show(self.median), show(self.least), show(self.greatest))
    }

    fn whole(&self) -> String {
        self.shown(|value| grouped(value).replace(' ', ","))
    }

    fn decimal(&self, digits: usize) -> String {
        self.shown(|value| format!("{value:.digits$}"))
    }

    fn megabytes(&self) -> String {
        if self.median == 0.0 {
            return String::new();
        }
        self.shown(|value| format!("{:.0}", value / 1e6))
    }
}

impl ShipReport {
    /// Renders the report as tables of Markdown.
    pub fn render(&self) -> String {
        let mut out = String::from(
            "\n| charging | shipper | commands/s | CPU of the core, us/command | added | reader, us/command | whole \
             server, us/command | events/s shipped |\n|---|---|---|---|---|---|---|---|\n",
        );
        for row in &self.charging {
            out += &format!(
                "| {} | none | {} | {} | | | {} | |\n| | files | {} | {} | {} % | {} | {} | {} |\n",
                row.load,
                row.none_ops_per_s.whole(),
                row.none_core_us.decimal(3),
                row.none_all_us.decimal(3),
                row.ops_per_s.whole(),
                row.core_us.decimal(3),
                row.core_added_percent.decimal(1),
                row.reader_us.decimal(3),
                row.all_us.decimal(3),
                row.shipped_per_s.whole(),
            );
        }
        out += "\n| one core delivers | events/s | MB/s | CPU us/event | memory at the end, MB | at most, MB |\n\
                |---|---|---|---|---|---|\n";
        for row in &self.delivery {
            out += &format!(
                "| {} | {} | {} | {} | {} | {} |\n",
                row.way,
                row.events_per_s.whole(),
                row.mb_per_s.whole(),
                row.cpu_us_per_event.decimal(2),
                row.memory_last.megabytes(),
                row.memory_most.megabytes(),
            );
        }
        let lag = &self.lag;
        out += &format!(
            "\n| from commit to file, `--flush-ms 100` | requests/s | p50, ms | p99, ms | longest, ms |\n\
             |---|---|---|---|---|\n| half of what one core delivers | {} | {} | {} | {} |\n\n",
            grouped(lag.requests_per_s).replace(' ', ","),
            lag.p50_ms.decimal(0),
            lag.p99_ms.decimal(0),
            lag.most_ms.decimal(0),
        );
        let events = self.delivery.first().map_or(0, |row| row.events);
        out += &format!(
            "median (least to greatest) of {} runs, `{}`, {} events in the log; {}, {} cores, Linux {}, commit {}\n",
            lag.runs,
            self.durability,
            grouped(events as f64).replace(' ', ","),
            self.host.cpu,
            self.host.cores,
            self.host.kernel,
            self.host.git_commit,
        );
        out += "the server's threads share one core, and a shipper shares that of the loader: compare CPU, and not \
                commands/s\n";
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_shown_with_its_ends() {
        let range = Range::of(&[1_234.5, 1_000.0, 2_000.0]);
        assert_eq!(range.whole(), "1,234 (1,000 to 2,000)");
        assert_eq!(Range::of(&[]).megabytes(), "");
    }
}
