//! A Change: what a Commit does to one account, as plain facts. It is all that is logged and
//! replicated; applying it runs no rule and reads no clock.

use crate::{
    Allowance, BucketNo, Id, ItemKey, LateAnswer, Limit, Name, Overrun, PackedAnswer, Period,
    Status, Time, Tombstone, Transaction,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

/// The facts of one Commit, in their order. Applying them also sets `changed_at` to `at` and
/// adds 1 to the account's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The time of the Commit.
    pub at: Time,
    /// Facts, in the order in which they happen.
    pub ops: Vec<Op>,
}

/// Number of a session among those that the Change names ([`Op::NameSession`], [`Op::OpenSession`]),
/// from 0 on. It does not depend on what else the account holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionAt(pub u32);

/// The place of an item in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAt {
    /// The session.
    pub session: SessionAt,
    /// Index in [`crate::Session::items`].
    pub item: u8,
}

/// The place of a limit in [`crate::Account::limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitAt(pub u8);

/// An amount of a bucket's unit, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The bucket.
    pub bucket: BucketNo,
    /// Minor units.
    pub amount: i64,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// The account begins.
    Create(Status),
    /// The account ends.
    Delete,
    /// The account's status is set.
    SetStatus(Status),
    /// An identity is set; an empty value removes it.
    SetIdentity {
        /// Kind of the identity.
        kind: Name,
        /// Value of the identity.
        value: Id,
    },
    /// A bucket begins, with nothing in it. It gets the account's next serial number.
    AddBucket {
        /// Name of the bucket.
        id: Name,
        /// Unit of the bucket.
        unit: Name,
        /// Attributes of the bucket.
        terms: BucketTerms,
    },
    /// A bucket's attributes are set.
    SetBucket {
        /// The bucket.
        bucket: BucketNo,
        /// Attributes of the bucket from now on.
        terms: BucketTerms,
    },
    /// An empty bucket ends.
    RemoveBucket {
        /// The bucket.
        bucket: BucketNo,
        /// Name and unit of the bucket, which nothing tells any more afterwards. Older Changes lack them.
        named: Option<(Name, Name)>,
    },
    /// available and credited grow.
    Credit(Posting),
    /// available shrinks, voided grows.
    Void(Posting),
    /// available and refunded grow.
    Refund(Posting),
    /// expired and refunded grow: a refund to an expired bucket.
    RefundExpired(Posting),
    /// available shrinks, consumed grows.
    Debit(Posting),
    /// As Debit, below the floor: overdrawn grows too.
    Overdraw(Posting),
    /// available shrinks, expired grows.
    Expire(Posting),
    /// A bucket gets an allowance, or another one.
    SetAllowance(Allowance),
    /// A bucket is not refilled any more.
    EndAllowance(BucketNo),
    /// A bucket is refilled by the facts behind: what is left expires, and the credit of the periods that
    /// have begun comes in.
    BeginPeriod {
        /// The bucket.
        bucket: BucketNo,
        /// Start of the last of these periods.
        period_start: Time,
    },
    /// A counter begins, or is set.
    SetCounter {
        /// Name of the counter.
        id: Name,
        /// Unit of the counter.
        unit: Name,
        /// Period of the counter.
        period: Period,
        /// Start of the period of `value`.
        period_start: Time,
        /// The value in it.
        value: i64,
    },
    /// The open session of this id is what the facts behind are about: it gets the next number of the
    /// Change.
    NameSession(Id),
    /// A session begins, version 0, as the last of the account's sessions, with the next number of the
    /// Change.
    OpenSession {
        /// Id of the session.
        id: Id,
        /// Overrun policy of the session.
        overrun: Overrun,
    },
    /// A session gets an item, as its last.
    AddItem {
        /// The session.
        session: SessionAt,
        /// Name of the item, with its unit.
        key: ItemKey,
        /// Unit.
        unit: Name,
    },
    /// available becomes held: a slice is added to the item.
    Hold(ItemAt, Posting),
    /// A grant is handed out: the sum of the Holds before it.
    Grant {
        /// The item.
        at: ItemAt,
        /// Minor units.
        amount: i64,
        /// The request number that granted.
        request: u32,
    },
    /// held becomes consumed: use settled from a slice.
    Settle(ItemAt, Posting),
    /// held becomes available: what is left of a slice goes back.
    Release(ItemAt, Posting),
    /// held becomes expired: what is left of a slice on an expired bucket.
    ReleaseExpired(ItemAt, Posting),
    /// Use is reported on an item.
    Use {
        /// The item.
        at: ItemAt,
        /// All of it.
        used: i64,
        /// The part debited from available.
        direct: i64,
        /// The part not debited.
        uncollected: i64,
    },
    /// A session's version grows by 1 and its supervision restarts.
    Supervise {
        /// The session.
        session: SessionAt,
        /// Validity of its grants, ms.
        validity_ms: i64,
        /// Supervision time, ms.
        tcc_ms: i64,
        /// When Tcc runs out.
        deadline: Time,
    },
    /// A session's opaque bytes are set.
    SetBlob(SessionAt, Vec<u8>),
    /// An answer enters the session's window.
    StoreAnswer {
        /// The session.
        session: SessionAt,
        /// The answer.
        answer: PackedAnswer,
        /// How many the window keeps.
        answers_max: u8,
    },
    /// A session that holds nothing ends.
    CloseSession(SessionAt),
    /// A closed or refused session is remembered. Boxed, as it is large and rare.
    Bury(Box<Tombstone>),
    /// A transaction is remembered.
    Remember(Box<Transaction>),
    /// A remembered debit is refunded in part.
    NoteRefund {
        /// Transaction id of the debit.
        debit: Id,
        /// Place of the item among those of the debit; 0 of a debit without items.
        item: u8,
        /// Bucket and amount.
        posting: Posting,
    },
    /// Tombstones and transactions whose time has come are forgotten.
    Forget,
    /// A limit begins as the account's last one, or takes the place of the one that has its name. Boxed,
    /// as it is large and rare.
    SetLimit(Box<Limit>),
    /// A limit ends.
    RemoveLimit(Name),
    /// A period of a limit begins: nothing is used of it.
    BeginLimitPeriod {
        /// The limit.
        limit: LimitAt,
        /// Start of the period.
        start: Time,
    },
    /// Used units count.
    CountUse {
        /// The limit.
        limit: LimitAt,
        /// All of them, at least 1.
        used: i64,
        /// The part for which nothing was left.
        overrun: i64,
    },
    /// Refunded units count no more.
    UncountUse {
        /// The limit.
        limit: LimitAt,
        /// Minor units, at least 1.
        amount: i64,
    },
    /// A threshold of a limit is reached, and told.
    ReachThreshold {
        /// Name of the limit.
        limit: Name,
        /// The threshold, percent of the amount.
        percent: u8,
        /// Used by then.
        used: i64,
        /// Amount of the limit.
        amount: i64,
    },
    /// Use is reported of an item of a session that is not open. What was debited of it was so by the
    /// facts before.
    LateUse {
        /// Name of the item, with its unit.
        key: ItemKey,
        /// Unit.
        unit: Name,
        /// All of it.
        used: i64,
        /// The part not debited.
        uncollected: i64,
    },
    /// The answer to late use is noted with the session's tombstone, which begins where there is none.
    NoteLate(Box<LateAnswer>),
}

impl Op {
    /// Drops the fact. Most facts own nothing, and a call to find that out would cost more than most of
    /// them.
    #[inline(always)]
    pub fn discard(self) {
        match self {
            Op::SetBlob(..)
            | Op::StoreAnswer { .. }
            | Op::Bury(_)
            | Op::Remember(_)
            | Op::SetLimit(_)
            | Op::NoteLate(_) => drop(self),
            op => mem::forget(op),
        }
    }
}

/// Attributes of a bucket besides its id, unit and amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTerms {
    /// Lower burns first.
    pub priority: i32,
    /// First moment of validity.
    pub valid_from: Time,
    /// First moment after its validity.
    pub valid_to: Option<Time>,
    /// Minus the credit limit.
    pub floor: i64,
}
