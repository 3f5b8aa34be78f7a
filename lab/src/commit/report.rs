//! The commits beside the device, as JSON and as text. docs/lab.md describes the fields.

use serde::Serialize;

use super::{BareFigures, DeviceFigures};
use crate::figures::{median_index, rounded};
use crate::half_load::{HalfLoad, HalfLoadPlan};
use crate::host::Host;
use crate::latency::LatencySummary;
use crate::log_growth::LogGrowth;
use crate::report::{Grid, duration, grouped};
use crate::testbed::Testbed;

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommitReport {
    /// When scurry answers.
    pub durability: &'static str,
    /// The kind of file system.
    pub filesystem: String,
    /// Requests per second of a closed loop; none where the rate was asked for.
    pub highest: Option<f64>,
    /// Requests per second by the clock.
    pub rate: f64,
    /// Accounts.
    pub accounts: u32,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Further arguments of the server.
    pub server_arguments: Vec<String>,
    /// The machine.
    #[serde(flatten)]
    pub host: Host,
    /// UPDATE's median latency as a multiple of the device's for a batch: the median of the
    /// runs.
    pub p50_times_device: Option<f64>,
    /// The same of the 99th percentiles.
    pub p99_times_device: Option<f64>,
    /// UPDATE's 99.9th percentile as a multiple of a bare writer's sync: the median of the runs.
    pub p999_times_bare: Option<f64>,
    /// The same of a commit that comes to a bare writer at any moment.
    pub p999_times_arrival: Option<f64>,
    /// Each run.
    pub runs: Vec<CommitRun>,
}

/// One run and the device around it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommitRun {
    /// Counted from 1.
    pub run: u32,
    /// Requests per second that were answered.
    pub rate: f64,
    /// Of all operations, microseconds.
    pub latency_us: LatencySummary,
    /// Of UPDATE, which is answered after its commit.
    pub update_us: LatencySummary,
    /// CPU of the server, 100 per core.
    pub cpu_percent: f64,
    /// How much of its core the loader did not use.
    pub loader_idle_percent: f64,
    /// The log.
    pub log: LogGrowth,
    /// The device alone just before, with 4 KiB.
    pub device_page: DeviceFigures,
    /// The device alone just after, with as much as the mean batch had.
    pub device_batch: DeviceFigures,
    /// A bare writer of as many batches, for as long, after that.
    pub bare_writer: BareFigures,
}

impl CommitRun {
    fn times(&self, percentile: fn(&LatencySummary) -> f64) -> f64 {
        times(percentile(&self.update_us), percentile(&self.device_batch.latency_us))
    }

    fn times_bare(&self) -> f64 {
        times(self.update_us.p999, self.bare_writer.latency_us.p999)
    }

    fn times_arrival(&self) -> f64 {
        times(self.update_us.p999, self.bare_writer.arrival_us.p999)
    }
}

fn times(of: f64, to: f64) -> f64 {
    if to > 0.0 { rounded(of / to, 2) } else { 0.0 }
}

impl CommitReport {
    pub(super) fn new(
        load: &HalfLoad<'_>,
        plan: &HalfLoadPlan,
        testbed: &Testbed,
        runs: Vec<CommitRun>,
    ) -> CommitReport {
        let median = |of: &dyn Fn(&CommitRun) -> f64| {
            let all: Vec<f64> = runs.iter().map(of).collect();
            median_index(&all).map(|index| all[index])
        };
        CommitReport {
            durability: plan.durability.word(),
            filesystem: testbed.place.filesystem.clone(),
            highest: load.highest,
            rate: load.rate,
            accounts: plan.accounts,
            seconds: plan.seconds,
            server_arguments: testbed.scurry.arguments.clone(),
            host: testbed.host.clone(),
            p50_times_device: median(&|run| run.times(|latency| latency.p50)),
            p99_times_device: median(&|run| run.times(|latency| latency.p99)),
            p999_times_bare: median(&CommitRun::times_bare),
            p999_times_arrival: median(&CommitRun::times_arrival),
            runs,
        }
    }

    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "run",
            "ops/s",
            "p50",
            "p99",
            "p99.9",
            "UPDATE p50",
            "p99",
            "CPU %",
            "loader idle %",
            "batches/s",
            "changes/batch",
            "bytes/batch",
            "bytes/change",
            "4 KiB p50",
            "p99",
            "batch p50",
            "p99",
            "p50 / device",
            "p99 / device",
        ]);
        for run in &self.runs {
            let (page, batch) = (&run.device_page.latency_us, &run.device_batch.latency_us);
            grid.push(vec![
                run.run.to_string(),
                grouped(run.rate),
                duration(run.latency_us.p50),
                duration(run.latency_us.p99),
                duration(run.latency_us.p999),
                duration(run.update_us.p50),
                duration(run.update_us.p99),
                format!("{:.0}", run.cpu_percent),
                format!("{:.0}", run.loader_idle_percent),
                grouped(run.log.batches_per_s),
                format!("{:.1}", run.log.changes_per_batch),
                grouped(run.log.bytes_per_batch as f64),
                format!("{:.1}", run.log.bytes_per_change),
                duration(page.p50),
                duration(page.p99),
                duration(batch.p50),
                duration(batch.p99),
                format!("{:.2}", run.times(|latency| latency.p50)),
                format!("{:.2}", run.times(|latency| latency.p99)),
            ]);
        }
        let mut out = format!("\n{}\n{}", grid.render(), self.beside_a_bare_writer().render());
        if let (Some(p50), Some(p99)) = (self.p50_times_device, self.p99_times_device) {
            out.push_str(&format!(
                "UPDATE's p50 is {p50:.2} and its p99 {p99:.2} times the device's write and \
                 fdatasync of a mean batch (medians of {} runs)\n",
                self.runs.len()
            ));
        }
        if let (Some(bare), Some(arrival)) = (self.p999_times_bare, self.p999_times_arrival) {
            out.push_str(&format!(
                "UPDATE's p99.9 is {bare:.2} times that of a sync of a bare writer, and \
                 {arrival:.2} times that of a commit that comes to it at any moment, which waits for \
                 the rest of one sync and for its own (medians)\n"
            ));
        }
        out
    }

    fn beside_a_bare_writer(&self) -> Grid {
        let mut grid = Grid::new(&[
            "run",
            "bare: batches/s",
            "bytes",
            "syncs",
            "p50",
            "p99",
            "p99.9",
            "max",
            "> 1 ms",
            "> 10 ms",
            "any moment p50",
            "p99",
            "p99.9",
            "max",
            "UPDATE p99.9",
            "/ bare",
            "/ any moment",
        ]);
        for run in &self.runs {
            let bare = &run.bare_writer;
            let (sync, arrival) = (&bare.latency_us, &bare.arrival_us);
            grid.push(vec![
                run.run.to_string(),
                grouped(bare.batches_per_s),
                grouped(bare.bytes as f64),
                grouped(bare.syncs as f64),
                duration(sync.p50),
                duration(sync.p99),
                duration(sync.p999),
                duration(sync.max),
                grouped(bare.above_1_ms as f64),
                grouped(bare.above_10_ms as f64),
                duration(arrival.p50),
                duration(arrival.p99),
                duration(arrival.p999),
                duration(arrival.max),
                duration(run.update_us.p999),
                format!("{:.2}", run.times_bare()),
                format!("{:.2}", run.times_arrival()),
            ]);
        }
        grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_commits_is_told_beside_both_of_a_bare_writer() {
        let p999 = |p999| LatencySummary { p999, ..LatencySummary::default() };
        let run = CommitRun {
            update_us: p999(6_000.0),
            bare_writer: BareFigures {
                syncs: 20_000,
                above_1_ms: 7,
                latency_us: p999(250.0),
                arrival_us: p999(4_000.0),
                ..BareFigures::default()
            },
            ..CommitRun::default()
        };
        assert_eq!((run.times_bare(), run.times_arrival()), (24.0, 1.5));
        assert_eq!(CommitRun::default().times_bare(), 0.0, "nothing was written");
        let report = CommitReport {
            p999_times_bare: Some(24.0),
            p999_times_arrival: Some(1.5),
            runs: vec![run],
            ..CommitReport::default()
        };
        let text = report.render();
        assert!(text.contains("20 000") && text.contains("6.00ms   24.00          1.50"), "{text}");
        assert!(text.contains("p99.9 is 24.00 times that of a sync of a bare writer"), "{text}");
    }
}
