//! The rows of a result, as `--json` writes them. docs/lab.md describes every field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::errors::ErrorTally;
use crate::figures::{median_index, range};
use crate::host::Host;
use crate::latency::LatencySummary;
use crate::loader::{OperationResult, Second};
use crate::log_growth::LogGrowth;
use crate::sampler::CoreUse;
use crate::search::Found;
use crate::slow_disk::Syncs;
use crate::totals_poller::TotalsReads;
use crate::workload::LiveCounts;

/// Spread of the runs of one target, percent of the median, above which they support no claim.
pub const SPREAD_PERCENT_MAX: f64 = 20.0;
/// Text of an audit that passed.
pub const AUDIT_OK: &str = "ok";
/// Text where there is nothing to audit.
pub const AUDIT_NONE: &str = "n/a";

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// One row per target.
    pub rows: Vec<Row>,
}

/// One target under one scenario.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// Name of the scenario.
    pub scenario: String,
    /// Step, for a scenario with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Name of the target.
    pub target: String,
    /// Figures of the median run by throughput.
    #[serde(flatten)]
    pub figures: Figures,
    /// Losses over all runs, of a scenario with an event on a node.
    #[serde(flatten)]
    pub losses: Option<Losses>,
    /// Durability of acknowledged changes, as the server reports it.
    pub durability: String,
    /// File system type of the data; None where nothing is stored.
    pub filesystem: Option<String>,
    /// Replicas of each primary.
    pub replicas: u32,
    /// Copies that an operation must be on to count as acknowledged, including the primary's; None when not required.
    pub acknowledged_copies: Option<u32>,
    /// `ok`, `n/a`, or the fault.
    pub audit: String,
    /// Why it could not be measured.
    pub not_measured: Option<String>,
    /// Remarks that a reader of the figures needs.
    pub notes: Vec<String>,
    /// Product and version of the system under test.
    pub version: String,
    /// Command line that started it; empty where the lab did not start it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configuration: Vec<String>,
    /// `loopback` or RDMA; empty in older results, which are of the loopback.
    pub stand: String,
    /// Form of the load.
    #[serde(flatten)]
    pub load: Load,
    /// Machine of the measurement.
    #[serde(flatten)]
    pub host: Host,
    /// Spread of the throughput over the runs.
    pub spread: Option<Spread>,
    /// Throughput against the other targets, run by run.
    pub ratios: Vec<Ratio>,
    /// All runs.
    pub runs: Vec<Run>,
}

/// Load of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Concurrent sessions.
    pub sessions: u32,
    /// Number of connections.
    pub connections: u32,
    /// Most requests in flight per connection.
    pub depth: u32,
    /// Requests per second of a paced load; None for a closed loop.
    pub rate: Option<f64>,
    /// Number of accounts, or of keys.
    pub accounts: u32,
    /// Measured seconds, as requested.
    pub seconds: f64,
    /// Seconds under load before measuring.
    pub warmup_seconds: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Business operations of one session (8, or 7 without the last SESSION); None for kv.
    pub ops_per_session: Option<usize>,
    /// Changes per operation; None where they are not batched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Configured threads of scurry; None when not configured.
    pub threads: Option<u32>,
    /// Ports of scurry that got the load: `main` or `cores`; None for other targets.
    pub door: Option<String>,
    /// Cores of the system under test; empty where nothing was bound.
    pub target_cores: Vec<usize>,
    /// Core of the loader.
    pub loader_core: Option<usize>,
}

/// Times in which a store writes all its data, and reads it again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RestartFigures {
    /// Figures of the load while the snapshot was written.
    pub during: Figures,
    /// Length of the snapshot, bytes.
    pub snapshot_bytes: u64,
    /// Seconds from the request for the snapshot until it was written.
    pub snapshot_seconds: f64,
    /// Seconds in which the disk alone writes as many bytes, with a sync after each 1 MiB.
    pub write_alone_seconds: f64,
    /// Length of the files that the restart read, bytes: the snapshot, and log segments including preallocated space.
    pub start_bytes: u64,
    /// Seconds from the restart after SIGKILL until an account was answered, with no file cached.
    pub start_seconds: f64,
    /// Seconds in which the disk alone reads those files.
    pub read_alone_seconds: f64,
}

/// Measured figures. All are empty in a row that failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Business operations per second.
    pub business_ops_per_s: Option<f64>,
    /// Latency, microseconds.
    pub latency_us: Option<LatencySummary>,
    /// Latency of an open loop since each request was written, beside the one since it was due; None for a closed loop,
    /// where the two are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_uncorrected_us: Option<LatencySummary>,
    /// Operations per second and core of the system under test; None where it is not bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_s_per_core: Option<f64>,
    /// CPU of all processes of the system under test, 100 per core.
    pub cpu_percent: Option<f64>,
    /// CPU microseconds of the system under test per operation.
    pub cpu_us_per_op: Option<f64>,
    /// CPU microseconds of all replicas per operation; None without replicas. They are not part of the two figures
    /// above.
    pub replica_cpu_us_per_op: Option<f64>,
    /// Operations executed on fewer copies than required; None when no number was required.
    pub not_enough_copies: Option<u64>,
    /// Share of its core that the loader did not use, percent.
    pub loader_idle_percent: Option<f64>,
    /// True when the loader had less than 10 % of its core left: the figure is its limit, not the target's.
    pub loader_bound: Option<bool>,
    /// Use of each core of the machine, for all processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub core_use: Vec<CoreUse>,
    /// Packets per second received over the interface.
    pub rx_packets_per_s: Option<f64>,
    /// Packets per second sent over the interface.
    pub tx_packets_per_s: Option<f64>,
    /// Kilobytes (1000) per second received over the interface.
    pub rx_kb_per_s: Option<f64>,
    /// Kilobytes (1000) per second sent over the interface.
    pub tx_kb_per_s: Option<f64>,
    /// Resident memory of the system under test at the end of the load.
    pub memory_bytes: Option<u64>,
    /// Growth of the resident memory per account or key during filling.
    pub memory_bytes_per_account: Option<f64>,
    /// Business operations in the measured interval.
    pub operations: Option<u64>,
    /// Growth of the log; None for other targets, and where scurry had no log.
    pub log: Option<LogGrowth>,
}

/// One run of a row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Number of the run, from 1.
    pub run: u32,
    /// Figures of the run.
    #[serde(flatten)]
    pub figures: Figures,
    /// Verdict of the audit.
    pub audit: String,
    /// Error replies.
    pub errors: ErrorTally,
    /// Latencies per kind of operation.
    pub by_operation: Vec<OperationResult>,
    /// Figures of each second.
    pub timeline: Vec<Second>,
    /// Search for the highest rate, if there was one: the figures are of that rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Found>,
    /// Latencies of reading the totals under load, if they were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<TotalsReads>,
    /// Reports for which nothing was granted, in usage loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denials: Option<u64>,
    /// Losses, in a scenario with an event on a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Snapshot under load and restart after a kill, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revival: Option<RestartFigures>,
    /// Syncs of the server with the slow disk, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<Syncs>,
    /// Counts of the requests of live sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveCounts>,
    /// CPU time of the threads of the system under test for one operation, microseconds, by their names without numbers.
    /// Not in the JSON.
    #[serde(skip)]
    pub thread_us_per_op: BTreeMap<String, f64>,
    /// When the measured interval began and ended, ms since 1970. Not in the JSON.
    #[serde(skip)]
    pub interval_ms: (i64, i64),
}

/// Effect of an event on a node in one run. It is kept even when the audit failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Acknowledged requests that are missing.
    pub lost: u64,
    /// Requests executed more than once.
    pub done_twice: u64,
    /// Longest time after the event in which no client got an answer, milliseconds.
    pub gap_ms: f64,
    /// Number of resends, because the outcome was unknown.
    pub resent: u64,
    /// Answers marked as replayed.
    pub replayed: u64,
    /// Time from the event until all nodes were connected again, milliseconds.
    #[serde(default)]
    pub whole_ms: f64,
    /// 99th percentile of the latencies before the event, microseconds.
    #[serde(default)]
    pub p99_before_us: f64,
    /// 99th percentile between the event and all nodes being connected again, microseconds.
    #[serde(default)]
    pub p99_meanwhile_us: f64,
}

/// Effect of the events over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Acknowledged requests that are missing, of all runs.
    pub lost: u64,
    /// Requests executed more than once, of all runs.
    pub done_twice: u64,
    /// Median of the runs' gaps, milliseconds.
    pub gap_ms_median: f64,
    /// Longest gap, milliseconds.
    pub gap_ms_max: f64,
    /// Median time until all nodes were connected again, milliseconds.
    #[serde(default)]
    pub whole_ms_median: f64,
    /// Median of the runs' 99th percentiles before the event, microseconds.
    #[serde(default)]
    pub p99_before_us_median: f64,
    /// Median of the runs' 99th percentiles until all nodes were connected again, microseconds.
    #[serde(default)]
    pub p99_meanwhile_us_median: f64,
}

/// Range of the throughput over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Difference in percent of the median.
    pub percent: f64,
}

/// Throughput against another target, over the pairs of runs of the same number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Name of the other target.
    pub to: String,
    /// Median of the pairs.
    pub median: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Number of pairs.
    pub pairs: usize,
}

impl Run {
    /// Creates a run that ended without figures.
    pub fn failed(run: u32, audit: String) -> Run {
        Run { run, audit, ..Run::default() }
    }

    /// Reports whether the audit passed, or there was nothing to audit.
    pub fn is_sound(&self) -> bool {
        self.audit == AUDIT_OK || self.audit == AUDIT_NONE
    }
}

impl Row {
    /// Returns the scenario, and the step if it has several.
    pub fn title(&self) -> String {
        match &self.step {
            Some(step) => format!("{} {step}", self.scenario),
            None => self.scenario.clone(),
        }
    }

    /// Reports whether the audit passed, or there was nothing to audit.
    pub fn is_sound(&self) -> bool {
        self.audit == AUDIT_OK || self.audit == AUDIT_NONE
    }

    /// Takes over the figures of the median run. One run that failed leaves the row without figures.
    pub fn conclude(&mut self) {
        self.losses = losses(&self.runs);
        if let Some(run) = self.runs.iter().find(|run| !run.is_sound()) {
            self.audit.clone_from(&run.audit);
            self.figures = Figures::default();
            return;
        }
        let rates: Vec<f64> =
            self.runs.iter().filter_map(|run| run.figures.business_ops_per_s).collect();
        let Some(median) = median_index(&rates) else {
            // A search that found no sustained rate has an audit but no figures.
            if let Some(run) = self.runs.first() {
                self.audit.clone_from(&run.audit);
            }
            return;
        };
        self.audit.clone_from(&self.runs[median].audit);
        self.figures = self.runs[median].figures.clone();
        if rates.len() > 1 {
            let (min, max) = range(&rates);
            let percent = crate::figures::percent(max - min, rates[median]);
            self.spread = Some(Spread { min, max, percent: crate::figures::rounded(percent, 1) });
        }
    }
}

/// Sums up the losses of the runs, whether their audits passed or not.
fn losses(runs: &[Run]) -> Option<Losses> {
    let all: Vec<Loss> = runs.iter().filter_map(|run| run.loss).collect();
    let gaps: Vec<f64> = all.iter().map(|loss| loss.gap_ms).collect();
    let median =
        |of: fn(&Loss) -> f64| crate::figures::median(&all.iter().map(of).collect::<Vec<_>>());
    Some(Losses {
        lost: all.iter().map(|loss| loss.lost).sum(),
        done_twice: all.iter().map(|loss| loss.done_twice).sum(),
        gap_ms_median: crate::figures::median(&gaps)?,
        gap_ms_max: range(&gaps).1,
        whole_ms_median: median(|loss| loss.whole_ms)?,
        p99_before_us_median: median(|loss| loss.p99_before_us)?,
        p99_meanwhile_us_median: median(|loss| loss.p99_meanwhile_us)?,
    })
}

/// Groups the rows by scenario and load, in order of first appearance.
pub fn by_load(rows: &[Row]) -> Vec<Vec<Row>> {
    let key = |row: &Row| {
        let load = &row.load;
        let form = (load.sessions, load.connections, load.depth, load.accounts);
        (row.title(), form, load.rate.map(f64::to_bits), row.stand.clone())
    };
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| key(&group[0]) == key(row)) {
            Some(group) => group.push(row.clone()),
            None => groups.push(vec![row.clone()]),
        }
    }
    groups
}

/// Computes the ratios between all rows that have figures.
pub fn compare(rows: &mut [Row]) {
    let rates: Vec<(String, Vec<Option<f64>>)> = rows
        .iter()
        .map(|row| {
            let sound = row.figures.business_ops_per_s.is_some();
            let rate = |run: &Run| run.figures.business_ops_per_s.filter(|_| sound);
            (row.target.clone(), row.runs.iter().map(rate).collect())
        })
        .collect();
    for (index, row) in rows.iter_mut().enumerate() {
        row.ratios = rates
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .filter_map(|(_, (to, others))| ratio(to, &rates[index].1, others))
            .collect();
    }
}

fn ratio(to: &str, own: &[Option<f64>], others: &[Option<f64>]) -> Option<Ratio> {
    let pairs: Vec<f64> = own
        .iter()
        .zip(others)
        .filter_map(|(own, other)| Some((*own)? / (*other).filter(|rate| *rate > 0.0)?))
        .collect();
    let median = pairs[median_index(&pairs)?];
    let (min, max) = range(&pairs);
    let round = |value| crate::figures::rounded(value, 3);
    Some(Ratio {
        to: to.to_owned(),
        median: round(median),
        min: round(min),
        max: round(max),
        pairs: pairs.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(target: &str, rates: &[f64], audit: &str) -> Row {
        let run = |(index, rate): (usize, &f64)| Run {
            run: u32::try_from(index + 1).unwrap(),
            figures: Figures { business_ops_per_s: Some(*rate), ..Figures::default() },
            audit: audit.to_owned(),
            ..Run::default()
        };
        let runs = rates.iter().enumerate().map(run).collect();
        let mut row = Row { target: target.to_owned(), runs, ..Row::default() };
        row.conclude();
        row
    }

    #[test]
    fn the_median_run_and_the_spread_make_the_row() {
        let row = row("a", &[100.0, 300.0, 200.0], AUDIT_OK);
        assert_eq!(row.figures.business_ops_per_s, Some(200.0));
        assert_eq!(row.spread, Some(Spread { min: 100.0, max: 300.0, percent: 100.0 }));
        assert_eq!(row.audit, "ok");
    }

    #[test]
    fn one_unsound_run_leaves_no_number() {
        let mut row = row("a", &[100.0, 300.0], AUDIT_OK);
        row.runs[1].audit = "failed audit: a unit is lost".to_owned();
        row.conclude();
        assert_eq!(row.figures.business_ops_per_s, None);
        assert_eq!(row.audit, "failed audit: a unit is lost");
        assert!(!row.is_sound());
    }

    #[test]
    fn losses_are_counted_over_all_runs_and_stand_in_a_row_that_failed() {
        let mut row = row("a", &[100.0, 300.0, 200.0], AUDIT_OK);
        assert!(row.losses.is_none());
        let json = serde_json::to_value(&row).unwrap();
        assert!(json.get("lost").is_none());
        for (run, (lost, done_twice, gap_ms)) in
            row.runs.iter_mut().zip([(0, 0, 500.0), (2, 1, 900.0), (1, 0, 400.0)])
        {
            run.loss = Some(Loss { lost, done_twice, gap_ms, ..Loss::default() });
        }
        row.runs[1].audit = "failed audit: 2 acknowledged requests are lost".to_owned();
        row.conclude();
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(json["business_ops_per_s"], serde_json::Value::Null);
        let counts = [&json["lost"], &json["done_twice"]];
        assert_eq!(counts, [&serde_json::json!(3), &serde_json::json!(1)]);
        let gaps = [&json["gap_ms_median"], &json["gap_ms_max"]];
        assert_eq!(gaps, [&serde_json::json!(500.0), &serde_json::json!(900.0)]);
        let read: Row = serde_json::from_value(json).unwrap();
        assert_eq!(read.losses, row.losses);
        let plain: Row = serde_json::from_str("{}").unwrap();
        assert!(plain.losses.is_none());
    }

    #[test]
    fn ratios_pair_runs_of_the_same_number() {
        let mut rows = [
            row("a", &[100.0, 200.0], AUDIT_OK),
            row("b", &[50.0, 50.0], AUDIT_OK),
            row("c", &[1.0], "lost"),
        ];
        compare(&mut rows);
        let expected = Ratio { to: "b".into(), median: 2.0, min: 2.0, max: 4.0, pairs: 2 };
        assert_eq!(rows[0].ratios, [expected]);
        assert_eq!(rows[1].ratios[0].to, "a");
        assert!(rows[2].ratios.is_empty());
    }

    #[test]
    fn the_json_has_the_documented_keys() {
        let mut row = row("a", &[100.0], AUDIT_OK);
        row.runs[0].figures.latency_us = Some(LatencySummary::default());
        row.conclude();
        let json = serde_json::to_value(Report { rows: vec![row] }).unwrap();
        assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["rows"]);
        let row = &json["rows"][0];
        for key in [
            "scenario",
            "target",
            "business_ops_per_s",
            "latency_us",
            "cpu_percent",
            "cpu_us_per_op",
            "loader_idle_percent",
            "durability",
            "replicas",
            "audit",
            "runs",
            "sessions",
            "kernel",
        ] {
            assert!(row.get(key).is_some(), "{key}");
        }
        let latencies: Vec<&String> = row["latency_us"].as_object().unwrap().keys().collect();
        assert_eq!(latencies, ["avg", "max", "p50", "p90", "p95", "p99", "p999"]);
        assert_eq!(row["audit"], "ok");
    }
}
