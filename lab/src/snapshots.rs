//! `scurry-lab snapshots`: what clients feel at half load while snapshots are written one after
//! the other, beside what they feel while none is.

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::arguments::HalfLoadArguments;
use crate::figures::median_index;
use crate::half_load::{HalfLoad, latencies};
use crate::host::Host;
use crate::latency::LatencySummary;
use crate::log_growth::LogGrowth;
use crate::report::{Grid, duration, grouped};
use crate::testbed::{Testbed, allow_files, write_json};

const FILES: u64 = 1_000;

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SnapshotsReport {
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
    /// Each run without and with, in turn.
    pub runs: Vec<SnapshotsRun>,
}

/// One run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SnapshotsRun {
    /// Counted from 1.
    pub run: u32,
    /// Snapshots were written.
    pub with_snapshots: bool,
    /// Requests per second that were answered.
    pub rate: f64,
    /// Of all operations, microseconds.
    pub latency_us: LatencySummary,
    /// CPU of the server, 100 per core.
    pub cpu_percent: f64,
    /// How much of its core the loader did not use.
    pub loader_idle_percent: f64,
    /// The log, and how many snapshots were written.
    pub log: LogGrowth,
}

/// Measures, prints the table and writes it.
///
/// # Errors
/// When the server fails, a unit is lost, or no snapshot was written where some should be.
pub fn snapshots(arguments: &HalfLoadArguments) -> Result<()> {
    let plan = arguments.plan()?;
    allow_files(FILES)?;
    let testbed = Testbed::prepare(&arguments.common)?;
    let load = HalfLoad::prepare(&testbed, &plan)?;
    let mut runs = Vec::new();
    for number in 1..=plan.runs {
        for with_snapshots in [false, true] {
            let run = load.run(number, plan.runs, with_snapshots)?;
            let log = run.figures.log.clone().context("the server shows no log in INFO")?;
            ensure!(
                !with_snapshots || log.snapshots > 0 && log.snapshots_failed == 0,
                "{} snapshots were written under load and {} failed: give more --seconds or fewer \
                 --accounts",
                log.snapshots,
                log.snapshots_failed
            );
            runs.push(SnapshotsRun {
                run: number,
                with_snapshots,
                rate: run.figures.business_ops_per_s.unwrap_or(0.0),
                latency_us: latencies(&run.figures)?,
                cpu_percent: run.figures.cpu_percent.unwrap_or(0.0),
                loader_idle_percent: run.figures.loader_idle_percent.unwrap_or(0.0),
                log,
            });
        }
    }
    let report = SnapshotsReport {
        durability: plan.durability.word(),
        filesystem: testbed.place.filesystem.clone(),
        highest: load.highest,
        rate: load.rate,
        accounts: plan.accounts,
        seconds: plan.seconds,
        server_arguments: testbed.scurry.arguments.clone(),
        host: testbed.host.clone(),
        runs,
    };
    print!("{}{}", report.render(), load.words());
    write_json(arguments.common.json.as_deref(), &report)
}

impl SnapshotsReport {
    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "run",
            "<snapshots",
            "ops/s",
            "p50",
            "p99",
            "p99.9",
            "max",
            "CPU %",
            "loader idle %",
            "written",
        ]);
        for run in &self.runs {
            grid.push(vec![
                run.run.to_string(),
                if run.with_snapshots { "yes" } else { "no" }.to_owned(),
                grouped(run.rate),
                duration(run.latency_us.p50),
                duration(run.latency_us.p99),
                duration(run.latency_us.p999),
                duration(run.latency_us.max),
                format!("{:.0}", run.cpu_percent),
                format!("{:.0}", run.loader_idle_percent),
                run.log.snapshots.to_string(),
            ]);
        }
        let of = |with: bool, percentile: fn(&LatencySummary) -> f64| {
            let runs = self.runs.iter().filter(|run| run.with_snapshots == with);
            let all: Vec<f64> = runs.map(|run| percentile(&run.latency_us)).collect();
            median_index(&all).map_or_else(|| "-".to_owned(), |index| duration(all[index]))
        };
        format!(
            "\n{}medians: p99 {} without and {} with snapshots, p99.9 {} and {}\n",
            grid.render(),
            of(false, |latency| latency.p99),
            of(true, |latency| latency.p99),
            of(false, |latency| latency.p999),
            of(true, |latency| latency.p999),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_medians_are_those_of_each_kind() {
        let run = |with_snapshots: bool, p99: f64| SnapshotsRun {
            with_snapshots,
            latency_us: LatencySummary { p99, p999: 2.0 * p99, ..LatencySummary::default() },
            ..SnapshotsRun::default()
        };
        let runs = vec![run(false, 10.0), run(true, 30.0), run(false, 12.0), run(true, 31.0)];
        let text = SnapshotsReport { runs, ..SnapshotsReport::default() }.render();
        let expected = "p99 10us without and 30us with snapshots, p99.9 20us and 60us";
        assert!(text.contains(expected), "{text}");
    }
}
