//! Entities as a shard shows and takes them: plain records with a version, for a client or a
//! coordinator that keeps several copies and must end with the same one in each.

use crate::{Expiry, Version};
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
