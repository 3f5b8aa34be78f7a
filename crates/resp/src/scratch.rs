//! Reusable room for the lists within a command.

use scurry_ledger::{ItemAmount, ItemKey, ItemRequest, Name, NewBucket};

/// A unit and a threshold of its available amount, minor units.
pub type LowRequest = (Name, i64);

/// Owner of the vectors that a parsed [`scurry_ledger::Command`] borrows, so that parsing does not allocate once they
/// are large enough; the grammar bounds their sizes.
#[derive(Debug, Default)]
pub struct Scratch<'a> {
    pub(crate) items: Vec<ItemRequest>,
    pub(crate) identities: Vec<(Name, &'a [u8])>,
    rarer: Option<Box<RareLists>>,
}

/// Lists that reservations do not need. Boxed, since the rest is moved for every command.
#[derive(Debug, Default)]
pub(crate) struct RareLists {
    pub(crate) amounts: Vec<ItemAmount>,
    pub(crate) buckets: Vec<NewBucket>,
    pub(crate) bucket_keys: Vec<(usize, ItemKey)>,
    pub(crate) keys: Vec<ItemKey>,
    pub(crate) lows: Vec<LowRequest>,
    pub(crate) events: Vec<Name>,
}

impl<'a> Scratch<'a> {
    /// Returns the identities, and the lists that few commands have.
    pub(crate) fn rarer(&mut self) -> (&mut Vec<(Name, &'a [u8])>, &mut RareLists) {
        (&mut self.identities, self.rarer.get_or_insert_default())
    }

    /// Converts the scratch for input of another lifetime; the room stays. The code that fills a list clears it first.
    pub fn reuse<'b>(mut self) -> Scratch<'b> {
        self.identities.clear();
        // Mapping an empty vector does no work: this only changes the lifetime, in place.
        let identities = self.identities.into_iter().map(|(kind, _)| (kind, &[][..])).collect();
        let Scratch { items, rarer, .. } = self;
        Scratch { items, identities, rarer }
    }
}
