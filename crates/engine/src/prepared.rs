//! The part of restoring an entry that needs no shard, for the thread that reads ahead.

use crate::KeyHasher;
use scurry_codec::{Entry, decode_account};
use scurry_ledger::{Account, Portion, Status, Time, Totals, next_due};

/// An entry of a snapshot, as far as it is known without its shard.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// Of its key.
    pub(crate) hash: u64,
    /// When something comes due in the account, whose image is whole and which is counted among the totals of
    /// the [`Preparer`]. None for all else: the shard has to look at it.
    pub(crate) counted: Option<Option<Time>>,
}

/// Prepares entries of a snapshot for one shard.
#[derive(Debug)]
pub struct Preparer {
    hasher: KeyHasher,
    /// The shard keeps accounts with longer images in parts, and so looks at them itself.
    apart_len: usize,
    account: Account,
    totals: Totals,
}

impl Preparer {
    pub(crate) fn new(hasher: KeyHasher, apart_len: usize) -> Preparer {
        let account = Account::empty(Status::Active);
        Preparer { hasher, apart_len, account, totals: Totals::default() }
    }

    /// Prepares one. An image that cannot be read is left to the shard, which says so when all before it is
    /// restored.
    pub(crate) fn prepare(&mut self, entry: &Entry<'_>) -> Prepared {
        let hash = self.hasher.hash(entry.key());
        let counted = match entry {
            Entry::Account { image, .. } if image.len() <= self.apart_len => self.count(image),
            _ => None,
        };
        Prepared { hash, counted }
    }

    fn count(&mut self, image: &[u8]) -> Option<Option<Time>> {
        decode_account(image, &mut self.account).ok()?;
        // They are claimed in the shard's own index.
        if !self.account.identities.is_empty() {
            return None;
        }
        self.totals.replace(&Portion::default(), Some(&self.account));
        Some(next_due(&self.account))
    }

    /// The sums of the accounts that were counted since the last time.
    pub(crate) fn take_totals(&mut self) -> Totals {
        std::mem::take(&mut self.totals)
    }
}
