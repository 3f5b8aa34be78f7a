//! Progress of a tool: a bar on a terminal, otherwise a line for each tenth.

use crate::size::format_bytes;
use std::io::{IsTerminal, Write, stderr};

const BAR_LEN: u64 = 30;
/// Sizes from which progress is shown, bytes: for the bar, and for lines. Less data is read too quickly to matter.
const BAR_FROM: u64 = 16 << 20;
const LINES_FROM: u64 = 256 << 20;

/// Progress on stderr, one phase after another.
#[derive(Debug)]
pub(crate) struct Progress {
    is_terminal: bool,
    label: String,
    done: u64,
    all: u64,
    /// Hundredths (bar) or tenths (lines) shown so far.
    shown: u64,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let is_terminal = stderr().is_terminal();
        Progress { is_terminal, label: String::new(), done: 0, all: 0, shown: 0 }
    }

    /// Begins a phase of `all` bytes.
    pub(crate) fn begin(&mut self, label: String, all: u64) {
        *self = Progress { label, done: 0, all, shown: 0, ..*self };
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.done = (self.done + bytes).min(self.all);
        let (steps, from) = if self.is_terminal { (100, BAR_FROM) } else { (10, LINES_FROM) };
        let step = (u128::from(self.done) * steps / u128::from(self.all.max(1))) as u64;
        if step > self.shown && self.all >= from {
            self.shown = step;
            self.show();
        }
    }

    /// Ends the phase and clears the bar.
    pub(crate) fn end(&mut self) {
        if self.is_terminal && self.shown > 0 {
            eprint!("\r\x1b[K");
        }
        self.shown = 0;
    }

    fn show(&self) {
        let (done, all) = (format_bytes(self.done), format_bytes(self.all));
        let percent = u128::from(self.done) * 100 / u128::from(self.all.max(1));
        let label = &self.label;
        if self.is_terminal {
            let full =
                (u128::from(self.done) * u128::from(BAR_LEN) / u128::from(self.all)) as usize;
            let bar = format!("{}{}", "=".repeat(full), " ".repeat(BAR_LEN as usize - full));
            eprint!("\r\x1b[K{label} [{bar}] {percent} % of {all}");
            // A bar that is not shown does no harm.
            let _ = stderr().flush();
        } else {
            eprintln!("{label}: {done} of {all} ({percent} %)");
        }
    }
}
