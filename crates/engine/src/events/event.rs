//! Events and their names.

use scurry_ledger::{
    BucketNo, BucketTerms, Cause, Code, Denial, Id, ItemKey, Name, Posting, Status,
};

/// One effect of a commit, or a threshold crossing that follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The account was created.
    Created(Status),
    /// The account was deleted.
    Deleted,
    /// The account's status was set.
    StatusSet(Status),
    /// An identity was set; an empty value removes it.
    IdentitySet {
        /// The kind.
        kind: Name,
        /// The value.
        value: Id,
    },
    /// A bucket was added.
    BucketAdded {
        /// The name.
        id: Name,
        /// The unit.
        unit: Name,
        /// The attributes.
        terms: BucketTerms,
    },
    /// A bucket's attributes were set.
    BucketChanged {
        /// The bucket.
        bucket: BucketNo,
        /// The attributes from now on.
        terms: BucketTerms,
    },
    /// An empty bucket was removed.
    BucketRemoved {
        /// The bucket.
        bucket: BucketNo,
        /// Name and unit, where the Change has them.
        named: Option<(Name, Name)>,
    },
    /// Units of a bucket moved: the sum of the commit's movements of this kind.
    Moved(Movement, Posting),
    /// A counter was created or set.
    CounterSet {
        /// The name.
        id: Name,
        /// The unit.
        unit: Name,
        /// The value from now on.
        value: i64,
    },
    /// A limit was created or changed.
    LimitSet {
        /// The name.
        id: Name,
        /// The amount from now on.
        amount: i64,
    },
    /// A limit was removed.
    LimitRemoved(Name),
    /// Used units of a limit reached a threshold.
    LimitReached {
        /// The name.
        id: Name,
        /// The threshold, percent of the amount.
        percent: u8,
        /// Units used in the period at that time.
        used: i64,
        /// The amount.
        amount: i64,
    },
    /// A commit took what is available in a bucket below its mark.
    BelowMark {
        /// The bucket.
        bucket: BucketNo,
        /// The mark, minor units.
        mark: i64,
    },
    /// A commit took what is available in a bucket to its mark or above again.
    AboveMark {
        /// The bucket.
        bucket: BucketNo,
        /// The mark, minor units.
        mark: i64,
    },
    /// The items that a bucket is for were set; without a key it is for all.
    BucketItemsSet {
        /// Serial number of the bucket.
        bucket: BucketNo,
        /// Keys of the items.
        keys: Vec<ItemKey>,
    },
    /// A session was opened.
    SessionOpened,
    /// A session ended.
    SessionEnded(Ending),
    /// An item was appended to a session.
    ItemAdded {
        /// Name of the item, with its unit.
        key: ItemKey,
        /// The unit.
        unit: Name,
    },
    /// Use of an item that could not be debited, minor units.
    Uncollected(i64),
    /// Late use of a session that is not open was settled. The debits are earlier movements.
    LateUse {
        /// The unit.
        unit: Name,
        /// The reported use, minor units.
        used: i64,
        /// The part not debited.
        uncollected: i64,
    },
    /// A request for units was denied.
    Denied(Denial),
    /// The answer of a command with a transaction id, for readers who ask for one transaction.
    Answered {
        /// OK or a denial.
        code: Code,
        /// Version of the account in the answer.
        version: u64,
        /// Amount in the answer.
        amount: i64,
        /// Cause of a denial.
        cause: Cause,
    },
    /// FLUSHALL: everything was removed, all accounts included.
    Cleared,
    /// SCUR.LOAD: the account was replaced by its image from another store.
    Loaded,
    /// Available units of a bucket fell below a threshold of the reader.
    Low {
        /// The bucket.
        bucket: BucketNo,
        /// Minor units.
        threshold: i64,
    },
    /// Available units of a bucket rose to a threshold of the reader, or above it.
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
    /// TERMINATE, the end of a transfer, or a denial, with the code of the answer.
    Closed(Code),
    /// RELEASE.
    Released,
    /// Tcc ran out.
    Expired,
    /// It was a transfer that the payee refused.
    Returned,
}

/// A kind of movement of a bucket's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// Into available: TOPUP, ADJUST, the first credit of CREATE.
    Credited,
    /// Into available: a period of an allowance has begun.
    Refilled,
    /// Out of available: ADJUST.
    Voided,
    /// Into available: REFUND.
    Refunded,
    /// A refund to an expired bucket, which expires at once.
    RefundedExpired,
    /// Out of available: used without having been reserved.
    Debited,
    /// As debited, but below the floor.
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
    /// All kinds.
    pub const ALL: [Movement; 12] = [
        Movement::Credited,
        Movement::Refilled,
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

    /// Returns by how much one unit changes available and held.
    pub const fn effect(self) -> (i64, i64) {
        match self {
            Movement::Credited | Movement::Refilled | Movement::Refunded => (1, 0),
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
            Movement::Refilled => "refilled",
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
    /// Names of the events of the log.
    pub const WORDS: [&str; 37] = [
        "credited",
        "refilled",
        "voided",
        "refunded",
        "refunded-expired",
        "debited",
        "overdrawn",
        "expired",
        "reserved",
        "settled",
        "released",
        "released-expired",
        "created",
        "deleted",
        "status",
        "identity",
        "bucket-added",
        "bucket-changed",
        "bucket-removed",
        "counter",
        "limit-set",
        "limit-removed",
        "limit",
        "bucket-items",
        "below-mark",
        "above-mark",
        "session-opened",
        "session-closed",
        "session-released",
        "session-expired",
        "session-returned",
        "item-added",
        "uncollected",
        "late-use",
        "denied",
        "cleared",
        "loaded",
    ];

    /// Returns the event's name. Readers depend on it, so it must not change.
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
            Event::BucketItemsSet { .. } => "bucket-items",
            Event::BelowMark { .. } => "below-mark",
            Event::AboveMark { .. } => "above-mark",
            Event::SessionOpened => "session-opened",
            Event::SessionEnded(Ending::Closed(_)) => "session-closed",
            Event::SessionEnded(Ending::Released) => "session-released",
            Event::SessionEnded(Ending::Expired) => "session-expired",
            Event::SessionEnded(Ending::Returned) => "session-returned",
            Event::ItemAdded { .. } => "item-added",
            Event::Uncollected(_) => "uncollected",
            Event::LateUse { .. } => "late-use",
            Event::Denied(_) => "denied",
            Event::Answered { .. } => "answered",
            Event::Cleared => "cleared",
            Event::Loaded => "loaded",
            Event::Low { .. } => "low",
            Event::Restored { .. } => "restored",
        }
    }

    /// Returns the bucket's number, if the event has one.
    pub const fn bucket(&self) -> Option<BucketNo> {
        match self {
            Event::BucketChanged { bucket, .. }
            | Event::BucketItemsSet { bucket, .. }
            | Event::BelowMark { bucket, .. }
            | Event::AboveMark { bucket, .. }
            | Event::BucketRemoved { bucket, .. }
            | Event::Low { bucket, .. }
            | Event::Restored { bucket, .. } => Some(*bucket),
            Event::Moved(_, posting) => Some(posting.bucket),
            _ => None,
        }
    }

    /// Returns the unit, if the event itself has one.
    pub fn unit(&self) -> Option<Name> {
        match self {
            Event::Denied(denial) => Some(denial.unit).filter(|unit| *unit != Name::EMPTY),
            Event::BucketAdded { unit, .. }
            | Event::BucketRemoved { named: Some((_, unit)), .. }
            | Event::CounterSet { unit, .. }
            | Event::ItemAdded { unit, .. }
            | Event::LateUse { unit, .. } => Some(*unit),
            _ => None,
        }
    }

    /// Returns the change of available and of held.
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
