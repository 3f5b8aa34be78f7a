//! What is moved: a key and what it holds.

use scurry_codec::Entry;
use scurry_ledger::Time;

/// A key on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) key: Vec<u8>,
    pub(super) held: Held,
}

/// Contents of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// An account, as its image.
    Account { image: Vec<u8> },
    /// A plain value.
    Value { expires: Option<Time>, value: Vec<u8> },
    /// An entity.
    Entity { version: u64, expires: Option<Time>, value: Vec<u8> },
    /// An entity that was deleted, remembered until then.
    Deleted { version: u64, forget_at: Time },
}

impl Item {
    /// As a file has it.
    pub(super) fn entry(&self) -> Entry<'_> {
        let key = &self.key;
        match &self.held {
            Held::Account { image } => Entry::Account { id: key, image },
            Held::Value { expires, value } => Entry::Value { key, expires: *expires, value },
            Held::Entity { version, expires, value } => {
                Entry::Entity { key, version: *version, expires: *expires, value }
            }
            Held::Deleted { version, forget_at } => {
                Entry::Tombstone { key, version: *version, forget_at: *forget_at }
            }
        }
    }

    /// Of an entry of a file.
    pub(super) fn of(entry: &Entry<'_>) -> Item {
        let held = match *entry {
            Entry::Account { image, .. } => Held::Account { image: image.to_vec() },
            Entry::Value { expires, value, .. } => Held::Value { expires, value: value.to_vec() },
            Entry::Entity { version, expires, value, .. } => {
                Held::Entity { version, expires, value: value.to_vec() }
            }
            Entry::Tombstone { version, forget_at, .. } => Held::Deleted { version, forget_at },
        };
        Item { key: entry.key().to_vec(), held }
    }

    /// True when the target need not count it as a key: it may be gone by itself before it
    /// arrives, and a server of ours counts no deletions.
    pub(super) fn expires(&self) -> bool {
        match &self.held {
            Held::Account { .. } => false,
            Held::Deleted { .. } => true,
            Held::Value { expires, .. } | Held::Entity { expires, .. } => expires.is_some(),
        }
    }
}
