//! Latencies of requests, in a histogram.

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use std::time::Duration;

/// Longest latency that the histogram resolves, ns: one minute. Longer ones count as one minute.
const LATENCY_NS_MAX: u64 = 60_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Latencies in nanoseconds.
pub(super) struct Latencies(Histogram<u64>);

impl Latencies {
    pub(super) fn new() -> Result<Latencies> {
        Histogram::new_with_bounds(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS)
            .map(Latencies)
            .context("the bounds of the histogram")
    }

    /// Counts `count` requests that took this long each.
    pub(super) fn record(&mut self, latency: Duration, count: u64) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record_n(ns, count);
    }

    /// Adds the latencies of another connection.
    pub(super) fn add(&mut self, other: &Latencies) {
        // Both histograms have the same bounds, so this cannot fail.
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok());
    }

    /// Returns the latency that this share of the requests does not exceed, in microseconds.
    pub(super) fn quantile_us(&self, share: f64) -> u64 {
        self.0.value_at_quantile(share) / 1_000
    }
}
