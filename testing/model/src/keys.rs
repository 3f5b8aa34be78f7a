//! The naive model of the keys of a shard: plain values, entities and tombstones, and accounts, because they occupy
//! keys. It is a map sorted by key; expired entries are not removed, only ignored.

use std::collections::BTreeMap;

/// Content of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the engine, which documents them")]
pub enum KeyContent {
    Account,
    Value { bytes: Vec<u8>, expires: Option<i64> },
    Entity { value: Vec<u8>, version: u64, expires: Option<i64> },
    Tombstone { version: u64, at: i64, expires: Option<i64> },
}

impl KeyContent {
    /// Returns when it expires, ms.
    pub fn expires(&self) -> Option<i64> {
        match self {
            KeyContent::Account => None,
            KeyContent::Value { expires, .. }
            | KeyContent::Entity { expires, .. }
            | KeyContent::Tombstone { expires, .. } => *expires,
        }
    }
}

/// Requested expiry of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the engine's Expiry")]
pub enum WriteExpiry {
    Forever,
    Keep,
    At(i64),
}

/// Reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the engine's WriteError")]
pub enum Refused {
    WrongType,
    Ahead,
}

/// Requested write of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the engine's EntityPut; None as a value deletes")]
pub struct EntityOp {
    pub value: Option<Vec<u8>>,
    pub version: Option<u64>,
    pub if_version: Option<u64>,
    pub until: WriteExpiry,
}

/// Bytes of a plain value, and its expiry.
type Value<'a> = (&'a [u8], Option<i64>);

/// All keys of a shard.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Everything that was written and not overwritten, including expired entries.
    pub held: BTreeMap<Vec<u8>, KeyContent>,
    /// Number of the node in versions.
    node: u64,
    /// Lifetime of a tombstone, ms.
    tombstone_ms: i64,
    /// Most that a version may be ahead of the clock, ms.
    ahead_ms: i64,
    /// Milliseconds and counter of the greatest version.
    clock: (i64, u64),
}

impl Keys {
    /// Creates an empty map with the number of the node, the lifetime of tombstones and the most that a version may be
    /// ahead, both in ms.
    pub fn new(node: u64, tombstone_ms: i64, ahead_ms: i64) -> Keys {
        Keys { node, tombstone_ms, ahead_ms, ..Keys::default() }
    }

    /// Returns the content of a key at `now`.
    pub fn at(&self, now: i64, key: &[u8]) -> Option<&KeyContent> {
        self.held.get(key).filter(|held| held.expires().is_none_or(|expires| expires > now))
    }

    /// Returns the visible keys: all but tombstones.
    pub fn shown(&self, now: i64) -> impl Iterator<Item = (&[u8], &KeyContent)> {
        self.held
            .iter()
            .filter(move |(key, held)| {
                self.at(now, key).is_some() && !matches!(held, KeyContent::Tombstone { .. })
            })
            .map(|(key, held)| (&key[..], held))
    }

    fn put(&mut self, now: i64, key: &[u8], held: KeyContent) {
        if held.expires().is_some_and(|expires| expires <= now) {
            self.held.remove(key);
        } else {
            self.held.insert(key.to_vec(), held);
        }
    }

    /// Returns the bytes and the expiry of a plain value.
    fn value(&self, now: i64, key: &[u8]) -> Result<Option<Value<'_>>, Refused> {
        match self.at(now, key) {
            None => Ok(None),
            Some(KeyContent::Value { bytes, expires }) => Ok(Some((bytes, *expires))),
            Some(_) => Err(Refused::WrongType),
        }
    }

    /// Executes SET.
    pub fn set(
        &mut self,
        now: i64,
        key: &[u8],
        bytes: &[u8],
        until: WriteExpiry,
    ) -> Result<(), Refused> {
        let stored = self.value(now, key)?.and_then(|(_, expires)| expires);
        let expires = until.time(stored);
        self.put(now, key, KeyContent::Value { bytes: bytes.to_vec(), expires });
        Ok(())
    }

    /// Executes APPEND.
    pub fn append(&mut self, now: i64, key: &[u8], tail: &[u8]) -> Result<usize, Refused> {
        let (bytes, expires) = self.value(now, key)?.unwrap_or_default();
        let bytes = [bytes, tail].concat();
        let len = bytes.len();
        self.put(now, key, KeyContent::Value { bytes, expires });
        Ok(len)
    }

    /// Executes DEL.
    pub fn del(&mut self, now: i64, key: &[u8]) -> Result<bool, Refused> {
        let found = self.value(now, key)?.is_some();
        if found {
            self.held.remove(key);
        }
        Ok(found)
    }

    /// Executes EXPIRE and PERSIST.
    pub fn expire(&mut self, now: i64, key: &[u8], expires: Option<i64>) -> Result<bool, Refused> {
        let Some((bytes, _)) = self.value(now, key)? else { return Ok(false) };
        let bytes = bytes.to_vec();
        self.put(now, key, KeyContent::Value { bytes, expires });
        Ok(true)
    }

    /// Executes PUT and DELETE of an entity. Returns whether it was applied, the version afterwards, and whether an
    /// entity existed.
    pub fn write(
        &mut self,
        now: i64,
        key: &[u8],
        op: &EntityOp,
    ) -> Result<(bool, u64, bool), Refused> {
        let (stored, lives, stored_expires, bytes) = match self.at(now, key) {
            None => (0, false, None, None),
            Some(KeyContent::Entity { version, expires, value }) => {
                (*version, true, *expires, Some(value.clone()))
            }
            Some(KeyContent::Tombstone { version, .. }) => (*version, false, None, None),
            Some(_) => return Err(Refused::WrongType),
        };
        let stands = Ok((false, stored, lives));
        if op.value.is_none() && op.version.is_none() && !lives {
            return stands;
        }
        if op.version.is_some_and(|version| ms(version) > now.saturating_add(self.ahead_ms)) {
            return Err(Refused::Ahead);
        }
        if let Some(expected) = op.if_version
            && expected != stored
            && (expected != 0 || lives)
        {
            return stands;
        }
        let version = match op.version {
            Some(version) if version < stored || version == 0 => return stands,
            // Two writers may use the same version: a value wins over a deletion, greater bytes over smaller ones, an
            // expiry over none, and a later expiry over an earlier one.
            Some(version) if version == stored => {
                let here = (bytes, stored_expires);
                let expires = op.value.as_ref().and_then(|_| op.until.time(stored_expires));
                if (op.value.clone(), expires) <= here {
                    return stands;
                }
                version
            }
            Some(version) => version,
            None => self.next(now, stored),
        };
        let read = (ms(version), version >> 9 & 1023);
        self.clock = self.clock.max(read);
        let held = match &op.value {
            Some(value) => {
                let expires = op.until.time(stored_expires);
                KeyContent::Entity { value: value.clone(), version, expires }
            }
            None => {
                let expires = Some(now.saturating_add(self.tombstone_ms));
                KeyContent::Tombstone { version, at: now, expires }
            }
        };
        self.put(now, key, held);
        Ok((true, version, lives))
    }

    /// Returns the next version: after all versions seen, and not before now.
    fn next(&self, now: i64, stored: u64) -> u64 {
        let (last_ms, last_counter) = self.clock.max((ms(stored), stored >> 9 & 1023));
        let (ms, counter) = if now > last_ms { (now, 0) } else { (last_ms, last_counter + 1) };
        // A full counter carries over into the milliseconds.
        (u64::try_from(ms).unwrap_or(0) * 1024 + counter) * 512 + self.node
    }
}

fn ms(version: u64) -> i64 {
    i64::try_from(version >> 19).unwrap_or(i64::MAX)
}

impl WriteExpiry {
    fn time(self, stored: Option<i64>) -> Option<i64> {
        match self {
            WriteExpiry::Forever => None,
            WriteExpiry::Keep => stored,
            WriteExpiry::At(time) => Some(time),
        }
    }
}
