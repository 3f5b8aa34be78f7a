//! The search for the highest rate that keeps a limit: up until one does not, then between the two.

use serde::{Deserialize, Serialize};

use crate::scenario::Search;

/// Below this no rate is tried.
const RATE_MIN: f64 = 1.0;

/// One rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Requests per second by the clock.
    pub rate: f64,
    /// Operations answered per second.
    pub ops_per_s: f64,
    /// 99th percentile from when a request was meant to be sent, microseconds.
    pub p99_us: f64,
    /// Whether the trial was ended early: a second was far above the limit.
    pub stopped: bool,
    /// Whether the target answered what came, within the limit.
    pub kept: bool,
}

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The limit of the 99th percentile, milliseconds.
    pub p99_ms: f64,
    /// The highest rate that kept it; none where none did.
    pub rate: Option<f64>,
    /// All that were tried, in order.
    pub trials: Vec<Trial>,
}

/// A search on its way.
#[derive(Clone, Debug)]
pub struct Seeker<'s> {
    plan: &'s Search,
    /// The highest rate that kept the limit.
    kept: Option<f64>,
    /// The lowest that did not.
    missed: Option<f64>,
    tried: u32,
}

impl<'s> Seeker<'s> {
    /// A search that has tried nothing.
    pub fn new(plan: &'s Search) -> Seeker<'s> {
        Seeker { plan, kept: None, missed: None, tried: 0 }
    }

    /// The rate to try next; none at the end.
    pub fn rate(&self) -> Option<f64> {
        if self.tried >= self.plan.trials_max {
            return None;
        }
        let rate = match (self.kept, self.missed) {
            (None, None) => self.plan.from,
            (Some(kept), None) => kept * self.plan.growth,
            (None, Some(missed)) => missed / self.plan.growth,
            (Some(kept), Some(missed)) => {
                if missed <= kept * (1.0 + self.plan.precision_percent / 100.0) {
                    return None;
                }
                (kept * missed).sqrt()
            }
        };
        (rate >= RATE_MIN).then(|| rate.round())
    }

    /// How the rate did.
    pub fn tell(&mut self, rate: f64, kept: bool) {
        self.tried += 1;
        if kept {
            self.kept = Some(self.kept.map_or(rate, |known| known.max(rate)));
        } else {
            self.missed = Some(self.missed.map_or(rate, |known| known.min(rate)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(from: f64) -> Search {
        Search { p99_ms: 10.0, from, growth: 2.0, precision_percent: 5.0, trials_max: 50 }
    }

    /// Searches a store that keeps the limit up to `knee`. Gives the rate and how many were tried.
    fn search(plan: &Search, knee: f64) -> (Option<f64>, u32) {
        let mut seeker = Seeker::new(plan);
        while let Some(rate) = seeker.rate() {
            seeker.tell(rate, rate <= knee);
        }
        (seeker.kept, seeker.tried)
    }

    #[test]
    fn the_knee_is_found_within_the_precision() {
        for (from, knee) in [(1_000.0, 74_321.0), (100_000.0, 74_321.0), (1_000.0, 1_000.0)] {
            let (found, tried) = search(&plan(from), knee);
            let found = found.unwrap();
            assert!(found <= knee && found * 1.051 >= knee, "{from}: {found} for {knee}");
            assert!(tried < 20, "{tried}");
        }
    }

    #[test]
    fn a_search_ends_where_no_rate_keeps_the_limit_or_all_do() {
        assert_eq!(search(&plan(64.0), 0.0), (None, 7));
        let few = Search { trials_max: 3, ..plan(10.0) };
        assert_eq!(search(&few, f64::MAX), (Some(40.0), 3));
    }
}
