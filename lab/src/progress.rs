//! What a person sees while the lab works: one line on stderr, rewritten on a terminal, written
//! anew once a second elsewhere.

use std::io::{IsTerminal, Write, stderr};

use crate::clock::Clock;
use crate::figures::per;
use crate::loader::Second;

/// The live line.
#[derive(Clone, Debug)]
pub struct Progress {
    prefix: String,
    quiet: bool,
    terminal: bool,
    total_seconds: f64,
    clock: Clock,
}

const BAR_WIDTH: usize = 30;

/// How much is done, as a picture.
fn bar(done: usize, total: usize) -> String {
    let full = (BAR_WIDTH * done.min(total)).checked_div(total).unwrap_or(BAR_WIDTH);
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR_WIDTH - full))
}

impl Progress {
    /// A line for one run of one target.
    pub fn new(prefix: &str, quiet: bool, total_seconds: f64) -> Progress {
        let terminal = stderr().is_terminal();
        Progress {
            prefix: prefix.to_owned(),
            quiet,
            terminal,
            total_seconds,
            clock: Clock::start(),
        }
    }

    /// Says something that stays.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.write(&format!("{}: {text}", self.prefix), true);
        }
    }

    /// Shows how far the filling is.
    pub fn filling(&self, done: usize, total: usize) {
        // On a file every step would be noise.
        if !self.quiet && (self.terminal || done == total) {
            let rate = per(done as u64, self.clock.elapsed().as_secs_f64());
            let line = format!(
                "{}: {} {done} of {total}, {rate:.0} a second since the start",
                self.prefix,
                bar(done, total)
            );
            self.write(&line, done == total);
        }
    }

    /// Shows the last second of the load.
    pub fn second(&self, second: &Second) {
        if self.quiet {
            return;
        }
        let stage = if second.measured { "measuring" } else { "warm-up" };
        let line = format!(
            "{}: {:>5.1} of {:.1} s  {stage:<9}  {:>9.0} ops/s  p99 {:>8.0} us",
            self.prefix, second.elapsed, self.total_seconds, second.ops_per_s, second.p99_us
        );
        self.write(&line, second.elapsed >= self.total_seconds);
    }

    fn write(&self, line: &str, last: bool) {
        let mut out = stderr().lock();
        // Progress that cannot be shown must not end a run.
        let _ = if self.terminal {
            write!(out, "\r\x1b[K{line}{}", if last { "\n" } else { "" }).and_then(|()| out.flush())
        } else {
            writeln!(out, "{line}")
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_from_the_left() {
        let filled = |done, total| bar(done, total).matches('#').count();
        assert_eq!([filled(0, 10), filled(5, 10), filled(10, 10), filled(0, 0)], [0, 15, 30, 30]);
        assert_eq!(bar(1, 3).len(), BAR_WIDTH + 2);
    }
}
