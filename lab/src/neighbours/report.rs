//! The neighbours' table as JSON and as text. docs/lab.md describes the fields.

use serde::Serialize;

use super::{Neighbour, Scale};
use crate::healthy::{HealthyPlan, HealthySetting, PhaseReport};
use crate::report::Grid;
use crate::testbed::Testbed;

const MB: f64 = 1e6;

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NeighboursReport {
    /// Load, server and machine.
    #[serde(flatten)]
    pub setting: HealthySetting,
    /// How much of everything.
    pub scale: Option<Scale>,
    /// One row per neighbour.
    pub rows: Vec<NeighbourRow>,
}

/// The server's memory, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryTrace {
    /// Resident before the neighbour came.
    pub rss_before: u64,
    /// The most while it was there.
    pub rss_peak: u64,
    /// A second after it left.
    pub rss_after: u64,
    /// By the server's own count before.
    pub used_before: u64,
    /// The most while it was there.
    pub used_peak: u64,
    /// A second after it left.
    pub used_after: u64,
}

/// One neighbour.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NeighbourRow {
    /// Name of the neighbour.
    pub neighbour: String,
    /// How long it stayed.
    pub seconds: f64,
    /// Service that the healthy client got meanwhile.
    pub during: PhaseReport,
    /// Service that the healthy client got in the second after.
    pub after: PhaseReport,
    /// The server's memory.
    pub memory: MemoryTrace,
    /// Fate of the neighbour, in words.
    pub what_happened: String,
    /// Why the healthy client was not served rightly; none where it was.
    pub failed: Option<String>,
}

impl NeighbourRow {
    pub(super) fn new(neighbour: Neighbour) -> NeighbourRow {
        NeighbourRow { neighbour: neighbour.name().to_owned(), ..NeighbourRow::default() }
    }

    /// One line for the progress.
    pub(super) fn summary(&self) -> String {
        match &self.failed {
            Some(why) => format!("failed: {why}"),
            None => format!("p99 {:.3} ms; {}", self.during.p99_ms(), self.what_happened),
        }
    }
}

impl NeighboursReport {
    pub(super) fn new(plan: HealthyPlan, scale: Scale, testbed: &Testbed) -> NeighboursReport {
        NeighboursReport {
            setting: HealthySetting::new(plan, testbed),
            scale: Some(scale),
            rows: Vec::new(),
        }
    }

    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "<neighbour",
            "requests",
            "p50",
            "p99",
            "p99.9",
            "max",
            "own p99.9",
            "p99 after",
            "RSS MB before",
            "peak",
            "after",
            "used MB before",
            "peak",
            "after",
            "<healthy client",
        ]);
        for row in &self.rows {
            let memory = row.memory;
            let megabytes = [
                memory.rss_before,
                memory.rss_peak,
                memory.rss_after,
                memory.used_before,
                memory.used_peak,
                memory.used_after,
            ];
            let mut cells = vec![row.neighbour.clone(), row.during.operations.to_string()];
            cells.extend(row.during.cells());
            cells.push(row.after.cells()[1].clone());
            cells.extend(megabytes.map(|bytes| format!("{:.1}", bytes as f64 / MB)));
            cells.push(if row.failed.is_none() { "ok" } else { "FAILED" }.to_owned());
            grid.push(cells);
        }
        let mut out = format!("\n{}{}", grid.render(), self.setting.words());
        for row in &self.rows {
            out.push_str(&format!("{}: {}\n", row.neighbour, row.what_happened));
            if let Some(why) = &row.failed {
                out.push_str(&format!("{}: FAILED: {why}\n", row.neighbour));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_failed_says_why_below_the_table() {
        let mut row = NeighbourRow::new(Neighbour::Storm);
        row.what_happened = "7 came and went".to_owned();
        let mut report = NeighboursReport { rows: vec![row], ..NeighboursReport::default() };
        let text = report.render();
        assert!(text.contains("  ok\n") && text.contains("storm: 7 came and went\n"), "{text}");
        report.rows[0].failed = Some("no answer".to_owned());
        let text = report.render();
        assert!(text.contains("FAILED\n") && text.contains("storm: FAILED: no answer\n"), "{text}");
    }
}
