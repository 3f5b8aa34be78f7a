//! Entities as a shard shows and takes them: plain records with a version, for a client or a
//! coordinator that keeps several copies and must end with the same one in each.

use crate::{Expiry, Version, WriteError};
use scurry_ledger::Time;

/// An entity, or what a deleted one left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entity<'a> {
    /// The version of its last write.
    pub version: Version,
    /// What it is.
    pub state: EntityState<'a>,
}

/// What an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntityState<'a> {
    /// It lives.
    Live {
        /// Its value.
        value: &'a [u8],
        /// From then on it is absent.
        expires: Option<Time>,
    },
    /// It was deleted. The tombstone refuses writes that are older than the deletion.
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
    /// The writer's version: applied only when it is greater than the stored one. None takes
    /// the next one of the shard's clock.
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

/// What a write of an entity finds at its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityFound {
    /// The version that stands, a deletion's included.
    pub version: Version,
    /// An entity lives there.
    pub lives: bool,
}

/// On what conditions a write of an entity is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityTerms {
    /// As in [`EntityPut`].
    pub version: Option<Version>,
    /// As in [`EntityPut`].
    pub if_version: Option<Version>,
}

/// What a host gives versions by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionClock {
    /// The greatest version that it has given or seen.
    pub last: Version,
    /// Its clock.
    pub now: Time,
    /// Its number, 0 to [`crate::NODE_MAX`].
    pub node: u16,
    /// How far a writer's version may lie ahead of its clock, ms.
    pub ahead_ms_max: i64,
}

impl EntityTerms {
    /// The version of a write, if its terms hold.
    pub fn agree(
        &self,
        found: EntityFound,
        clock: &VersionClock,
    ) -> Result<Option<Version>, WriteError> {
        let ahead = |version: Version| version.is_ahead(clock.now, clock.ahead_ms_max);
        if self.version.is_some_and(ahead) {
            return Err(WriteError::VersionAhead);
        }
        let expected = self.if_version.is_none_or(|version| {
            version == found.version || version == Version::ABSENT && !found.lives
        });
        if !expected {
            return Ok(None);
        }
        match self.version {
            Some(version) => Ok(Some(version).filter(|&version| version > found.version)),
            None => {
                let last = clock.last.max(found.version);
                last.next(clock.now, clock.node).map(Some).ok_or(WriteError::VersionAhead)
            }
        }
    }
}

/// What became of a write to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityWrite {
    /// False when the stored version stands.
    pub applied: bool,
    /// That of this write when it was applied, else the stored one, which is
    /// [`Version::ABSENT`] where nothing is.
    pub version: Version,
    /// True when an entity lived there before.
    pub existed: bool,
}
