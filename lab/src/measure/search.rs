//! The highest rate that keeps a limit: one load after the other on the same store.

use anyhow::Result;

use super::Bench;
use crate::progress::Progress;
use crate::row::Run;
use crate::scenario::Search;
use crate::search::{Found, Seeker, Trial};

/// A rate is kept when this share of it is answered.
const KEPT_RATE_MIN: f64 = 0.99;
/// A second this many times above the limit ends a trial.
const AUTOSTOP_TIMES: f64 = 10.0;

impl Bench<'_> {
    /// Tries rate after rate with `load`, which takes the rate and the 99th percentile of a second
    /// that ends it, microseconds. Gives the run of the highest rate that kept the limit, or one
    /// without figures.
    pub(super) fn seek(
        &self,
        search: &Search,
        progress: &Progress,
        mut load: impl FnMut(f64, Option<f64>) -> Result<(Run, bool)>,
    ) -> Result<Run> {
        let limit_us = search.p99_ms * 1_000.0;
        let mut seeker = Seeker::new(search);
        let mut best: Option<Run> = None;
        let mut found = Found { p99_ms: search.p99_ms, ..Found::default() };
        let mut errors = None;
        while let Some(rate) = seeker.rate() {
            self.go_on()?;
            let (run, stopped) = load(rate, Some(AUTOSTOP_TIMES * limit_us))?;
            let ops_per_s = run.figures.business_ops_per_s.unwrap_or(0.0);
            let p99_us = run.figures.latency_us.as_ref().map_or(0.0, |latency| latency.p99);
            let kept = !stopped && p99_us <= limit_us && ops_per_s >= rate * KEPT_RATE_MIN;
            found.trials.push(Trial { rate, ops_per_s, p99_us, stopped, kept });
            progress.note(&format!(
                "{rate:.0} requests/s: p99 {:.2} ms, {}",
                p99_us / 1_000.0,
                if kept { "kept" } else { "missed" }
            ));
            seeker.tell(rate, kept);
            errors = Some(run.errors.clone());
            if kept && found.rate.is_none_or(|known| rate > known) {
                found.rate = Some(rate);
                best = Some(run);
            }
        }
        let mut run = best.unwrap_or_default();
        // Those of every trial, and not of the one that is shown alone.
        run.errors = errors.unwrap_or_default();
        run.search = Some(found);
        Ok(run)
    }
}
