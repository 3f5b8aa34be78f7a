//! Copies from a source to a target, and checks totals and counts.

use super::item::{ItemContent, TransferItem};
use crate::store::count_text;
use anyhow::{Result, ensure};
use scurry_cluster_client::Totals;
use std::fmt;
use std::io::{IsTerminal, Write, stderr};

/// Source of keys, read in bounded steps.
pub(super) trait Source {
    /// Returns the totals from before the first key was read.
    fn totals(&self) -> &Totals;
    /// Returns the approximate number of keys.
    fn keys(&self) -> u64;
    /// Returns the next keys. None at the end.
    fn next(&mut self) -> Result<Option<Vec<TransferItem>>>;
    /// Returns the totals after the last key. Fails if anything but the passing of time has changed them.
    fn finish(&mut self) -> Result<Totals>;
}

/// Target of keys.
pub(super) trait Target {
    fn put(&mut self, items: &[TransferItem]) -> Result<()>;
    /// Completes the target after the last key, and checks its content against these totals and counts.
    fn finish(self, totals: &Totals, moved: &Moved) -> Result<()>;
}

/// Counts of copied keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    accounts: u64,
    values: u64,
    entities: u64,
    /// Deleted entities that are still remembered.
    deletions: u64,
    /// Keys, among all of the above, that the target may not count.
    expiring: u64,
}

impl Moved {
    pub(super) fn keys(&self) -> u64 {
        self.accounts + self.values + self.entities + self.deletions
    }

    /// Returns the least and the greatest number of keys that the target may report.
    pub(super) fn expected(&self) -> (u64, u64) {
        (self.keys() - self.expiring, self.keys())
    }

    fn add(&mut self, item: &TransferItem) {
        match item.content {
            ItemContent::Account { .. } => self.accounts += 1,
            ItemContent::Value { .. } => self.values += 1,
            ItemContent::Entity { .. } => self.entities += 1,
            ItemContent::Deleted { .. } => self.deletions += 1,
        }
        self.expiring += u64::from(item.expires());
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts = count_text(self.accounts, "account");
        let values = count_text(self.values, "plain value");
        write!(f, "copied {accounts}, {values}, entities: {}", self.entities)?;
        if self.deletions > 0 {
            write!(f, ", deletions that are remembered: {}", self.deletions)?;
        }
        Ok(())
    }
}

/// Copies everything. The source is only read.
pub(super) fn copy(mut source: impl Source, mut target: impl Target) -> Result<Moved> {
    println!("source: {}", source.totals());
    let mut progress = Progress::new(source.keys());
    let mut moved = Moved::default();
    while let Some(items) = source.next()? {
        target.put(&items)?;
        items.iter().for_each(|item| moved.add(item));
        progress.add(items.len() as u64);
    }
    progress.end();
    let totals = source.finish()?;
    ensure!(
        moved.accounts == totals.accounts,
        "{} accounts were read, and the source says it has {}: accounts were created or deleted, \
         or slots were moved, meanwhile. Stop what does that, and copy again with --replace",
        moved.accounts,
        totals.accounts
    );
    target.finish(&totals, &moved)?;
    Ok(moved)
}

const BAR_LEN: u64 = 30;

/// Number of copied keys: a bar on a terminal, otherwise a line for each tenth.
struct Progress {
    is_terminal: bool,
    all: u64,
    done: u64,
    /// Hundredths (bar) or tenths (lines) shown so far.
    shown: u64,
}

impl Progress {
    fn new(all: u64) -> Progress {
        Progress { is_terminal: stderr().is_terminal(), all: all.max(1), done: 0, shown: 0 }
    }

    fn add(&mut self, keys: u64) {
        self.done += keys;
        // Deletions are copied too, but were not counted as keys before.
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
            // A bar that is not shown does no harm.
            let _ = stderr().flush();
        } else {
            eprintln!("{done} of {all} keys ({percent} %)");
        }
    }

    fn end(&self) {
        if self.is_terminal && self.shown > 0 {
            eprint!("\r\x1b[K");
        }
    }
}
