//! What a person sees while the lab works: one line on stderr, rewritten on a terminal, written
//! anew once a second elsewhere.

use std::io::{IsTerminal, Write, stderr};

use crate::loader::Second;

/// The live line.
#[derive(Clone, Debug)]
pub struct Progress {
    prefix: String,
    quiet: bool,
    terminal: bool,
    total_seconds: f64,
}

impl Progress {
    /// A line for one run of one target.
    pub fn new(prefix: &str, quiet: bool, total_seconds: f64) -> Progress {
        let terminal = stderr().is_terminal();
        Progress { prefix: prefix.to_owned(), quiet, terminal, total_seconds }
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
            self.write(&format!("{}: filled {done} of {total}", self.prefix), done == total);
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
