//! Everything that the loader counts: latencies per operation, throughput per second.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::connection::RequestInFlight;
use super::{SECOND_NS, seconds};
use crate::figures::{per, rounded};
use crate::latency::{LatencyRecorder, LatencySummary};

/// Figures of the interval between two updates of the live line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Second {
    /// Seconds since the load began.
    pub elapsed: f64,
    /// Operations per second in this interval.
    pub ops_per_s: f64,
    /// Median of the interval, microseconds; 0 in results that lack it.
    pub p50_us: f64,
    /// 99th percentile of the interval, microseconds.
    pub p99_us: f64,
    /// Error replies since the load began.
    pub errors: u64,
    /// True within the measured interval.
    pub measured: bool,
}

/// Latencies of one kind of operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationResult {
    /// Name of the operation.
    pub operation: String,
    /// Number of answers.
    pub count: u64,
    /// Latencies of the operation, microseconds.
    pub latency_us: LatencySummary,
}

/// Figures of the load over the measured interval.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// Length of the interval, seconds.
    pub seconds: f64,
    /// Operations answered in it.
    pub operations: u64,
    /// Latencies of all operations, microseconds.
    pub latency_us: LatencySummary,
    /// The same per kind of operation.
    pub by_operation: Vec<OperationResult>,
    /// CPU seconds of the loader's thread.
    pub loader_cpu_seconds: f64,
    /// Operations executed on fewer copies than required; None when no number was required.
    pub not_enough_copies: Option<u64>,
    /// Figures of each second.
    pub timeline: Vec<Second>,
    /// Latencies of an open loop since each request was written, microseconds; None for a closed loop, where they equal
    /// those above.
    pub uncorrected_us: Option<LatencySummary>,
    /// True when the load was ended early.
    pub stopped: bool,
}

impl Second {
    /// Rounds for the report; the live line prints the exact figures.
    fn rounded(&self) -> Second {
        Second {
            elapsed: rounded(self.elapsed, 3),
            ops_per_s: rounded(self.ops_per_s, 1),
            p50_us: rounded(self.p50_us, 2),
            p99_us: rounded(self.p99_us, 2),
            errors: self.errors,
            measured: self.measured,
        }
    }
}

/// Recorder of the load. Latencies go to the current interval, which is added to the totals at its end, so that the
/// live line costs nothing per operation.
#[derive(Debug)]
pub(super) struct Recorder {
    names: Vec<String>,
    interval: Vec<LatencyRecorder>,
    totals: Vec<LatencyRecorder>,
    /// Latencies since each request was written, over the measured interval.
    uncorrected: Option<LatencyRecorder>,
    interval_started: u64,
    measuring: bool,
    not_enough: u64,
    timeline: Vec<Second>,
}

impl Recorder {
    pub(super) fn new(names: &[String], has_clock: bool) -> Result<Recorder> {
        let recorders = || names.iter().map(|_| LatencyRecorder::new()).collect::<Result<Vec<_>>>();
        Ok(Recorder {
            names: names.to_vec(),
            interval: recorders()?,
            totals: recorders()?,
            uncorrected: has_clock.then(LatencyRecorder::new).transpose()?,
            interval_started: 0,
            measuring: false,
            not_enough: 0,
            timeline: Vec::new(),
        })
    }

    #[inline]
    pub(super) fn record(&mut self, request: &RequestInFlight, now: u64) {
        let nanos = now.saturating_sub(request.sent);
        self.interval[usize::from(request.operation)].record(nanos);
        if self.measuring
            && let Some(uncorrected) = &mut self.uncorrected
        {
            uncorrected.record(now.saturating_sub(request.written));
        }
    }

    /// Counts operations that are on too few copies.
    #[inline]
    pub(super) fn not_enough(&mut self, count: u64) {
        if self.measuring {
            self.not_enough += count;
        }
    }

    /// Returns when the current interval should end.
    pub(super) fn next_tick(&self) -> u64 {
        self.interval_started + SECOND_NS
    }

    pub(super) fn begin_measuring(&mut self, now: u64) {
        self.interval.iter_mut().for_each(LatencyRecorder::clear);
        self.interval_started = now;
        self.measuring = true;
    }

    /// Ends the measured interval: later answers do not count.
    pub(super) fn end_measuring(&mut self, now: u64, errors: u64) {
        self.close_interval(now, errors);
        // Drop a last interval without throughput: it was measured in the same instant.
        self.timeline.pop_if(|second| second.ops_per_s == 0.0);
        self.measuring = false;
    }

    pub(super) fn close_interval(&mut self, now: u64, errors: u64) -> Second {
        let length = seconds(now.saturating_sub(self.interval_started).max(1));
        let mut all = self.interval[0].clone();
        self.interval[1..].iter().for_each(|recorder| all.add(recorder));
        let second = Second {
            elapsed: seconds(now),
            ops_per_s: per(all.count(), length),
            p50_us: all.quantile_us(0.5),
            p99_us: all.quantile_us(0.99),
            errors,
            measured: self.measuring,
        };
        if self.measuring {
            for (total, interval) in self.totals.iter_mut().zip(&self.interval) {
                total.add(interval);
            }
            self.timeline.push(second.rounded());
        }
        self.interval.iter_mut().for_each(LatencyRecorder::clear);
        self.interval_started = now;
        second
    }

    pub(super) fn finish(
        self,
        length: u64,
        loader_cpu: u64,
        copies_asked: bool,
    ) -> Result<LoadResult> {
        let mut all = self.totals[0].clone();
        self.totals[1..].iter().for_each(|recorder| all.add(recorder));
        let by_operation = self
            .names
            .into_iter()
            .zip(&self.totals)
            .map(|(operation, total)| OperationResult {
                operation,
                count: total.count(),
                latency_us: total.summary().rounded(),
            })
            .collect();
        Ok(LoadResult {
            seconds: seconds(length),
            operations: all.count(),
            latency_us: all.summary().rounded(),
            by_operation,
            loader_cpu_seconds: seconds(loader_cpu),
            not_enough_copies: copies_asked.then_some(self.not_enough),
            timeline: self.timeline,
            uncorrected_us: self.uncorrected.map(|uncorrected| uncorrected.summary().rounded()),
            stopped: false,
        })
    }
}
