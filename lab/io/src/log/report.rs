//! Medians with their spread as tables, and all rows as JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Row};
use crate::prepare::Preparation;

/// What was measured, in any number of rounds, and on what machine.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Report {
    kernel: String,
    cpu: String,
    pub(crate) preparing: Vec<Preparation>,
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// An empty one.
    pub(crate) fn of_this_machine() -> Report {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Report {
            kernel: kernel.trim().to_owned(),
            cpu: model.map_or("unknown", |(_, model)| model).to_owned(),
            preparing: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Reads an earlier one.
    pub(crate) fn read(path: &Path) -> Result<Report> {
        let text = fs::read_to_string(path);
        serde_json::from_str(&text.with_context(|| format!("reading {}", path.display()))?)
            .with_context(|| format!("{} is no result of this program", path.display()))
    }

    /// Writes everything to a file, a row in each line: there are many.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self)?;
        let text = text.replace("},{", "},\n{").replace(":[{", ":[\n{");
        fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
    }

    /// Medians over the rounds; of the p50 also the extremes.
    pub(crate) fn table(&self, cells: &[Cell]) -> String {
        let mut text = String::new();
        let mut batch_len = 0;
        for cell in cells {
            if cell.batch_len != batch_len {
                batch_len = cell.batch_len;
                text += &format!(
                    "\n{batch_len} bytes, {} writer(s)\n\
                     | way | file | p50 us | p99 us | MB/s | CPU us |\n|---|---|---|---|---|---|\n",
                    cell.writers
                );
            }
            text += &self.line(cell);
        }
        text += "\n| preparing | ms | CPU ms |\n|---|---|---|\n";
        let mut seen: Vec<&str> = Vec::new();
        for Preparation { what, .. } in &self.preparing {
            if !seen.contains(&what.as_str()) {
                seen.push(what);
                let own = || self.preparing.iter().filter(|one| one.what == *what);
                let cpu = Spread::of(own().map(|one| one.cpu_ms)).median;
                let Spread { least, median, most } = Spread::of(own().map(|one| one.ms));
                text += &format!("| {what} | {median:.1} ({least:.1} to {most:.1}) | {cpu:.1} |\n");
            }
        }
        text
    }

    fn line(&self, cell: &Cell) -> String {
        let own: Vec<&Row> = self.rows.iter().filter(|row| row.is_of(cell)).collect();
        let of = |field: fn(&Row) -> f64| Spread::of(own.iter().map(|row| field(row)));
        let Spread { least, median, most } = of(|row| row.p50_us);
        format!(
            "| {} | {} | {median:.0} ({least:.0} to {most:.0}) | {:.0} | {:.1} | {:.1} |\n",
            cell.way.name(),
            cell.ground.name(),
            of(|row| row.p99_us).median,
            of(|row| row.mb_per_s).median,
            of(|row| row.cpu_us).median,
        )
    }
}

struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    /// Of at least one figure.
    fn of(figures: impl Iterator<Item = f64>) -> Spread {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        let last = figures.len() - 1;
        Spread { least: figures[0], median: figures[last / 2], most: figures[last] }
    }
}
