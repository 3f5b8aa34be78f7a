//! Entries of a snapshot, one per key:
//!
//! | bytes | field |
//! |---|---|
//! | u8 | kind: 0 value, 1 account, 2 entity, 3 tombstone |
//! | u8 | flags: bit 0 a time follows, bit 1 a version follows |
//! | signed | time, ms, where it follows |
//! | varint | version, where it follows |
//! | varint | length of the key |
//! | varint | length of the value |
//! | | key, value |

use crate::cursor::Cursor;
use crate::pen::FieldWriter;
use crate::{Malformed, RecordError};
use scurry_ledger::Time;

/// One key of a snapshot with its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnapshotEntry<'a> {
    /// A plain value.
    Value {
        /// Key of the value.
        key: &'a [u8],
        /// Expiry, UTC ms; `None` for never.
        expires: Option<Time>,
        /// The whole value.
        value: &'a [u8],
    },
    /// An account.
    Account {
        /// Id of the account.
        id: &'a [u8],
        /// Image of the account, for [`crate::decode_account`].
        image: &'a [u8],
    },
    /// An entity.
    Entity {
        /// Key of the entity.
        key: &'a [u8],
        /// Version of the entity.
        version: u64,
        /// Expiry, UTC ms; `None` for never.
        expires: Option<Time>,
        /// The whole value.
        value: &'a [u8],
    },
    /// A deleted entity that is still remembered.
    Tombstone {
        /// Key of the deleted entity.
        key: &'a [u8],
        /// Version of the deletion.
        version: u64,
        /// Time at which it is forgotten, UTC ms.
        forget_at: Time,
    },
}

impl<'a> SnapshotEntry<'a> {
    /// Returns the key of the entry.
    pub fn key(&self) -> &'a [u8] {
        match *self {
            SnapshotEntry::Value { key, .. }
            | SnapshotEntry::Account { id: key, .. }
            | SnapshotEntry::Entity { key, .. }
            | SnapshotEntry::Tombstone { key, .. } => key,
        }
    }
}

/// Numbers of the kinds of entries. Persisted: a new kind takes the next number, and no number is reused.
const VALUE: u8 = 0;
const ACCOUNT: u8 = 1;
const ENTITY: u8 = 2;
const TOMBSTONE: u8 = 3;

/// Flags of the fields that follow.
const EXPIRES: u8 = 1;
const VERSION: u8 = 2;

/// Length of the shortest entry, bytes: a kind, flags and two lengths.
pub const ENTRY_LEN_MIN: usize = 4;

pub(crate) fn put_entry(pen: &mut FieldWriter<'_>, entry: &SnapshotEntry<'_>) {
    let (kind, key, value, expires, version) = match *entry {
        SnapshotEntry::Value { key, expires, value } => (VALUE, key, value, expires, None),
        SnapshotEntry::Account { id, image } => (ACCOUNT, id, image, None, None),
        SnapshotEntry::Entity { key, version, expires, value } => {
            (ENTITY, key, value, expires, Some(version))
        }
        SnapshotEntry::Tombstone { key, version, forget_at } => {
            (TOMBSTONE, key, &[][..], Some(forget_at), Some(version))
        }
    };
    let mut flags = 0;
    if expires.is_some() {
        flags |= EXPIRES;
    }
    if version.is_some() {
        flags |= VERSION;
    }
    pen.byte(kind);
    pen.byte(flags);
    if let Some(expires) = expires {
        pen.time(expires, Time(0));
    }
    if let Some(version) = version {
        pen.varint(version);
    }
    pen.varint(key.len() as u64);
    pen.varint(value.len() as u64);
    pen.bytes(key);
    pen.bytes(value);
}

pub(crate) fn take_entry<'a>(from: &mut Cursor<'a>) -> Result<SnapshotEntry<'a>, RecordError> {
    let (kind, flags) = (from.byte()?, from.byte()?);
    if flags & !(EXPIRES | VERSION) != 0 {
        return Err(Malformed::Choice.into());
    }
    let expires = (flags & EXPIRES != 0).then(|| from.time(Time(0))).transpose()?;
    let version = (flags & VERSION != 0).then(|| from.varint()).transpose()?;
    let key_len = from.len()?;
    let value_len = from.len()?;
    let (key, value) = (from.bytes(key_len)?, from.bytes(value_len)?);
    match (kind, expires, version) {
        (VALUE, expires, None) => Ok(SnapshotEntry::Value { key, expires, value }),
        (ACCOUNT, None, None) => Ok(SnapshotEntry::Account { id: key, image: value }),
        (ENTITY, expires, Some(version)) => {
            Ok(SnapshotEntry::Entity { key, version, expires, value })
        }
        (TOMBSTONE, Some(forget_at), Some(version)) if value.is_empty() => {
            Ok(SnapshotEntry::Tombstone { key, version, forget_at })
        }
        (VALUE | ACCOUNT | ENTITY | TOMBSTONE, ..) => Err(Malformed::Choice.into()),
        _ => Err(RecordError::Kind(kind)),
    }
}
