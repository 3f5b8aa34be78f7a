//! The table of slow disks as JSON and as text. docs/lab.md describes the fields.

use serde::Serialize;

use super::{Setup, SlowDiskPlan};
use crate::figures::{median, range};
use crate::healthy::{HealthyPlan, HealthySetting, PhaseReport};
use crate::latency::LatencySummary;
use crate::report::{Grid, duration};
use crate::testbed::Testbed;

/// Everything that `--json` writes.
#[derive(Clone, Debug, Serialize)]
pub struct SlowDiskReport {
    /// Load, server and machine.
    #[serde(flatten)]
    pub setting: HealthySetting,
    /// How slow the disk is, and for how long it is looked at.
    pub plan: SlowDiskPlan,
    /// The kind of file system.
    pub filesystem: String,
    /// One row per set-up.
    pub rows: Vec<SlowDiskRow>,
}

/// One set-up.
#[derive(Clone, Debug, Serialize)]
pub struct SlowDiskRow {
    /// Name of the set-up.
    pub setup: Setup,
    /// Medians of the runs, microseconds; `max` is the longest of all.
    pub latency_us: LatencySummary,
    /// Each run.
    pub runs: Vec<SlowDiskRun>,
}

/// One run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SlowDiskRun {
    /// Counted from 1.
    pub run: u32,
    /// Service that the healthy client got behind the warm-up.
    #[serde(flatten)]
    pub service: PhaseReport,
    /// Syncs per second of the server whose disk is slow, or of its counterpart.
    pub syncs_per_s: f64,
    /// Syncs per second that were held back.
    pub late_per_s: f64,
}

impl SlowDiskRow {
    fn new(setup: Setup) -> SlowDiskRow {
        SlowDiskRow { setup, latency_us: LatencySummary::default(), runs: Vec::new() }
    }

    fn sum_up(&mut self) {
        let of = |field: fn(&LatencySummary) -> f64| -> Vec<f64> {
            self.runs.iter().map(|run| field(&run.service.latency_us)).collect()
        };
        let middle = |field| median(&of(field)).unwrap_or(0.0);
        self.latency_us = LatencySummary {
            avg: middle(|all| all.avg),
            p50: middle(|all| all.p50),
            p90: middle(|all| all.p90),
            p95: middle(|all| all.p95),
            p99: middle(|all| all.p99),
            p999: middle(|all| all.p999),
            max: range(&of(|all| all.max)).1,
        };
    }
}

impl SlowDiskReport {
    pub(super) fn new(
        healthy: HealthyPlan,
        plan: SlowDiskPlan,
        testbed: &Testbed,
    ) -> SlowDiskReport {
        SlowDiskReport {
            setting: HealthySetting::new(healthy, testbed),
            plan,
            filesystem: testbed.place.filesystem.clone(),
            rows: Setup::ALL.map(SlowDiskRow::new).to_vec(),
        }
    }

    /// Makes the medians of what the runs have.
    pub(super) fn sum_up(&mut self) {
        self.rows.iter_mut().for_each(SlowDiskRow::sum_up);
    }

    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "<set-up",
            "<run",
            "requests",
            "p50",
            "p99",
            "p99.9",
            "max",
            "own p99.9",
            "syncs/s",
            "late/s",
        ]);
        for row in &self.rows {
            for SlowDiskRun { run, service, syncs_per_s, late_per_s } in &row.runs {
                let mut cells = [row.setup.name().to_owned(), run.to_string()].to_vec();
                cells.push(service.operations.to_string());
                cells.extend(service.cells());
                cells.extend([format!("{syncs_per_s:.0}"), format!("{late_per_s:.0}")]);
                grid.push(cells);
            }
            let all = &row.latency_us;
            let mut cells = [row.setup.name(), "median", ""].map(str::to_owned).to_vec();
            cells.extend([all.p50, all.p99, all.p999, all.max].map(duration));
            cells.extend(["", "", ""].map(str::to_owned));
            grid.push(cells);
        }
        format!(
            "\n{}a slow disk: one sync of {} is late by {} ms; max of the medians is the longest of all; \
             {}\n{}",
            grid.render(),
            self.plan.every,
            self.plan.delay_ms,
            self.filesystem,
            self.setting.words()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_medians_of_its_runs_and_the_longest_of_all() {
        let run = |run, p99, max| {
            let latency_us = LatencySummary { p99, max, ..LatencySummary::default() };
            let service = PhaseReport { operations: 9, latency_us, ..PhaseReport::default() };
            SlowDiskRun { run, service, syncs_per_s: 70.0, late_per_s: 10.0 }
        };
        let mut row = SlowDiskRow::new(Setup::OneSlow);
        row.runs =
            vec![run(1, 3_000.0, 70_000.0), run(2, 9_000.0, 20_000.0), run(3, 4_000.0, 30_000.0)];
        let plan = SlowDiskPlan { delay_ms: 10.0, every: 7, seconds: 1.0, runs: 3 };
        let setting = HealthySetting::default();
        let mut report =
            SlowDiskReport { setting, plan, filesystem: "ext4".to_owned(), rows: vec![row] };
        report.sum_up();
        let all = &report.rows[0].latency_us;
        assert_eq!((all.p99, all.max), (4_000.0, 70_000.0));
        let text = report.render();
        let medians = text.lines().find(|line| line.contains("median ")).unwrap();
        assert!(medians.starts_with("one machine, a slow disk  "), "{text}");
        assert!(
            medians.contains(&duration(4_000.0)) && medians.contains(&duration(70_000.0)),
            "{text}"
        );
        assert!(text.contains("one sync of 7 is late by 10 ms"), "{text}");
    }

    #[test]
    fn a_set_up_has_one_name_in_both() {
        for setup in Setup::ALL {
            assert_eq!(serde_json::to_value(setup).unwrap(), setup.name());
        }
    }
}
