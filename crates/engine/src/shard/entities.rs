//! Entities: each write has a version, and the greatest version wins, in whatever order writes arrive. Of two writes
//! with equal versions the greater content wins. So copies of an entity that received the same writes are equal.
//!
//! A deletion is a write: it leaves a tombstone with its version, which refuses older writes for
//! [`crate::Config::entity_tombstone_ms`] and is then removed. Until then the key is reserved for entities: a plain
//! value or an account there would remove the tombstone early.
//!
//! An entity that expires leaves no tombstone. Its expiry is part of the write, so every copy removes it at the same
//! time, and nothing has to be remembered for the many entities that a cache may expire in a day. The price: a write
//! that is older than the expired one and arrives after the expiry is accepted as a new entity. A replicator must
//! deliver the writes of a key in order, or within the shortest time to live.

use super::Shard;
use super::values::check_lens;
use crate::entry::{Head, TableEntryKind};
use crate::table::TablePosition;
use crate::{
    Entity, EntityContent, EntityDelete, EntityFound, EntityPut, EntityState, EntityTerms,
    EntityWrite, Key, NoIndex, Version, VersionClock, WriteError, WrongType,
};
use scurry_ledger::Time;

/// The entry that a write finds at its key.
struct Stored {
    place: Option<TablePosition>,
    version: Version,
    /// Whether a live entity is stored.
    lives: bool,
    /// Expiry of that entity.
    expires: Option<Time>,
}

impl Shard {
    /// Returns an entity, or the tombstone of one.
    pub fn entity(&self, now: Time, key: Key<'_>) -> Result<Option<Entity<'_>>, WrongType> {
        let Some(place) = self.find(now, key) else { return Ok(None) };
        let entry = self.table.at(place);
        let (version, expires) = (entry.version(), entry.expires());
        let state = match entry.kind() {
            TableEntryKind::Entity => EntityState::Live { value: entry.value(), expires },
            TableEntryKind::Tombstone => {
                let forget_at = expires.unwrap_or(now);
                let at = forget_at.plus_ms(-self.config.entity_tombstone_ms);
                EntityState::Deleted { at, forget_at }
            }
            TableEntryKind::Value | TableEntryKind::Account => return Err(WrongType),
        };
        Ok(Some(Entity { version, state }))
    }

    /// Writes an entity, if its conditions hold. When the stored version is equal or greater, nothing changes and the
    /// stored version is returned.
    pub fn entity_put(
        &mut self,
        now: Time,
        key: Key<'_>,
        value: &[u8],
        options: EntityPut,
    ) -> Result<EntityWrite, WriteError> {
        check_lens(key, value.len())?;
        let stored = self.stored(now, key)?;
        let expires = options.expiry.time(stored.expires);
        let content = EntityContent { value: Some(value), expires };
        let (version, if_version) = (options.version, options.if_version);
        let terms = EntityTerms { version, if_version, content };
        let Some(version) = self.version_if_allowed(now, &stored, &terms)? else {
            return Ok(stored.stands());
        };
        let is_over = expires.is_some_and(|time| time <= now);
        if !is_over && self.refuses_memory() {
            return Err(WriteError::OutOfMemory);
        }
        self.version_last = self.version_last.max(version);
        if is_over {
            if let Some(place) = stored.place {
                self.remove(key.hash(), place);
            }
        } else {
            let head = Head { kind: TableEntryKind::Entity, expires, version };
            self.write_entity(key, stored.place, head, value);
        }
        if let Some(journal) = &mut self.journal {
            // Also logged when it has expired at once: its version must not be issued again.
            let kept = if is_over { b"" } else { value };
            journal.entity(key.bytes(), version.get(), expires, kept);
        }
        Ok(EntityWrite { applied: true, version, existed: stored.lives })
    }

    /// Deletes an entity, if the conditions hold. A deletion with a version of the caller's leaves a tombstone even
    /// where no entity exists, because the write that it deletes may arrive later. Only that tombstone can be refused
    /// for lack of memory.
    pub fn entity_del(
        &mut self,
        now: Time,
        key: Key<'_>,
        options: EntityDelete,
    ) -> Result<EntityWrite, WriteError> {
        check_lens(key, 0)?;
        let (version, if_version) = (options.version, options.if_version);
        let terms = EntityTerms { version, if_version, content: EntityContent::default() };
        let stored = self.stored(now, key)?;
        if !stored.lives && options.version.is_none() {
            return Ok(stored.stands());
        }
        let Some(version) = self.version_if_allowed(now, &stored, &terms)? else {
            return Ok(stored.stands());
        };
        if stored.place.is_none() && self.refuses_memory() {
            return Err(WriteError::OutOfMemory);
        }
        self.version_last = self.version_last.max(version);
        let forget_at = now.plus_ms(self.config.entity_tombstone_ms);
        let head = Head { kind: TableEntryKind::Tombstone, expires: Some(forget_at), version };
        self.write_entity(key, stored.place, head, b"");
        if let Some(journal) = &mut self.journal {
            journal.tombstone(key.bytes(), version.get(), forget_at);
        }
        Ok(EntityWrite { applied: true, version, existed: stored.lives })
    }

    /// Visits the ids of live entities with this value: from the cursor on, at most `count` candidates, plus those that
    /// share a hash. Returns the next cursor, 0 at the end. Cursors are below 2^48. Every entity that has the value
    /// from the first call to the last is visited exactly once.
    pub fn entities_with_value(
        &self,
        now: Time,
        value: &[u8],
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<u64, NoIndex> {
        let index = self.index.as_ref().ok_or(NoIndex)?;
        let (mut visited, mut last) = (0, None);
        for (hash, at) in index.find(value, cursor) {
            if visited >= count.max(1) && last != Some(at) {
                return Ok(at);
            }
            for entry in self.table.of_hash(hash) {
                if entry.kind() == TableEntryKind::Entity
                    && entry.value() == value
                    && !entry.is_over(now)
                {
                    visit(entry.key());
                }
            }
            visited += 1;
            last = Some(at);
        }
        Ok(0)
    }

    fn stored(&mut self, now: Time, key: Key<'_>) -> Result<Stored, WrongType> {
        let place = self.expire(now, key);
        let Some(entry) = place.map(|place| self.table.at(place)) else {
            return Ok(Stored { place, version: Version::ABSENT, lives: false, expires: None });
        };
        let (version, expires) = (entry.version(), entry.expires());
        match entry.kind() {
            TableEntryKind::Entity => Ok(Stored { place, version, lives: true, expires }),
            TableEntryKind::Tombstone => Ok(Stored { place, version, lives: false, expires: None }),
            TableEntryKind::Value | TableEntryKind::Account => Err(WrongType),
        }
    }

    /// Returns the version of a write, or None if its conditions do not hold.
    fn version_if_allowed(
        &self,
        now: Time,
        stored: &Stored,
        terms: &EntityTerms<'_>,
    ) -> Result<Option<Version>, WriteError> {
        let living = stored.place.filter(|_| stored.lives);
        let value = living.map(|place| self.table.at(place).value());
        let content = EntityContent { value, expires: stored.expires };
        let found = EntityFound { version: stored.version, content };
        let clock = VersionClock {
            last: self.version_last,
            now,
            node: self.config.node,
            ahead_ms_max: self.config.version_ahead_ms_max,
        };
        terms.version_if_allowed(found, &clock)
    }

    /// Writes an entity or a tombstone, and updates the index.
    pub(super) fn write_entity(
        &mut self,
        key: Key<'_>,
        place: Option<TablePosition>,
        head: Head,
        value: &[u8],
    ) {
        let old = place.and_then(|place| self.value_hash(self.table.at(place)));
        self.write(key, place, head, value);
        if let Some(old) = old {
            self.unindex(key.hash(), old);
        }
        if let Some(index) = &mut self.index
            && head.kind == TableEntryKind::Entity
        {
            index.insert(index.value_hash(value), key.hash());
        }
    }
}

impl Stored {
    /// Returns the result for a write that is not applied.
    fn stands(&self) -> EntityWrite {
        EntityWrite { applied: false, version: self.version, existed: self.lives }
    }
}
