//! Latencies of one kind of operation: an HdrHistogram with three significant digits, and the figures of a row.

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest distinguishable latency, nanoseconds; longer ones count as this.
const LATENCY_NS_MAX: u64 = 60_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Recorder of latencies in nanoseconds.
#[derive(Clone, Debug)]
pub struct LatencyRecorder {
    histogram: Histogram<u64>,
}

/// Figures of a row, microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub avg: f64,
    /// Median.
    pub p50: f64,
    /// 90 of 100 are at or below.
    pub p90: f64,
    /// 95 of 100 are at or below.
    pub p95: f64,
    /// 99 of 100 are at or below.
    pub p99: f64,
    /// 999 of 1000 are at or below.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

impl LatencyRecorder {
    /// Creates an empty recorder.
    ///
    /// # Errors
    /// Never for the built-in bounds; the library's check is passed on.
    pub fn new() -> Result<LatencyRecorder> {
        let histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS)
            .context("the bounds of the latency histogram")?;
        Ok(LatencyRecorder { histogram })
    }

    /// Records one latency.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.histogram.saturating_record(nanos);
    }

    /// Adds everything that `other` recorded.
    pub fn add(&mut self, other: &LatencyRecorder) {
        // Both have the same bounds, so the addition cannot fail.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
    }

    /// Resets the recorder.
    pub fn clear(&mut self) {
        self.histogram.reset();
    }

    /// Returns how many were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the latency at or below which this share (0 to 1) lies, microseconds.
    pub fn quantile_us(&self, share: f64) -> f64 {
        micros(self.histogram.value_at_quantile(share))
    }

    /// Returns the figures of a row.
    pub fn summary(&self) -> LatencySummary {
        if self.count() == 0 {
            return LatencySummary::default();
        }
        LatencySummary {
            avg: self.histogram.mean() / 1_000.0,
            p50: self.quantile_us(0.5),
            p90: self.quantile_us(0.9),
            p95: self.quantile_us(0.95),
            p99: self.quantile_us(0.99),
            p999: self.quantile_us(0.999),
            max: micros(self.histogram.max()),
        }
    }
}

impl LatencySummary {
    /// Rounds to the precision that the histogram has at the scale of microseconds.
    pub fn rounded(&self) -> LatencySummary {
        let round = |value| crate::figures::rounded(value, 2);
        LatencySummary {
            avg: round(self.avg),
            p50: round(self.p50),
            p90: round(self.p90),
            p95: round(self.p95),
            p99: round(self.p99),
            p999: round(self.p999),
            max: round(self.max),
        }
    }
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= expected * 0.002
    }

    #[test]
    fn percentiles_of_a_known_distribution() {
        let mut recorder = LatencyRecorder::new().unwrap();
        for micros in 1..=10_000u64 {
            recorder.record(micros * 1_000);
        }
        let summary = recorder.summary();
        assert!(near(summary.avg, 5_000.5), "{summary:?}");
        assert!(near(summary.p50, 5_000.0), "{summary:?}");
        assert!(near(summary.p90, 9_000.0), "{summary:?}");
        assert!(near(summary.p99, 9_900.0), "{summary:?}");
        assert!(near(summary.p999, 9_990.0), "{summary:?}");
        assert!(near(summary.max, 10_000.0), "{summary:?}");
    }

    #[test]
    fn adding_intervals_is_recording_at_once() {
        let (mut whole, mut total) =
            (LatencyRecorder::new().unwrap(), LatencyRecorder::new().unwrap());
        let mut interval = LatencyRecorder::new().unwrap();
        for nanos in (0..1_000_000).step_by(37) {
            whole.record(nanos);
            interval.record(nanos);
            if nanos % 10 == 0 {
                total.add(&interval);
                interval.clear();
            }
        }
        total.add(&interval);
        assert_eq!(total.summary(), whole.summary());
        assert_eq!(total.count(), whole.count());
    }

    #[test]
    fn an_empty_recorder_is_all_zero_and_a_hang_counts_as_the_longest() {
        let mut recorder = LatencyRecorder::new().unwrap();
        assert_eq!(recorder.summary(), LatencySummary::default());
        recorder.record(u64::MAX);
        assert!(near(recorder.summary().max, 60_000_000.0));
    }
}
