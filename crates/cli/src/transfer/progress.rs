//! How many keys are moved: a bar where somebody watches, a line for each tenth where not.

use std::io::{IsTerminal, Write, stderr};

const BAR_LEN: u64 = 30;

pub(super) struct Progress {
    is_terminal: bool,
    all: u64,
    done: u64,
    /// Hundredths or tenths that were shown.
    shown: u64,
}

impl Progress {
    pub(super) fn new(all: u64) -> Progress {
        Progress { is_terminal: stderr().is_terminal(), all: all.max(1), done: 0, shown: 0 }
    }

    pub(super) fn add(&mut self, keys: u64) {
        self.done += keys;
        // Deletions are moved, and not counted as keys before.
        self.all = self.all.max(self.done);
        let steps = if self.is_terminal { 100 } else { 10 };
        let step = self.done.saturating_mul(steps) / self.all;
        if step <= self.shown {
            return;
        }
        self.shown = step;
        let (done, all) = (self.done, self.all);
        let percent = done.saturating_mul(100) / all;
        if self.is_terminal {
            let full = usize::try_from((done.saturating_mul(BAR_LEN) / all).min(BAR_LEN));
            let bar = "=".repeat(full.unwrap_or(0));
            eprint!("\r\x1b[K[{bar:<30}] {percent} % of {all} keys");
            // A bar that is not shown harms nobody.
            let _ = stderr().flush();
        } else {
            eprintln!("{done} of {all} keys ({percent} %)");
        }
    }

    pub(super) fn end(&self) {
        if self.is_terminal && self.shown > 0 {
            eprint!("\r\x1b[K");
        }
    }
}
