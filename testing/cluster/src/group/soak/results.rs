//! What was run at one commit so far: pieces of a soak, kept in a file, and the table of all of them.

use super::acknowledged::Findings;
use super::backups::BackupCounts;
use super::doors::DoorCounts;
use super::latency::{KeptLatencies, Latencies};
use super::samples::Sample;
use super::watch::WatchCounts;
use crate::group::Fault;
use crate::group::results::{open, write};
use crate::wait::write_table;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Share of its memory by which a node may grow after the first hour, percent.
const DRIFT_MAX: f64 = 2.0;
/// Moment of the samples after an hour.
pub(super) const HOUR: &str = "hour";

/// All pieces at one commit.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SoakResults {
    /// Commit of the program under test.
    commit: String,
    pieces: Vec<Piece>,
    failed: Vec<FailedPiece>,
}

/// A piece in which nothing was found wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    pub(super) seed: u64,
    pub(super) accounts: u32,
    /// Requests a second.
    pub(super) rate: u32,
    /// Time under load, ms.
    pub(super) load_ms: u64,
    pub(super) acknowledged: u64,
    /// Attempts without a clear answer.
    pub(super) again: u64,
    /// Requests that were sent once more and got their stored answers.
    pub(super) repeated: u64,
    /// Sessions that were left to expire.
    pub(super) expired: u64,
    /// Latencies outside of windows.
    pub(super) outside: KeptLatencies,
    pub(super) windows: Vec<FaultWindows>,
    pub(super) samples: Vec<Sample>,
    /// Most bytes of log and of snapshots that a node had on disk, looked at each minute.
    pub(super) disk_max: (u64, u64),
    pub(super) events: WatchCounts,
    pub(super) doors: DoorCounts,
    pub(super) backups: BackupCounts,
    /// What the audits found, of each node that led.
    pub(super) audits: Vec<Findings>,
    pub(super) remarks: Vec<String>,
}

/// The windows of one kind of fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FaultWindows {
    pub(super) fault: Fault,
    pub(super) count: u64,
    /// Time of all of them, ms.
    pub(super) spent_ms: u64,
    pub(super) latencies: KeptLatencies,
}

/// A piece that found something wrong, or could not be run to its end.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FailedPiece {
    seed: u64,
    error: String,
}

impl SoakResults {
    /// Reads the results of this commit. If the file has those of another commit, it is renamed, and a new one begins.
    pub fn open(path: &Path, commit: &str) -> Result<SoakResults> {
        let kept = open(path, commit, |found: &SoakResults| &found.commit)?;
        let new = || SoakResults { commit: commit.to_owned(), ..SoakResults::default() };
        Ok(kept.unwrap_or_else(new))
    }

    /// Replaces the file as a whole.
    pub fn write(&self, path: &Path) -> Result<()> {
        write(path, self)
    }

    /// Adds a piece that was run with this seed.
    pub fn add(&mut self, seed: u64, piece: Result<Piece, String>) {
        match piece {
            Ok(piece) => self.pieces.push(piece),
            Err(error) => self.failed.push(FailedPiece { seed, error }),
        }
    }

    fn sum(&self, of: impl Fn(&Piece) -> u64) -> u64 {
        self.pieces.iter().map(of).sum()
    }

    /// Returns the rows of latencies: outside of windows, and within those of each kind.
    fn rows(&self) -> Vec<Row> {
        let mut rows = vec![Row::new("outside".to_owned())];
        let mut places = BTreeMap::new();
        for piece in &self.pieces {
            let inside: u64 = piece.windows.iter().map(|windows| windows.spent_ms).sum();
            rows[0].add(0, piece.load_ms.saturating_sub(inside), &piece.outside);
            for windows in piece.windows.iter().filter(|windows| windows.count > 0) {
                let name = windows.fault.name();
                let place = *places.entry(name).or_insert_with(|| {
                    rows.push(Row::new(name.to_owned()));
                    rows.len() - 1
                });
                rows[place].add(windows.count, windows.spent_ms, &windows.latencies);
            }
        }
        rows
    }

    /// Writes how much more memory each node has at full hours than at the first of them.
    fn write_drift(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples = || self.pieces.iter().flat_map(|piece| &piece.samples);
        let mut is_known = false;
        for node in samples().map(|sample| sample.node).max().map_or(0..0, |last| 0..last + 1) {
            let hours = || samples().filter(|one| one.node == node && one.moment == HOUR);
            let Some(first) = hours().next() else { continue };
            let grown = |of: fn(&Sample) -> u64| {
                let later = hours().skip(1).map(|one| percent(of(one), of(first)));
                later.max_by(f64::total_cmp)
            };
            if let (Some(rss), Some(used)) = (grown(|one| one.rss), grown(|one| one.used)) {
                is_known = true;
                let verdict = if used > DRIFT_MAX || rss > DRIFT_MAX { ": too much" } else { "" };
                writeln!(
                    f,
                    "node {node} after its first full hour: at most {rss:+.1} % resident, {used:+.1} % used{verdict}"
                )?;
            }
        }
        if is_known {
            Ok(())
        } else {
            writeln!(f, "no drift of memory yet: it needs two full hours")
        }
    }
}

fn percent(now: u64, first: u64) -> f64 {
    100.0 * (now as f64 - first as f64) / (first as f64).max(1.0)
}

/// A row of the table of latencies.
struct Row {
    name: String,
    count: u64,
    spent_ms: u64,
    latencies: Option<Latencies>,
}

impl Row {
    fn new(name: String) -> Row {
        Row { name, count: 0, spent_ms: 0, latencies: Latencies::new().ok() }
    }

    fn add(&mut self, count: u64, spent_ms: u64, latencies: &KeptLatencies) {
        self.count += count;
        self.spent_ms += spent_ms;
        if let Some(own) = &mut self.latencies {
            own.add(latencies);
        }
    }

    fn cells(&self) -> [String; 9] {
        let latencies = self.latencies.as_ref();
        let ms = |share| {
            let us = latencies.map_or(0, |own| own.quantile_us(share));
            format!("{:.2}", us as f64 / 1e3)
        };
        let silence_ms = latencies.map_or(0.0, |own| own.silence_ns as f64 / 1e6);
        [
            self.name.clone(),
            self.count.to_string(),
            format!("{:.1}", self.spent_ms as f64 / 1e3),
            latencies.map_or(0, Latencies::count).to_string(),
            ms(0.5),
            ms(0.99),
            ms(0.999),
            ms(0.9999),
            format!("{silence_ms:.1}"),
        ]
    }
}

const HEAD: [&str; 9] = [
    "window",
    "faults",
    "time, s",
    "requests",
    "p50, ms",
    "p99, ms",
    "p99.9, ms",
    "p99.99, ms",
    "longest silence, ms",
];

const SAMPLE_HEAD: [&str; 10] = [
    "piece",
    "at, s",
    "moment",
    "node",
    "process, s",
    "resident, MB",
    "used, MB",
    "open files",
    "log, MB",
    "snapshots, MB",
];

impl fmt::Display for SoakResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        write_table(f, HEAD, rows.iter().map(|row| Ok(row.cells())))?;
        writeln!(f)?;
        let samples = self.pieces.iter().enumerate();
        let samples = samples.flat_map(|(at, piece)| piece.samples.iter().map(move |of| (at, of)));
        write_table(f, SAMPLE_HEAD, samples.map(|(piece, of)| Ok(sample_cells(piece + 1, of))))?;
        writeln!(f)?;
        self.write_drift(f)?;
        for (number, piece) in self.pieces.iter().enumerate() {
            writeln!(f, "piece {}: {piece}", number + 1)?;
        }
        let seconds = self.sum(|piece| piece.load_ms) / 1_000;
        writeln!(
            f,
            "commit {}: {} pieces, {} h {:02} min {:02} s under load, {} acknowledged requests, {} faults, failed pieces: {}",
            self.commit,
            self.pieces.len(),
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60,
            self.sum(|piece| piece.acknowledged),
            rows.iter().map(|row| row.count).sum::<u64>(),
            self.failed.len()
        )?;
        for FailedPiece { seed, error } in &self.failed {
            writeln!(f, "failed: seed {seed}: {error}")?;
        }
        Ok(())
    }
}

fn sample_cells(piece: usize, of: &Sample) -> [String; 10] {
    let mb = |bytes: u64| (bytes / 1_000_000).to_string();
    let leads = if of.leads { " (leads)" } else { "" };
    [
        piece.to_string(),
        of.at_s.to_string(),
        of.moment.clone(),
        format!("{}{leads}", of.node),
        of.uptime_s.to_string(),
        mb(of.rss),
        mb(of.used),
        of.files.to_string(),
        mb(of.log),
        mb(of.snapshots),
    ]
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (events, doors, backups) = (&self.events, &self.doors, &self.backups);
        let lost: u64 = self.audits.iter().map(|audit| audit.lost).sum();
        let twice: u64 = self.audits.iter().map(|audit| audit.twice).sum();
        writeln!(
            f,
            "seed {}, {} accounts, {} requests a second for {:.0} s: {} acknowledged, {} attempts without a clear \
             answer, {} sent twice, {} sessions left to expire. {} audits of all accounts: units lost {lost}, charged \
             twice {twice}; replica verify: the same. At most {} MB of log and {} MB of snapshots on the disk of a node.",
            self.seed,
            self.accounts,
            self.rate,
            self.load_ms as f64 / 1e3,
            self.acknowledged,
            self.again,
            self.repeated,
            self.expired,
            self.audits.len(),
            self.disk_max.0 / 1_000_000,
            self.disk_max.1 / 1_000_000,
        )?;
        write!(
            f,
            "  events {}, missed {}, read through {} connections; backups whole {}, given up {}{}; HTTP \
             answers {}, refused in windows {}, outside {}{}",
            events.events,
            events.missed,
            events.connections,
            backups.whole,
            backups.given_up,
            reason(&backups.first),
            doors.served,
            doors.refused_within,
            doors.refused_outside,
            reason(&doors.first),
        )?;
        self.remarks.iter().try_for_each(|remark| write!(f, "\n  {remark}"))
    }
}

fn reason(text: &Option<String>) -> String {
    text.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}
