//! Entities, as a shard returns and accepts them: plain records with a version, for a client or a coordinator that
//! keeps several copies, which must become equal.

use crate::{Expiry, Version, WriteError};
use scurry_ledger::Time;

/// An entity or its tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity<'a> {
    /// The version of its last write.
    pub version: Version,
    /// Whether it is live or deleted.
    pub state: EntityState<'a>,
}

/// The state of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntityState<'a> {
    /// A living entity.
    Live {
        /// The value.
        value: &'a [u8],
        /// Time from which it is absent, None for never.
        expires: Option<Time>,
    },
    /// A deleted entity. The tombstone refuses writes that are older than the deletion.
    Deleted {
        /// Time at which this shard deleted it.
        at: Time,
        /// Time until which the tombstone is kept.
        forget_at: Time,
    },
}

/// Options of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityPut {
    /// The writer's version: the write is applied only if it is greater than the stored one, or equal with a greater
    /// [`EntityContent`]. None takes the next version of the shard's clock.
    pub version: Option<Version>,
    /// Version that must be stored for the write to apply; [`Version::ABSENT`] if no live entity may exist.
    pub if_version: Option<Version>,
    /// When it expires.
    pub expiry: Expiry,
}

/// Options of a deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityDelete {
    /// As in [`EntityPut`].
    pub version: Option<Version>,
    /// As in [`EntityPut`].
    pub if_version: Option<Version>,
}

/// The content of a write, ordered. Two writers may give the same version to different writes: then the greater content
/// wins, so that copies which received both become equal in any order of arrival. A deletion is the smallest; otherwise
/// the bytes of the value decide, then its expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntityContent<'a> {
    /// The value, None for a deletion.
    pub value: Option<&'a [u8]>,
    /// Expiry of the value. How long a tombstone is kept is not part of the write.
    pub expires: Option<Time>,
}

/// The entity that a write finds at its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityFound<'a> {
    /// The stored version, also that of a tombstone.
    pub version: Version,
    /// The stored content; it has a value if the entity is live.
    pub content: EntityContent<'a>,
}

/// A write of an entity, with the conditions under which it is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityTerms<'a> {
    /// As in [`EntityPut`].
    pub version: Option<Version>,
    /// As in [`EntityPut`].
    pub if_version: Option<Version>,
    /// The content of the write.
    pub content: EntityContent<'a>,
}

/// The clock by which a host issues versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionClock {
    /// The greatest version issued or seen.
    pub last: Version,
    /// The clock.
    pub now: Time,
    /// The node number, 0 to [`crate::NODE_MAX`].
    pub node: u16,
    /// Most milliseconds that a writer's version may be ahead of the clock.
    pub ahead_ms_max: i64,
}

impl EntityTerms<'_> {
    /// Returns the version of a write, or None if its conditions do not hold.
    pub fn version_if_allowed(
        &self,
        found: EntityFound<'_>,
        clock: &VersionClock,
    ) -> Result<Option<Version>, WriteError> {
        let ahead = |version: Version| version.is_ahead(clock.now, clock.ahead_ms_max);
        if self.version.is_some_and(ahead) {
            return Err(WriteError::VersionAhead);
        }
        let expected = self.if_version.is_none_or(|version| {
            version == found.version || version == Version::ABSENT && found.content.value.is_none()
        });
        if !expected {
            return Ok(None);
        }
        match self.version {
            Some(version) => {
                let wins = (version, self.content) > (found.version, found.content);
                Ok(Some(version).filter(|&version| wins && version > Version::ABSENT))
            }
            None => {
                let last = clock.last.max(found.version);
                last.next(clock.now, clock.node).map(Some).ok_or(WriteError::VersionAhead)
            }
        }
    }
}

/// The outcome of a write to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityWrite {
    /// False when the write was not applied and the stored version remains.
    pub applied: bool,
    /// The version of this write if it was applied, else the stored one, which is [`Version::ABSENT`] when nothing is
    /// stored.
    pub version: Version,
    /// Whether a live entity existed before.
    pub existed: bool,
}
