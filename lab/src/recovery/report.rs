//! Recoveries as JSON and as text. docs/lab.md describes the fields.

use serde::Serialize;

use crate::figures::median_index;
use crate::host::Host;
use crate::report::{Grid, grouped};

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecoveryReport {
    /// The kind of file system.
    pub filesystem: String,
    /// The machine.
    #[serde(flatten)]
    pub host: Host,
    /// Rows, one for each kind of file that was recovered.
    pub rows: Vec<RecoveryRow>,
}

/// Some files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecoveryRow {
    /// `log`: a small snapshot and a long log; `snapshot`: a large snapshot alone.
    pub what: String,
    /// Accounts.
    pub accounts: u32,
    /// Changes in the log.
    pub records: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of the snapshot.
    pub snapshot_bytes: u64,
    /// Each recovery.
    pub passes: Vec<Pass>,
}

/// One recovery.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pass {
    /// Counted from 1.
    pub run: u32,
    /// Entries of the snapshot.
    pub entries: u64,
    /// CPU time of the thread for the snapshot.
    pub snapshot_cpu_seconds: f64,
    /// The same by the clock.
    pub snapshot_seconds: f64,
    /// Entries per second of CPU time.
    pub entries_per_cpu_s: f64,
    /// Changes of the log that were applied.
    pub records: u64,
    /// CPU time of the thread for the log.
    pub log_cpu_seconds: f64,
    /// The same by the clock.
    pub log_seconds: f64,
    /// Changes per second of CPU time.
    pub changes_per_cpu_s: f64,
}

impl RecoveryReport {
    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "<what",
            "run",
            "entries",
            "snapshot CPU s",
            "s",
            "entries/CPU s",
            "changes",
            "log CPU s",
            "s",
            "changes/CPU s",
        ]);
        for row in &self.rows {
            for pass in &row.passes {
                grid.push(vec![
                    row.what.clone(),
                    pass.run.to_string(),
                    grouped(pass.entries as f64),
                    format!("{:.3}", pass.snapshot_cpu_seconds),
                    format!("{:.3}", pass.snapshot_seconds),
                    grouped(pass.entries_per_cpu_s),
                    grouped(pass.records as f64),
                    format!("{:.3}", pass.log_cpu_seconds),
                    format!("{:.3}", pass.log_seconds),
                    grouped(pass.changes_per_cpu_s),
                ]);
            }
        }
        let mut out = format!("\n{}", grid.render());
        for row in &self.rows {
            out.push_str(&row.summary());
        }
        out.push_str(&format!(
            "one thread, from the page cache on {}; totals and accounts (up to 1 000 000) were compared\n\
             {}, {} cores, Linux {}\n",
            self.filesystem, self.host.cpu, self.host.cores, self.host.kernel
        ));
        out
    }
}

impl RecoveryRow {
    fn summary(&self) -> String {
        let median = |value: fn(&Pass) -> f64| {
            let all: Vec<f64> = self.passes.iter().map(value).collect();
            median_index(&all).map_or(0.0, |index| all[index])
        };
        let bytes = |bytes: u64, of: u64| bytes as f64 / of.max(1) as f64;
        if self.records > 0 {
            format!(
                "log: {} changes/s of CPU time; {:.1} bytes per change\n",
                grouped(median(|pass| pass.changes_per_cpu_s)),
                bytes(self.log_bytes, self.records)
            )
        } else {
            format!(
                "snapshot: {} accounts in {:.2} s of CPU time; {:.1} bytes per account\n",
                grouped(f64::from(self.accounts)),
                median(|pass| pass.snapshot_cpu_seconds),
                bytes(self.snapshot_bytes, u64::from(self.accounts))
            )
        }
    }
}
