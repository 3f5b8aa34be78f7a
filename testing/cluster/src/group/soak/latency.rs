//! Latencies of one class of requests, from the time at which each was due, and the longest time without any answer.

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest latency that is told apart, us: ten minutes.
const LATENCY_US_MAX: u64 = 600_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Latencies of a class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Latencies {
    histogram: Histogram<u64>,
    pub(super) silence_ns: i64,
}

/// Latencies of a class in a file: how many requests took about how many us, and the longest silence, us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptLatencies {
    pub(super) requests: Vec<(u64, u64)>,
    pub(super) silence_us: u64,
}

impl Latencies {
    pub(super) fn new() -> Result<Latencies> {
        let histogram = Histogram::new_with_bounds(1, LATENCY_US_MAX, SIGNIFICANT_DIGITS);
        Ok(Latencies { histogram: histogram.context("the bounds of a histogram")?, silence_ns: 0 })
    }

    /// Counts a request.
    pub(super) fn record(&mut self, latency_ns: i64) {
        self.histogram.saturating_record(u64::try_from(latency_ns / 1_000).unwrap_or(0).max(1));
    }

    /// Notes a time without any answer.
    pub(super) fn silent(&mut self, gap_ns: i64) {
        self.silence_ns = self.silence_ns.max(gap_ns);
    }

    pub(super) fn clear(&mut self) {
        self.histogram.reset();
        self.silence_ns = 0;
    }

    pub(super) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the latency that this share of the requests does not exceed, us.
    pub(super) fn quantile_us(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share)
    }

    /// Adds those of another piece.
    pub(super) fn add(&mut self, kept: &KeptLatencies) {
        for (us, count) in &kept.requests {
            self.histogram.saturating_record_n(*us, *count);
        }
        self.silent(i64::try_from(kept.silence_us).unwrap_or(i64::MAX).saturating_mul(1_000));
    }

    pub(super) fn kept(&self) -> KeptLatencies {
        let all = self.histogram.iter_recorded();
        let requests = all.map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        KeptLatencies { requests, silence_us: u64::try_from(self.silence_ns / 1_000).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_pieces_add_up() {
        let mut first = Latencies::new().expect("a histogram");
        (1..=900).for_each(|us| first.record(us * 1_000));
        let mut second = Latencies::new().expect("a histogram");
        (0..100).for_each(|_| second.record(20_000_000));
        second.silent(5_000_000);
        let mut sum = Latencies::new().expect("a histogram");
        sum.add(&first.kept());
        sum.add(&second.kept());
        assert_eq!((sum.count(), sum.silence_ns), (1_000, 5_000_000));
        assert_eq!((sum.quantile_us(0.5), sum.quantile_us(0.9)), (500, 900));
        assert!((19_980..=20_020).contains(&sum.quantile_us(0.95)), "{}", sum.quantile_us(0.95));
        assert_eq!(sum.kept().requests.iter().map(|(_, count)| count).sum::<u64>(), 1_000);
    }
}
