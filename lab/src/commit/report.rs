//! The commits beside the device, as JSON and as text. docs/lab.md describes the fields.

use serde::Serialize;

use super::DeviceFigures;
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
}

impl CommitRun {
    fn times(&self, percentile: fn(&LatencySummary) -> f64) -> f64 {
        let device = percentile(&self.device_batch.latency_us);
        if device > 0.0 { rounded(percentile(&self.update_us) / device, 2) } else { 0.0 }
    }
}

impl CommitReport {
    pub(super) fn new(
        load: &HalfLoad<'_>,
        plan: &HalfLoadPlan,
        testbed: &Testbed,
        runs: Vec<CommitRun>,
    ) -> CommitReport {
        let median = |percentile: fn(&LatencySummary) -> f64| {
            let all: Vec<f64> = runs.iter().map(|run| run.times(percentile)).collect();
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
            p50_times_device: median(|latency| latency.p50),
            p99_times_device: median(|latency| latency.p99),
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
        let mut out = format!("\n{}", grid.render());
        if let (Some(p50), Some(p99)) = (self.p50_times_device, self.p99_times_device) {
            out.push_str(&format!(
                "UPDATE's p50 is {p50:.2} and its p99 {p99:.2} times the device's write and \
                 fdatasync of a mean batch (medians of {} runs)\n",
                self.runs.len()
            ));
        }
        out
    }
}
