//! The table of expiries as JSON and as text. docs/lab.md describes the fields.

use serde::Serialize;

use super::{ExpiryKind, ExpiryPlan};
use crate::healthy::{HealthyPlan, HealthySetting, PhaseReport};
use crate::report::{Grid, duration};
use crate::testbed::Testbed;

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExpiryReport {
    /// Load, server and machine.
    #[serde(flatten)]
    pub setting: HealthySetting,
    /// How many fall due, and when.
    pub plan: Option<ExpiryPlan>,
    /// One row per kind.
    pub rows: Vec<ExpiryRow>,
}

/// One kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExpiryRow {
    /// Name of the kind.
    pub kind: String,
    /// Service that the healthy client got before the first thing fell due.
    pub before: PhaseReport,
    /// From then until all were gone.
    pub during: PhaseReport,
    /// After that.
    pub after: PhaseReport,
    /// From when the last fell due until all were gone, as far as asking can tell, ms.
    pub gone_after_ms: i64,
    /// Resident memory of the server when all were written, bytes.
    pub rss_filled: u64,
    /// The most while they went.
    pub rss_peak: u64,
    /// At the end.
    pub rss_after: u64,
    /// Why the kind could not be measured here; none where it could.
    pub not_measured: Option<String>,
    /// Reason of a failure; none where nothing failed.
    pub failed: Option<String>,
}

impl ExpiryRow {
    pub(super) fn new(kind: ExpiryKind) -> ExpiryRow {
        ExpiryRow { kind: kind.name().to_owned(), ..ExpiryRow::default() }
    }

    fn is_sound(&self) -> bool {
        self.not_measured.is_none() && self.failed.is_none()
    }

    /// Text of the last column.
    fn verdict(&self) -> String {
        match (&self.not_measured, &self.failed) {
            (Some(why), _) => format!("not measured here: {why}"),
            (_, Some(why)) => format!("FAILED: {why}"),
            _ => "ok".to_owned(),
        }
    }

    /// One line for the progress.
    pub(super) fn summary(&self) -> String {
        if !self.is_sound() {
            return self.verdict();
        }
        let [before, during] = [&self.before, &self.during].map(|phase| phase.latency_us.p99);
        format!(
            "p99 {} before, {} during, gone {} ms after the last fell due",
            duration(before),
            duration(during),
            self.gone_after_ms
        )
    }
}

impl ExpiryReport {
    pub(super) fn new(healthy: HealthyPlan, plan: ExpiryPlan, testbed: &Testbed) -> ExpiryReport {
        ExpiryReport {
            setting: HealthySetting::new(healthy, testbed),
            plan: Some(plan),
            rows: Vec::new(),
        }
    }

    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "<kind",
            "p99 before",
            "max",
            "p50 during",
            "p99",
            "p99.9",
            "max",
            "own p99.9",
            "p99 after",
            "max",
            "gone after ms",
            "RSS MB filled",
            "peak",
            "after",
            "<verdict",
        ]);
        for row in &self.rows {
            let [_, before, _, before_max, _] = row.before.cells();
            let [_, after, _, after_max, _] = row.after.cells();
            let mut cells = vec![row.kind.clone(), before, before_max];
            cells.extend(row.during.cells());
            let gone = row.gone_after_ms.to_string();
            cells.extend([after, after_max, if row.is_sound() { gone } else { "-".to_owned() }]);
            let memory = [row.rss_filled, row.rss_peak, row.rss_after];
            cells.extend(memory.map(|bytes| format!("{:.1}", bytes as f64 / 1e6)));
            cells.push(row.verdict());
            grid.push(cells);
        }
        let plan = self.plan.map_or_else(String::new, |plan| {
            format!("{} of each kind, due within {} ms; ", plan.count, plan.spread_ms)
        });
        format!("\n{}{plan}{}", grid.render(), self.setting.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_says_whether_it_may_be_believed() {
        let mut rows: Vec<ExpiryRow> =
            ExpiryKind::ALL[..3].iter().map(|kind| ExpiryRow::new(*kind)).collect();
        rows[1].not_measured = Some("unknown command".to_owned());
        rows[2].failed = Some("3 were early".to_owned());
        let text = ExpiryReport { rows, ..ExpiryReport::default() }.render();
        for expected in ["  ok\n", "not measured here: unknown command\n", "FAILED: 3 were early\n"]
        {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
