//! Records of a log, one for each commit. A record is its kind, one byte, and then the fields of that kind (strings
//! have a varint length before them; an expiry is signed, ms, and present only if the kind has 0x80 added):
//!
//! | kind | record | fields |
//! |---|---|---|
//! | 1 | account | id string, Change string, version varint, count of balances varint, balances |
//! | 2 | value | key string, expiry, value string |
//! | 3 | append | key string, tail string |
//! | 4 | expiry | key string, expiry |
//! | 5 | remove | key string |
//! | 6 | entity | key string, version varint, expiry, value string |
//! | 7 | tombstone | key string, version varint, forget time signed |
//! | 8 | clear | |
//! | 9 | image | id string, image string |
//! | 10 | group | members string |
//! | 11 | digest | digest string |
//!
//! A balance is a pair of name and unit (`pairs.rs`), a serial number varint, available signed and held signed.
//! docs/formats/log.md says what a reader does with them.

use crate::Malformed;
use crate::cursor::Cursor;
use core::fmt;
use scurry_ledger::{BucketNo, Name, Time};

/// One commit. Keys, values, ids and Changes are borrowed from the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A Change of an account, and the balances after it of each bucket that it touched.
    Account {
        /// Id of the account.
        id: &'a [u8],
        /// Bytes of the Change, for [`crate::decode_change`].
        change: &'a [u8],
        /// Version of the account after the Change; 0 if the Change deleted it.
        version: u64,
        /// Balances of the buckets that the Change names and that exist after it, in the account's order.
        balances: &'a [Balance],
    },
    /// Sets a plain value.
    Value {
        /// Key of the value.
        key: &'a [u8],
        /// Expiry, UTC ms; `None` for never.
        expires: Option<Time>,
        /// The whole value.
        value: &'a [u8],
    },
    /// Appends a tail to a plain value; a missing value counts as empty.
    Append {
        /// Key of the value.
        key: &'a [u8],
        /// Bytes to append.
        tail: &'a [u8],
    },
    /// Sets the expiry of a plain value.
    Expiry {
        /// Key of the value.
        key: &'a [u8],
        /// Expiry, UTC ms; `None` for never.
        expires: Option<Time>,
    },
    /// Removes a key of any kind but an account.
    Remove {
        /// Key to remove.
        key: &'a [u8],
    },
    /// Sets an entity.
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
    /// Deletes an entity, which is remembered.
    Tombstone {
        /// Key of the entity.
        key: &'a [u8],
        /// Version of the deletion.
        version: u64,
        /// Time at which it is forgotten, UTC ms.
        forget_at: Time,
    },
    /// Removes everything.
    Clear,
    /// Replaces an account by an image that was brought from another store.
    Image {
        /// Id of the account.
        id: &'a [u8],
        /// Image of the account, for [`crate::decode_account`].
        image: &'a [u8],
    },
    /// An entry of a replicated log that no command has made. It changes nothing in the store.
    Group {
        /// The new members of the group, as their nodes encode them; empty for the first entry of a leader.
        members: &'a [u8],
    },
    /// What the leader's memory had here, for comparison: an entry of a replicated log that changes nothing.
    Digest {
        /// Bytes of a [`StateDigest`](crate::StateDigest).
        digest: &'a [u8],
    },
}

impl<'a> Record<'a> {
    /// Returns the key of the record; `None` if the record is about all keys or about none.
    pub fn key(&self) -> Option<&'a [u8]> {
        match *self {
            Record::Account { id: key, .. }
            | Record::Image { id: key, .. }
            | Record::Value { key, .. }
            | Record::Append { key, .. }
            | Record::Expiry { key, .. }
            | Record::Remove { key }
            | Record::Entity { key, .. }
            | Record::Tombstone { key, .. } => Some(key),
            Record::Clear | Record::Group { .. } | Record::Digest { .. } => None,
        }
    }
}

/// Balance of one bucket after a Change: for readers of events, which have no state, and as a check at replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Serial number of the bucket in the account.
    pub bucket: BucketNo,
    /// Id of the bucket.
    pub name: Name,
    /// Unit of the bucket.
    pub unit: Name,
    /// Available amount, minor units.
    pub available: i64,
    /// Held amount, minor units.
    pub held: i64,
}

/// Reasons why a record, or an entry of a snapshot, with a valid checksum cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// Unknown kind of record.
    Kind(u8),
    /// Index of a bucket's name and unit that the frame has not assigned.
    Pair(u8),
    /// Malformed content.
    Malformed(Malformed),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Kind(kind) => write!(
                f,
                "record of unknown kind {kind}: a newer Scurry may have written it, which can read it"
            ),
            RecordError::Pair(index) => write!(f, "record names a bucket by unknown index {index}"),
            RecordError::Malformed(malformed) => write!(f, "record is damaged: {malformed}"),
        }
    }
}

impl core::error::Error for RecordError {}

impl From<Malformed> for RecordError {
    fn from(malformed: Malformed) -> RecordError {
        RecordError::Malformed(malformed)
    }
}

/// Numbers of the kinds of records. Persisted: a new kind takes the next number, and no number is reused.
pub(crate) mod kind {
    pub(crate) const ACCOUNT: u8 = 1;
    pub(crate) const VALUE: u8 = 2;
    pub(crate) const APPEND: u8 = 3;
    pub(crate) const EXPIRY: u8 = 4;
    pub(crate) const REMOVE: u8 = 5;
    pub(crate) const ENTITY: u8 = 6;
    pub(crate) const TOMBSTONE: u8 = 7;
    pub(crate) const CLEAR: u8 = 8;
    pub(crate) const IMAGE: u8 = 9;
    pub(crate) const GROUP: u8 = 10;
    pub(crate) const DIGEST: u8 = 11;
    /// Added to a kind if the time of an expiry follows.
    pub(crate) const EXPIRES: u8 = 0x80;
}

/// Reads a record of this kind, which is not that of an account's Change.
pub(crate) fn take_other<'a>(from: &mut Cursor<'a>, byte: u8) -> Result<Record<'a>, RecordError> {
    let expires = byte & kind::EXPIRES != 0;
    Ok(match byte & !kind::EXPIRES {
        kind::VALUE => Record::Value {
            key: from.string()?,
            expires: take_expiry(from, expires)?,
            value: from.string()?,
        },
        kind::EXPIRY => {
            Record::Expiry { key: from.string()?, expires: take_expiry(from, expires)? }
        }
        kind::ENTITY => Record::Entity {
            key: from.string()?,
            version: from.varint()?,
            expires: take_expiry(from, expires)?,
            value: from.string()?,
        },
        _ if expires => return Err(RecordError::Kind(byte)),
        kind::APPEND => Record::Append { key: from.string()?, tail: from.string()? },
        kind::REMOVE => Record::Remove { key: from.string()? },
        kind::TOMBSTONE => Record::Tombstone {
            key: from.string()?,
            version: from.varint()?,
            forget_at: from.time(Time(0))?,
        },
        kind::CLEAR => Record::Clear,
        kind::IMAGE => Record::Image { id: from.string()?, image: from.string()? },
        kind::GROUP => Record::Group { members: from.string()? },
        kind::DIGEST => Record::Digest { digest: from.string()? },
        _ => return Err(RecordError::Kind(byte)),
    })
}

pub(crate) fn take_expiry(from: &mut Cursor<'_>, follows: bool) -> Result<Option<Time>, Malformed> {
    follows.then(|| from.time(Time(0))).transpose()
}
