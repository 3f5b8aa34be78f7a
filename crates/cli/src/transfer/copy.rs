//! From a source to a target, with the checks around it.

use super::item::{Held, Item};
use crate::store::count_text;
use anyhow::{Result, ensure};
use scurry_cluster_client::Totals;
use std::fmt;
use std::io::{IsTerminal, Write, stderr};

/// Where keys come from, a bounded number at a time.
pub(super) trait Source {
    /// Totals before the first key is read.
    fn totals(&self) -> &Totals;
    /// Keys that there are, about.
    fn keys(&self) -> u64;
    /// The next keys; none at the end.
    fn next(&mut self) -> Result<Option<Vec<Item>>>;
    /// Behind the last key: its totals, when nothing but time has changed them meanwhile.
    fn finish(&mut self) -> Result<Totals>;
}

/// Where keys go.
pub(super) trait Target {
    fn put(&mut self, items: &[Item]) -> Result<()>;
    /// Behind the last key: everything is there, and adds up to this.
    fn finish(self, totals: &Totals, moved: &Moved) -> Result<()>;
}

/// Counts of what was moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    accounts: u64,
    values: u64,
    entities: u64,
    /// Entities that were deleted and are remembered.
    deletions: u64,
    /// Of all these, those that the target need not count.
    expiring: u64,
}

impl Moved {
    pub(super) fn keys(&self) -> u64 {
        self.accounts + self.values + self.entities + self.deletions
    }

    /// The fewest and the most that a store has when it has all of them.
    pub(super) fn expected(&self) -> (u64, u64) {
        (self.keys() - self.expiring, self.keys())
    }

    fn add(&mut self, item: &Item) {
        match item.held {
            Held::Account { .. } => self.accounts += 1,
            Held::Value { .. } => self.values += 1,
            Held::Entity { .. } => self.entities += 1,
            Held::Deleted { .. } => self.deletions += 1,
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

/// How many keys are moved: a bar where somebody watches, a line for each tenth where not.
struct Progress {
    is_terminal: bool,
    all: u64,
    done: u64,
    /// Hundredths or tenths that were shown.
    shown: u64,
}

impl Progress {
    fn new(all: u64) -> Progress {
        Progress { is_terminal: stderr().is_terminal(), all: all.max(1), done: 0, shown: 0 }
    }

    fn add(&mut self, keys: u64) {
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

    fn end(&self) {
        if self.is_terminal && self.shown > 0 {
            eprint!("\r\x1b[K");
        }
    }
}
