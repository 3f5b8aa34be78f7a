//! Room for the lists within a command, kept from one command to the next.

use scurry_ledger::{ItemAmount, ItemRequest, Name, NewBucket};

/// A unit and a threshold of what is available, minor units.
pub type LowRequest = (Name, i64);

/// Owns the vectors that a parsed [`scurry_ledger::Command`] borrows, so that parsing does not
/// allocate once they have grown to what clients send; their sizes are bounded by the grammar.
#[derive(Debug, Default)]
pub struct Scratch<'a> {
    pub(crate) items: Vec<ItemRequest>,
    pub(crate) identities: Vec<(Name, &'a [u8])>,
    rarer: Option<Box<Rarer>>,
}

/// Lists that reservations have no use for. Boxed: all the rest is moved for every command.
#[derive(Debug, Default)]
pub(crate) struct Rarer {
    pub(crate) amounts: Vec<ItemAmount>,
    pub(crate) buckets: Vec<NewBucket>,
    pub(crate) lows: Vec<LowRequest>,
}

impl<'a> Scratch<'a> {
    /// The identities, and the lists that commands seldom have.
    pub(crate) fn rarer(&mut self) -> (&mut Vec<(Name, &'a [u8])>, &mut Rarer) {
        (&mut self.identities, self.rarer.get_or_insert_default())
    }

    /// Takes it for input of another lifetime; the room stays. Who fills a list empties it before.
    pub fn reuse<'b>(mut self) -> Scratch<'b> {
        self.identities.clear();
        // Of an empty vector nothing is mapped: this only renames the lifetime, in place.
        let identities = self.identities.into_iter().map(|(kind, _)| (kind, &[][..])).collect();
        let Scratch { items, rarer, .. } = self;
        Scratch { items, identities, rarer }
    }
}
