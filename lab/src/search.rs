//! The search for the highest rate within a limit: upwards until a rate fails, then between the two.

use serde::{Deserialize, Serialize};

use crate::scenario::Search;

/// Lowest rate that is tried.
const RATE_MIN: f64 = 1.0;

/// One trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Requests per second sent.
    pub rate: f64,
    /// Operations answered per second.
    pub ops_per_s: f64,
    /// 99th percentile since a request was due, microseconds.
    pub p99_us: f64,
    /// True when the trial was ended early, because a second was far above the limit.
    pub stopped: bool,
    /// True when the target sustained the rate within the limit.
    pub kept: bool,
}

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Limit of the 99th percentile, milliseconds.
    pub p99_ms: f64,
    /// Highest sustained rate; None when no rate was sustained.
    pub rate: Option<f64>,
    /// All trials, in order.
    pub trials: Vec<Trial>,
}

/// Search in progress.
#[derive(Clone, Debug)]
pub struct RateSearch<'s> {
    plan: &'s Search,
    /// Highest rate that was sustained.
    kept: Option<f64>,
    /// Lowest rate that failed.
    missed: Option<f64>,
    /// Trials of a rate that is not decided yet.
    open: Option<Tries>,
    tried: u32,
}

/// Trials of one rate.
#[derive(Clone, Copy, Debug)]
struct Tries {
    rate: f64,
    kept: u32,
    missed: u32,
}

impl<'s> RateSearch<'s> {
    /// Creates a search without trials.
    pub fn new(plan: &'s Search) -> RateSearch<'s> {
        RateSearch { plan, kept: None, missed: None, open: None, tried: 0 }
    }

    /// Returns the rate to try next; None at the end.
    pub fn rate(&self) -> Option<f64> {
        if self.tried >= self.plan.trials_max {
            return None;
        }
        if let Some(tries) = &self.open {
            return Some(tries.rate);
        }
        let rate = match (self.kept, self.missed) {
            (None, None) => self.plan.from,
            (Some(kept), None) => kept * self.plan.growth,
            (None, Some(missed)) => missed / self.plan.growth,
            (Some(kept), Some(missed)) => {
                if missed <= kept * (1.0 + self.plan.precision_percent / 100.0) {
                    return None;
                }
                // The geometric mean, because rates span orders of magnitude.
                (kept * missed).sqrt()
            }
        };
        (rate >= RATE_MIN).then(|| rate.round())
    }

    /// Records a trial. A rate that stays within the limit at once is sustained. A rate that misses it is tried again,
    /// as often as the plan says, and is sustained when most of its trials were within the limit. So one pause of the
    /// device or the machine does not decide, and neither does one lucky trial.
    pub fn tell(&mut self, rate: f64, kept: bool) {
        self.tried += 1;
        let mut tries = self.open.take().unwrap_or(Tries { rate, kept: 0, missed: 0 });
        *(if kept { &mut tries.kept } else { &mut tries.missed }) += 1;
        let most = self.plan.tries / 2 + 1;
        if tries.missed == 0 || tries.kept >= most {
            self.kept = Some(self.kept.map_or(rate, |known| known.max(rate)));
        } else if tries.missed >= most {
            self.missed = Some(self.missed.map_or(rate, |known| known.min(rate)));
        } else {
            self.open = Some(tries);
        }
    }

    /// Returns the highest sustained rate.
    pub fn kept(&self) -> Option<f64> {
        self.kept
    }
}

impl Found {
    /// Returns how many different rates were tried.
    pub fn rates(&self) -> usize {
        let mut rates: Vec<f64> = self.trials.iter().map(|trial| trial.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(from: f64) -> Search {
        Search { p99_ms: 10.0, from, growth: 2.0, precision_percent: 5.0, trials_max: 50, tries: 1 }
    }

    /// Searches a store that stays within the limit up to `knee`. Returns the rate and the number of trials.
    fn search(plan: &Search, knee: f64) -> (Option<f64>, u32) {
        let mut seeker = RateSearch::new(plan);
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

    /// Searches with three trials per rate a store that stays within the limit up to `knee`; the listed trials, counted
    /// from 1, give the opposite result.
    fn search_thrice(knee: f64, other_way: &[u32]) -> Vec<(f64, bool)> {
        let plan = Search { tries: 3, ..plan(1_000.0) };
        let mut seeker = RateSearch::new(&plan);
        let mut trials = Vec::new();
        while let Some(rate) = seeker.rate() {
            let kept = (rate <= knee) != other_way.contains(&(seeker.tried + 1));
            seeker.tell(rate, kept);
            trials.push((rate, kept));
        }
        let trial = |&(rate, kept): &(f64, bool)| Trial {
            rate,
            ops_per_s: rate,
            p99_us: 0.0,
            stopped: false,
            kept,
        };
        let all = Found { trials: trials.iter().map(trial).collect(), ..Found::default() };
        assert!(all.rates() < trials.len(), "rates that miss are tried again: {trials:?}");
        let found = seeker.kept().unwrap_or(0.0);
        assert!(found <= knee && found * 1.051 >= knee, "{found} for {knee}: {trials:?}");
        trials
    }

    #[test]
    fn one_pause_does_not_decide_and_neither_does_one_lucky_try() {
        let steady = search_thrice(74_321.0, &[]);
        let misses = steady.iter().filter(|(_, kept)| !kept).count();
        assert_eq!(misses % 2, 0, "each rate that misses twice is missed");
        // The first trial misses because of a pause, and the two that follow are within the limit.
        let paused = search_thrice(74_321.0, &[1]);
        assert_eq!(paused[..3], [(1_000.0, false), (1_000.0, true), (1_000.0, true)]);
        assert_eq!(paused.len(), steady.len() + 2);
        // A rate that is too high misses, is lucky once, and misses again.
        let first = steady.iter().position(|(_, kept)| !kept).unwrap();
        let lucky = search_thrice(74_321.0, &[u32::try_from(first).unwrap() + 2]);
        let rate = steady[first].0;
        assert_eq!(lucky[first..first + 3], [(rate, false), (rate, true), (rate, false)]);
    }

    #[test]
    fn an_undecided_rate_is_neither_kept_nor_missed() {
        let plan = Search { tries: 3, trials_max: 2, ..plan(10.0) };
        let mut seeker = RateSearch::new(&plan);
        for kept in [false, true] {
            assert_eq!(seeker.rate(), Some(10.0));
            seeker.tell(10.0, kept);
        }
        assert_eq!((seeker.rate(), seeker.kept()), (None, None));
    }
}
