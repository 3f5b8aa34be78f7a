//! Copies from a source to a target, and checks totals and counts.

use super::item::{ItemContent, TransferItem};
use crate::key_progress::KeyProgress;
use crate::store::count_text;
use anyhow::{Result, ensure};
use scurry_cluster_client::Totals;
use std::fmt;

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
    let mut progress = KeyProgress::new("keys", source.keys());
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
