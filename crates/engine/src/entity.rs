//! Entities as a shard shows and takes them: plain records with a version, for a client or a
//! coordinator that keeps several copies and must end with the same one in each.

use crate::{Expiry, Version, WriteError};
use scurry_ledger::Time;

/// An entity, or what a deleted one left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity<'a> {
    /// The version of its last write.
    pub version: Version,
    /// The state.
    pub state: EntityState<'a>,
}

/// The state of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntityState<'a> {
    /// A living entity.
    Live {
        /// The value.
        value: &'a [u8],
        /// From then on it is absent.
        expires: Option<Time>,
    },
    /// A deleted entity. The tombstone refuses writes that are older than the deletion.
    Deleted {
        /// When this shard deleted it.
        at: Time,
        /// Until then it is remembered.
        forget_at: Time,
    },
}

/// How an entity is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityPut {
    /// The writer's version: applied only when it is greater than the stored one, or the same with
    /// a greater [`EntityContent`]. None takes the next one of the shard's clock.
    pub version: Option<Version>,
    /// Applied only when this is the stored version; [`Version::ABSENT`] when no entity lives.
    pub if_version: Option<Version>,
    /// When it expires.
    pub expiry: Expiry,
}

/// How an entity is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityDelete {
    /// As in [`EntityPut`].
    pub version: Option<Version>,
    /// As in [`EntityPut`].
    pub if_version: Option<Version>,
}

/// The content that a write leaves. Two writers may give one version to different writes: then the
/// greater content stands, so that copies which saw both end the same, in whatever order they saw them.
/// A deletion is the smallest; then the bytes of the value decide, then its expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntityContent<'a> {
    /// None of a deletion.
    pub value: Option<&'a [u8]>,
    /// When the value expires. How long a deletion is remembered is no part of the write.
    pub expires: Option<Time>,
}

/// The entity that a write finds at its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityFound<'a> {
    /// The version that stands, a deletion's included.
    pub version: Version,
    /// The content there: a value where an entity lives.
    pub content: EntityContent<'a>,
}

/// A write of an entity, and on what conditions it is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityTerms<'a> {
    /// As in [`EntityPut`].
    pub version: Option<Version>,
    /// As in [`EntityPut`].
    pub if_version: Option<Version>,
    /// The content that it leaves.
    pub content: EntityContent<'a>,
}

/// The clock by which a host gives versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionClock {
    /// The greatest version that it has given or seen.
    pub last: Version,
    /// The clock.
    pub now: Time,
    /// The number, 0 to [`crate::NODE_MAX`].
    pub node: u16,
    /// How far a writer's version may lie ahead of its clock, ms.
    pub ahead_ms_max: i64,
}

impl EntityTerms<'_> {
    /// The version of a write, if its terms hold.
    pub fn agree(
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
    /// False when the stored version stands.
    pub applied: bool,
    /// The version of this write when it was applied, else the stored one, which is
    /// [`Version::ABSENT`] where nothing is.
    pub version: Version,
    /// True when an entity lived there before.
    pub existed: bool,
}
