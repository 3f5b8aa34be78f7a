//! Plain values. An expired value counts as absent, whether or not its timer has run.

use super::Shard;
use crate::entry::{Head, KEY_LEN_MAX, TableEntry, TableEntryKind, VALUE_LEN_MAX};
use crate::table::TablePosition;
use crate::{Expiry, Key, Value, Version, WriteError, WrongType};
use scurry_ledger::Time;

impl From<WrongType> for WriteError {
    fn from(_: WrongType) -> WriteError {
        WriteError::WrongType
    }
}

impl Shard {
    /// Returns a plain value.
    pub fn value(&self, now: Time, key: Key<'_>) -> Result<Option<Value<'_>>, WrongType> {
        let place = self.only(TableEntryKind::Value, self.find(now, key))?;
        Ok(place.map(|place| {
            let entry = self.table.at(place);
            Value { bytes: entry.value(), expires: entry.expires() }
        }))
    }

    /// Returns when a plain value expires: `Some(None)` for never, None when the key does not exist.
    pub fn plain_expiry(&self, now: Time, key: Key<'_>) -> Result<Option<Option<Time>>, WrongType> {
        let place = self.only(TableEntryKind::Value, self.find(now, key))?;
        Ok(place.map(|place| self.table.at(place).expires()))
    }

    /// Sets a plain value. A value that expires at once stores nothing, and only its key can be refused.
    pub fn set(
        &mut self,
        now: Time,
        key: Key<'_>,
        bytes: &[u8],
        expiry: Expiry,
    ) -> Result<(), WriteError> {
        check_lens(key, bytes.len())?;
        let place = self.expire(now, key);
        let place = self.only(TableEntryKind::Value, place)?;
        let stored = place.and_then(|place| self.table.at(place).expires());
        let expires = expiry.time(stored);
        if expires.is_some_and(|time| time <= now) {
            if let Some(place) = place {
                self.remove(key.hash(), place);
                self.record_removal(key);
            }
            return Ok(());
        }
        if self.refuses_memory() {
            return Err(WriteError::OutOfMemory);
        }
        self.write(key, place, value_head(expires), bytes);
        if let Some(journal) = &mut self.journal {
            journal.value(key.bytes(), expires, bytes);
        }
        Ok(())
    }

    /// Appends to a plain value, or creates it. Returns the new length of the value. The expiry stays.
    pub fn append(&mut self, now: Time, key: Key<'_>, tail: &[u8]) -> Result<usize, WriteError> {
        check_lens(key, tail.len())?;
        let place = self.expire(now, key);
        let place = self.only(TableEntryKind::Value, place)?;
        let len = place.map_or(0, |place| self.table.at(place).value().len()) + tail.len();
        check_lens(key, len)?;
        if self.refuses_memory() {
            return Err(WriteError::OutOfMemory);
        }
        match place {
            Some(place) => {
                self.changes(key.bytes());
                self.table.update(place, |entry| entry.append(tail));
            }
            None => self.write(key, None, value_head(None), tail),
        }
        if let Some(journal) = &mut self.journal {
            match place {
                Some(_) => journal.append(key.bytes(), tail),
                // An expired value may still exist in a copy, so the whole value is logged.
                None => journal.value(key.bytes(), None, tail),
            }
        }
        Ok(len)
    }

    /// Deletes a plain value. Returns whether it existed.
    pub fn del(&mut self, now: Time, key: Key<'_>) -> Result<bool, WrongType> {
        let place = self.expire(now, key);
        let place = self.only(TableEntryKind::Value, place)?;
        if let Some(place) = place {
            self.remove(key.hash(), place);
            self.record_removal(key);
        }
        Ok(place.is_some())
    }

    /// Changes when a plain value expires, None for never; a time not later than `now` deletes it. Returns false when
    /// the key does not exist. Never refused for lack of memory.
    pub fn set_expiry(
        &mut self,
        now: Time,
        key: Key<'_>,
        expires: Option<Time>,
    ) -> Result<bool, WrongType> {
        let place = self.expire(now, key);
        let Some(place) = self.only(TableEntryKind::Value, place)? else { return Ok(false) };
        if expires.is_some_and(|time| time <= now) {
            self.remove(key.hash(), place);
            self.record_removal(key);
            return Ok(true);
        }
        self.put_expiry(key, place, expires);
        if let Some(journal) = &mut self.journal {
            journal.expiry(key.bytes(), expires);
        }
        Ok(true)
    }

    /// Sets the expiry of the plain value at a place.
    pub(super) fn put_expiry(&mut self, key: Key<'_>, place: TablePosition, expires: Option<Time>) {
        self.changes(key.bytes());
        let entry = self.table.at(place);
        let head = value_head(expires);
        if entry.has_shape_of(head) {
            self.table.at_mut(place).set_head(head);
        } else {
            self.replace(place, TableEntry::new(head, key.bytes(), entry.value()));
        }
        if let Some(expires) = expires {
            self.arm(key.hash(), place, expires);
        }
    }

    /// Returns the place if its entry is of this kind, and refuses any other kind.
    #[inline]
    pub(super) fn only(
        &self,
        kind: TableEntryKind,
        place: Option<TablePosition>,
    ) -> Result<Option<TablePosition>, WrongType> {
        match place {
            Some(place) if self.table.at(place).kind() != kind => Err(WrongType),
            place => Ok(place),
        }
    }
}

/// Refuses a key or a value that is too long for an entry.
pub(super) fn check_lens(key: Key<'_>, value_len: usize) -> Result<(), WriteError> {
    if key.bytes().len() > KEY_LEN_MAX {
        return Err(WriteError::KeyTooLong);
    }
    if value_len > VALUE_LEN_MAX {
        return Err(WriteError::ValueTooLong);
    }
    Ok(())
}

pub(super) fn value_head(expires: Option<Time>) -> Head {
    Head { kind: TableEntryKind::Value, expires, version: Version::ABSENT }
}
