//! What an event says, and its word.

use scurry_ledger::{BucketNo, BucketTerms, Id, ItemKey, Name, Posting, Status};

/// One thing that a commit did, or that follows from it for the thresholds of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The account begins.
    Created(Status),
    /// The account ends.
    Deleted,
    /// The account's status is set.
    StatusSet(Status),
    /// An identity is set; an empty value removes it.
    IdentitySet {
        /// The kind.
        kind: Name,
        /// The value.
        value: Id,
    },
    /// A bucket begins.
    BucketAdded {
        /// The name.
        id: Name,
        /// The unit.
        unit: Name,
        /// The attributes.
        terms: BucketTerms,
    },
    /// A bucket's attributes are set.
    BucketChanged {
        /// The bucket.
        bucket: BucketNo,
        /// The attributes from now on.
        terms: BucketTerms,
    },
    /// An empty bucket ends.
    BucketRemoved {
        /// The bucket.
        bucket: BucketNo,
        /// Name and unit, where the Change has them.
        named: Option<(Name, Name)>,
    },
    /// Units of a bucket move: the sum of all that the commit moved of it in this way.
    Moved(Movement, Posting),
    /// A counter begins, or is set.
    CounterSet {
        /// The name.
        id: Name,
        /// The unit.
        unit: Name,
        /// The value from now on.
        value: i64,
    },
    /// A limit begins, or is changed.
    LimitSet {
        /// The name.
        id: Name,
        /// The amount from now on.
        amount: i64,
    },
    /// A limit ends.
    LimitRemoved(Name),
    /// Used units of a limit have reached a threshold.
    LimitReached {
        /// The name.
        id: Name,
        /// The threshold, percent of the amount.
        percent: u8,
        /// Used in the period by then.
        used: i64,
        /// The amount.
        amount: i64,
    },
    /// A session begins.
    SessionOpened(Id),
    /// A session ends. In older logs its id is not known when nothing remembered it.
    SessionEnded(Ending, Option<Id>),
    /// A session gets an item, as its last.
    ItemAdded {
        /// Name of the item, with its unit.
        key: ItemKey,
        /// The unit.
        unit: Name,
    },
    /// Use of an item that could not be debited, minor units.
    Uncollected(i64),
    /// Use of a session that is not open is settled: what was debited of it are movements before.
    LateUse {
        /// The session.
        session: Id,
        /// The request number.
        request: u32,
        /// Name of the item, with its unit.
        key: ItemKey,
        /// The unit.
        unit: Name,
        /// All of it, minor units.
        used: i64,
        /// The part not debited.
        uncollected: i64,
    },
    /// FLUSHALL: every account is gone, and everything else.
    Cleared,
    /// SCUR.LOAD: the account is as it was in another store.
    Loaded,
    /// Available units of a bucket have fallen below a threshold of the reader.
    Low {
        /// The bucket.
        bucket: BucketNo,
        /// Minor units.
        threshold: i64,
    },
    /// Available units of a bucket are at a threshold of the reader again, or above it.
    Restored {
        /// The bucket.
        bucket: BucketNo,
        /// Minor units.
        threshold: i64,
    },
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// TERMINATE, a denial, or nothing remembers how.
    Closed,
    /// RELEASE.
    Released,
    /// Tcc ran out.
    Expired,
}

/// Where units of a bucket come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// Into available: TOPUP, ADJUST, the first credit of CREATE.
    Credited,
    /// Out of available: ADJUST.
    Voided,
    /// Into available: REFUND.
    Refunded,
    /// A refund to an expired bucket: it expires at once.
    RefundedExpired,
    /// Out of available: used without having been reserved.
    Debited,
    /// As debited, below the floor.
    Overdrawn,
    /// Out of available: the bucket's validity is over.
    Expired,
    /// From available to held: granted.
    Reserved,
    /// Out of held: used after having been reserved.
    Settled,
    /// From held to available: not used.
    Released,
    /// Out of held: not used, and the bucket's validity is over.
    ReleasedExpired,
}

impl Movement {
    /// All of them.
    pub const ALL: [Movement; 11] = [
        Movement::Credited,
        Movement::Voided,
        Movement::Refunded,
        Movement::RefundedExpired,
        Movement::Debited,
        Movement::Overdrawn,
        Movement::Expired,
        Movement::Reserved,
        Movement::Settled,
        Movement::Released,
        Movement::ReleasedExpired,
    ];

    /// The change of available and of held by one unit of it.
    pub const fn effect(self) -> (i64, i64) {
        match self {
            Movement::Credited | Movement::Refunded => (1, 0),
            Movement::RefundedExpired => (0, 0),
            Movement::Voided | Movement::Debited | Movement::Overdrawn | Movement::Expired => {
                (-1, 0)
            }
            Movement::Reserved => (-1, 1),
            Movement::Settled | Movement::ReleasedExpired => (0, -1),
            Movement::Released => (1, -1),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Movement::Credited => "credited",
            Movement::Voided => "voided",
            Movement::Refunded => "refunded",
            Movement::RefundedExpired => "refunded-expired",
            Movement::Debited => "debited",
            Movement::Overdrawn => "overdrawn",
            Movement::Expired => "expired",
            Movement::Reserved => "reserved",
            Movement::Settled => "settled",
            Movement::Released => "released",
            Movement::ReleasedExpired => "released-expired",
        }
    }
}

impl Event {
    /// The word: readers know the event by it, so it stays.
    pub const fn word(&self) -> &'static str {
        match self {
            Event::Created(_) => "created",
            Event::Deleted => "deleted",
            Event::StatusSet(_) => "status",
            Event::IdentitySet { .. } => "identity",
            Event::BucketAdded { .. } => "bucket-added",
            Event::BucketChanged { .. } => "bucket-changed",
            Event::BucketRemoved { .. } => "bucket-removed",
            Event::Moved(movement, _) => movement.word(),
            Event::CounterSet { .. } => "counter",
            Event::LimitSet { .. } => "limit-set",
            Event::LimitRemoved(_) => "limit-removed",
            Event::LimitReached { .. } => "limit",
            Event::SessionOpened(_) => "session-opened",
            Event::SessionEnded(Ending::Closed, _) => "session-closed",
            Event::SessionEnded(Ending::Released, _) => "session-released",
            Event::SessionEnded(Ending::Expired, _) => "session-expired",
            Event::ItemAdded { .. } => "item-added",
            Event::Uncollected(_) => "uncollected",
            Event::LateUse { .. } => "late-use",
            Event::Cleared => "cleared",
            Event::Loaded => "loaded",
            Event::Low { .. } => "low",
            Event::Restored { .. } => "restored",
        }
    }

    /// The bucket that it is about, where the event knows it by its number.
    pub const fn bucket(&self) -> Option<BucketNo> {
        match self {
            Event::BucketChanged { bucket, .. }
            | Event::BucketRemoved { bucket, .. }
            | Event::Low { bucket, .. }
            | Event::Restored { bucket, .. } => Some(*bucket),
            Event::Moved(_, posting) => Some(posting.bucket),
            _ => None,
        }
    }

    /// The unit, where the event itself tells it.
    pub const fn unit(&self) -> Option<Name> {
        match self {
            Event::BucketAdded { unit, .. }
            | Event::BucketRemoved { named: Some((_, unit)), .. }
            | Event::CounterSet { unit, .. }
            | Event::ItemAdded { unit, .. }
            | Event::LateUse { unit, .. } => Some(*unit),
            _ => None,
        }
    }

    /// The change of available and of held.
    pub const fn effect(&self) -> (i64, i64) {
        match self {
            Event::Moved(movement, posting) => {
                let (available, held) = movement.effect();
                (available * posting.amount, held * posting.amount)
            }
            _ => (0, 0),
        }
    }
}
