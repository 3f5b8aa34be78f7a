//! Room for the lists within a command, kept from one command to the next.

use scurry_ledger::{ItemAmount, ItemRequest, Name, NewBucket};

/// A unit and a threshold of what is available, minor units.
pub type LowRequest = (Name, i64);

/// Owns the vectors that a parsed [`scurry_ledger::Command`] borrows, so that parsing does not
/// allocate once they have grown to what clients send; their sizes are bounded by the grammar.
#[derive(Debug, Default)]
pub struct Scratch<'a> {
    pub(crate) items: Vec<ItemRequest>,
    pub(crate) amounts: Vec<ItemAmount>,
    pub(crate) buckets: Vec<NewBucket>,
    pub(crate) identities: Vec<(Name, &'a [u8])>,
    pub(crate) lows: Vec<LowRequest>,
}

impl Scratch<'_> {
    /// Empties it for input of another lifetime; the room stays.
    pub fn reuse<'b>(mut self) -> Scratch<'b> {
        self.items.clear();
        self.amounts.clear();
        self.buckets.clear();
        self.identities.clear();
        self.lows.clear();
        // Of an empty vector nothing is mapped: this only renames the lifetime, in place.
        let identities = self.identities.into_iter().map(|(kind, _)| (kind, &[][..])).collect();
        let Scratch { items, amounts, buckets, lows, .. } = self;
        Scratch { items, amounts, buckets, identities, lows }
    }
}
