//! Progress of a tool that goes over keys: a bar on a terminal, otherwise a line for each tenth.

use std::io::{IsTerminal, Write, stderr};

const BAR_LEN: u64 = 30;

/// Number of keys that are done: a bar on a terminal, otherwise a line for each tenth.
pub(crate) struct KeyProgress {
    noun: &'static str,
    is_terminal: bool,
    all: u64,
    done: u64,
    /// Hundredths (bar) or tenths (lines) shown so far.
    shown: u64,
}

impl KeyProgress {
    /// Begins with this number of keys, which a noun names.
    pub(crate) fn new(noun: &'static str, all: u64) -> KeyProgress {
        let is_terminal = stderr().is_terminal();
        KeyProgress { noun, is_terminal, all: all.max(1), done: 0, shown: 0 }
    }

    /// Adds keys that are done.
    pub(crate) fn add(&mut self, keys: u64) {
        self.done += keys;
        // Deletions are copied too, but were not counted as keys before.
        self.all = self.all.max(self.done);
        let steps = if self.is_terminal { 100 } else { 10 };
        let step = self.done.saturating_mul(steps) / self.all;
        if step <= self.shown {
            return;
        }
        self.shown = step;
        let (done, all, noun) = (self.done, self.all, self.noun);
        let percent = done.saturating_mul(100) / all;
        if self.is_terminal {
            let full = usize::try_from((done.saturating_mul(BAR_LEN) / all).min(BAR_LEN));
            let bar = "=".repeat(full.unwrap_or(0));
            eprint!("\r\x1b[K[{bar:<30}] {percent} % of {all} {noun}");
            // A bar that is not shown does no harm.
            let _ = stderr().flush();
        } else {
            eprintln!("{done} of {all} {noun} ({percent} %)");
        }
    }

    /// Clears the bar.
    pub(crate) fn end(&self) {
        if self.is_terminal && self.shown > 0 {
            eprint!("\r\x1b[K");
        }
    }
}
