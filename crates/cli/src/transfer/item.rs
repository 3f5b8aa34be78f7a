//! A key and its content on their way from one store to another.

use scurry_codec::SnapshotEntry;
use scurry_ledger::Time;

/// A key with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TransferItem {
    pub(super) key: Vec<u8>,
    pub(super) content: ItemContent,
}

/// Content of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemContent {
    /// Account, as its image.
    Account { image: Vec<u8> },
    /// Plain value.
    Value { expires: Option<Time>, value: Vec<u8> },
    /// Entity.
    Entity { version: u64, expires: Option<Time>, value: Vec<u8> },
    /// Deleted entity, remembered until `forget_at`.
    Deleted { version: u64, forget_at: Time },
}

impl TransferItem {
    /// Returns the entry of an export file.
    pub(super) fn entry(&self) -> SnapshotEntry<'_> {
        let key = &self.key;
        match &self.content {
            ItemContent::Account { image } => SnapshotEntry::Account { id: key, image },
            ItemContent::Value { expires, value } => {
                SnapshotEntry::Value { key, expires: *expires, value }
            }
            ItemContent::Entity { version, expires, value } => {
                SnapshotEntry::Entity { key, version: *version, expires: *expires, value }
            }
            ItemContent::Deleted { version, forget_at } => {
                SnapshotEntry::Tombstone { key, version: *version, forget_at: *forget_at }
            }
        }
    }

    /// Reads an entry of an export file.
    pub(super) fn from_entry(entry: &SnapshotEntry<'_>) -> TransferItem {
        let content = match *entry {
            SnapshotEntry::Account { image, .. } => ItemContent::Account { image: image.to_vec() },
            SnapshotEntry::Value { expires, value, .. } => {
                ItemContent::Value { expires, value: value.to_vec() }
            }
            SnapshotEntry::Entity { version, expires, value, .. } => {
                ItemContent::Entity { version, expires, value: value.to_vec() }
            }
            SnapshotEntry::Tombstone { version, forget_at, .. } => {
                ItemContent::Deleted { version, forget_at }
            }
        };
        TransferItem { key: entry.key().to_vec(), content }
    }

    /// Reports whether the target may not count it as a key: it may expire before it arrives, and `scurry serve` does
    /// not count deletions.
    pub(super) fn expires(&self) -> bool {
        match &self.content {
            ItemContent::Account { .. } => false,
            ItemContent::Deleted { .. } => true,
            ItemContent::Value { expires, .. } | ItemContent::Entity { expires, .. } => {
                expires.is_some()
            }
        }
    }
}
