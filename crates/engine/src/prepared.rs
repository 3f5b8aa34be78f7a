//! The part of restoring an entry that needs no shard, for the thread that reads ahead.

use crate::KeyHasher;
use scurry_codec::{SnapshotEntry, decode_account};
use scurry_ledger::{Account, AccountContribution, Status, Time, Totals, next_due};

/// Data of a snapshot entry that is computed without its shard.
#[derive(Clone, Copy, Debug)]
pub struct PreparedEntry {
    /// Hash of its key.
    pub(crate) hash: u64,
    /// For a whole account that was counted in the [`Preparer`]'s totals: when something in it is next due. None for
    /// everything else: the shard has to decode it.
    pub(crate) counted: Option<Option<Time>>,
}

/// Prepares entries of a snapshot for one shard.
#[derive(Debug)]
pub struct Preparer {
    hasher: KeyHasher,
    /// Longer images are decoded by the shard itself, which may keep those accounts in parts.
    apart_len: usize,
    account: Account,
    totals: Totals,
}

impl Preparer {
    pub(crate) fn new(hasher: KeyHasher, apart_len: usize) -> Preparer {
        let account = Account::empty(Status::Active);
        Preparer { hasher, apart_len, account, totals: Totals::default() }
    }

    /// Prepares an entry. An unreadable image is left to the shard, which reports it after everything before it is
    /// restored.
    pub(crate) fn prepare(&mut self, entry: &SnapshotEntry<'_>) -> PreparedEntry {
        let hash = self.hasher.hash(entry.key());
        let counted = match entry {
            SnapshotEntry::Account { image, .. } if image.len() <= self.apart_len => {
                self.count(image)
            }
            _ => None,
        };
        PreparedEntry { hash, counted }
    }

    fn count(&mut self, image: &[u8]) -> Option<Option<Time>> {
        decode_account(image, &mut self.account).ok()?;
        // The shard indexes and claims identities itself.
        if !self.account.identities.is_empty() {
            return None;
        }
        self.totals.replace(&AccountContribution::default(), Some(&self.account));
        Some(next_due(&self.account))
    }

    /// Takes the sums of the accounts counted since the last call.
    pub(crate) fn take_totals(&mut self) -> Totals {
        std::mem::take(&mut self.totals)
    }
}
