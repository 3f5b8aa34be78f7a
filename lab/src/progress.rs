//! The progress that a person sees while the lab works: one line at the bottom of the terminal. Where stderr is no
//! terminal, each finished run prints one line, so that a log shows where the time goes.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use crate::clock::Clock;
use crate::figures::per;
use crate::loader::Second;
use crate::report::grouped;

/// Position of a run among all runs of one command.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunCount {
    /// Runs that are finished.
    pub done: u32,
    /// Total number of runs; 0 when unknown.
    pub of: u32,
    /// Time that the finished runs took.
    pub taken: Duration,
}

/// Live line.
#[derive(Debug)]
pub struct Progress {
    prefix: String,
    quiet: bool,
    total_seconds: f64,
    step: RunCount,
    clock: Clock,
    /// True when stderr is a terminal and the line is wanted.
    is_live: bool,
}

/// Escape sequence that returns to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[2K";

impl Progress {
    /// Creates the line for one run of one target.
    pub fn new(prefix: &str, quiet: bool, total_seconds: f64) -> Progress {
        let is_live = !quiet && stderr().is_terminal();
        let (prefix, step, clock) = (prefix.to_owned(), RunCount::default(), Clock::start());
        Progress { prefix, quiet, total_seconds, step, clock, is_live }
    }

    /// Sets the position among all runs.
    pub fn with_step(mut self, step: RunCount) -> Progress {
        self.step = step;
        self
    }

    /// Prints a message that stays.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.clear();
            eprintln!("{}: {text}", self.prefix);
        }
    }

    /// Shows the progress of the filling.
    pub fn filling(&self, done: usize, total: usize) {
        let rate = per(done as u64, self.clock.elapsed().as_secs_f64());
        self.show(&format!(
            "filling {} of {}, {} a second",
            grouped(done as f64),
            grouped(total as f64),
            grouped(rate)
        ));
    }

    /// Shows the last second of the load.
    pub fn second(&self, second: &Second) {
        self.show(&self.words(second));
    }

    fn words(&self, second: &Second) -> String {
        let stage = if second.measured { "measuring" } else { "warm-up" };
        let left = self.left(second.elapsed);
        format!(
            "{stage} {:.0} of {:.0} s, {} ops/s, p99 {:.0} us, {} errors, {} left",
            second.elapsed,
            self.total_seconds,
            grouped(second.ops_per_s),
            second.p99_us,
            second.errors,
            clock_words(left)
        )
    }

    /// Estimates the seconds until all runs are finished: the rest of this run, and for each later run the mean of the
    /// finished ones, or the planned time of this one.
    fn left(&self, elapsed: f64) -> f64 {
        let behind = f64::from(self.step.of.saturating_sub(self.step.done + 1));
        let each = match self.step.done {
            0 => self.total_seconds,
            done => self.step.taken.as_secs_f64() / f64::from(done),
        };
        (self.total_seconds - elapsed).max(0.0) + behind * each
    }

    fn show(&self, text: &str) {
        if self.is_live {
            // Ignore the error: a closed terminal is no reason to stop.
            let _ = write!(stderr(), "{CLEAR}{} {text}", self.prefix);
        }
    }

    fn clear(&self) {
        if self.is_live {
            let _ = write!(stderr(), "{CLEAR}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Prints the result of a run and its total time, where there is no live line.
pub fn tell(name: &str, audit: &str, taken: Duration) {
    if !std::io::stderr().is_terminal() {
        eprintln!("{name}: {audit}, {:.1} s", taken.as_secs_f64());
    }
}

/// Formats seconds as minutes and seconds: 75 as 1:15.
fn clock_words(seconds: f64) -> String {
    let seconds = Duration::try_from_secs_f64(seconds.round()).unwrap_or_default().as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_it_goes_and_what_is_left() {
        let second = Second {
            elapsed: 4.0,
            ops_per_s: 86_187.4,
            p99_us: 812.3,
            errors: 3,
            measured: true,
            ..Second::default()
        };
        let alone = Progress::new("a", true, 12.0);
        let expected = "measuring 4 of 12 s, 86 187 ops/s, p99 812 us, 3 errors, 0:08 left";
        assert_eq!(alone.words(&second), expected);
        // Two runs took a minute, and three of five are left including this one.
        let step = RunCount { done: 2, of: 5, taken: Duration::from_secs(60) };
        let one = alone.with_step(step);
        assert!(one.words(&second).ends_with("1:08 left"), "{}", one.words(&second));
    }
}
