//! What a log holds: one record for each commit. A record is its kind, a byte, and the fields of that
//! kind, one behind another (strings have a varint length in front; an expiry is signed, ms, and is
//! there only where the kind has 0x80 added):
//!
//! | kind | record | fields |
//! |---|---|---|
//! | 1 | account | id string, Change string, count of balances varint, balances |
//! | 2 | value | key string, expiry, value string |
//! | 3 | append | key string, tail string |
//! | 4 | expiry | key string, expiry |
//! | 5 | remove | key string |
//! | 6 | entity | key string, version varint, expiry, value string |
//! | 7 | tombstone | key string, version varint, forget time signed |
//! | 8 | clear | |
//! | 9 | image | id string, image string |
//! | 10 | list | key string, expiry, string |
//! | 11 | group | members string |
//!
//! A balance is a pair of name and unit (`pairs.rs`), a serial number varint, available signed and held
//! signed. docs/formats/log.md says what a reader makes of them.

use crate::Malformed;
use crate::cursor::Cursor;
use core::fmt;
use scurry_ledger::{BucketNo, Name, Time};

/// One commit. Keys, values, ids and Changes are borrowed from the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A Change of an account, and what it left behind in each bucket that it touched.
    Account {
        /// The account.
        id: &'a [u8],
        /// The bytes of the Change, for [`crate::decode_change`].
        change: &'a [u8],
        /// The buckets that it names and that are there after it, in the account's order.
        balances: &'a [Balance],
    },
    /// A plain value is set.
    Value {
        /// Key of the value.
        key: &'a [u8],
        /// When it expires, UTC ms.
        expires: Option<Time>,
        /// All of it.
        value: &'a [u8],
    },
    /// A tail is put at the end of a plain value, which begins empty where there is none.
    Append {
        /// Key that was removed.
        key: &'a [u8],
        /// The tail.
        tail: &'a [u8],
    },
    /// When a plain value expires from now on.
    Expiry {
        /// Key of the deadline.
        key: &'a [u8],
        /// When it expires, UTC ms; `None` for never.
        expires: Option<Time>,
    },
    /// A key, of any kind but an account, is gone.
    Remove {
        /// The key.
        key: &'a [u8],
    },
    /// An entity is set.
    Entity {
        /// Key of the entity.
        key: &'a [u8],
        /// Version of the entity.
        version: u64,
        /// When it expires, UTC ms.
        expires: Option<Time>,
        /// All of it.
        value: &'a [u8],
    },
    /// An entity is deleted, and remembered.
    Tombstone {
        /// Key of the entity.
        key: &'a [u8],
        /// The version of its end.
        version: u64,
        /// When it is forgotten, UTC ms.
        forget_at: Time,
    },
    /// Everything is gone.
    Clear,
    /// An account is what its image says, whatever it was: it was brought from another store.
    Image {
        /// The account.
        id: &'a [u8],
        /// Image of the account, for [`crate::decode_account`].
        image: &'a [u8],
    },
    /// An entry of a replicated log that no command has made; it changes nothing of a store.
    Group {
        /// The members of the group from now on, as their nodes write them; empty for the first entry
        /// of a leader.
        members: &'a [u8],
    },
}

impl<'a> Record<'a> {
    /// The key that it is about; none for everything, and for what is about no key.
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
            Record::Clear | Record::Group { .. } => None,
        }
    }
}

/// One bucket after a Change: for readers of events, who have no state, and as a check at replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Serial number of the bucket in the account.
    pub bucket: BucketNo,
    /// Id of the bucket.
    pub name: Name,
    /// Unit of the bucket.
    pub unit: Name,
    /// Minor units.
    pub available: i64,
    /// Minor units.
    pub held: i64,
}

/// A record, or an entry of a snapshot, that passed its checksum and cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// A record whose kind is not known.
    Kind(u8),
    /// A record that names a bucket's name and unit by a number that the frame gave to none.
    Pair(u8),
    /// Something inside is wrong.
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

/// The kinds of records. Persisted: a new kind takes the next number, none is used again.
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
    /// Added to a kind when the time of an expiry follows.
    pub(crate) const EXPIRES: u8 = 0x80;
}

/// A record of this kind, which is not that of an account's Change.
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
        _ => return Err(RecordError::Kind(byte)),
    })
}

pub(crate) fn take_expiry(from: &mut Cursor<'_>, follows: bool) -> Result<Option<Time>, Malformed> {
    follows.then(|| from.time(Time(0))).transpose()
}
