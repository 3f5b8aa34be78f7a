//! A Change: what a Commit does to one account, as plain facts. Only Changes are logged and replicated. Applying one
//! evaluates no rule and reads no clock.

use crate::{
    Allowance, BucketNo, Cause, Code, Cycle, Id, Identity, ItemKey, LateAnswer, Limit, Name,
    PackedAnswer, SessionTerms, Standing, Status, Time, Tombstone, Transaction, UnitAmount,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

/// Facts of one Commit, in order. Applying them also sets `changed_at` to `at` and adds 1 to the account's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Time of the Commit.
    pub at: Time,
    /// Facts, in the order in which they happen.
    pub ops: Vec<Op>,
}

/// Number of a session among those that the Change names ([`Op::NameSession`], [`Op::OpenSession`]), from 0. It does
/// not depend on the other contents of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionAt(pub u32);

/// Position of an item in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAt {
    /// The session.
    pub session: SessionAt,
    /// Index in [`crate::Session::items`].
    pub item: u8,
}

/// Index of a limit in [`crate::Account::limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitAt(pub u8);

/// An amount on a bucket, in its unit, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Serial number of the bucket.
    pub bucket: BucketNo,
    /// Amount in minor units.
    pub amount: i64,
}

/// One fact of a Change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Creates the account.
    Create(Status),
    /// Deletes the account.
    Delete,
    /// Sets the account's status.
    SetStatus(Status),
    /// Sets an identity; an empty value removes it.
    SetIdentity {
        /// Kind of the identity.
        kind: Name,
        /// Value of the identity.
        value: Id,
    },
    /// Keeps a given-up identity as a former one until a time, or sets that time of a former one.
    KeepIdentity {
        /// Kind of the identity.
        kind: Name,
        /// Value of the identity.
        value: Id,
        /// When it is forgotten, or kept for as long again as it has been kept.
        forget_at: Time,
    },
    /// Removes a former identity.
    ForgetIdentity {
        /// Kind of the identity.
        kind: Name,
        /// Value of the identity.
        value: Id,
    },
    /// Adds an empty bucket. It gets the account's next serial number.
    AddBucket {
        /// Name of the bucket.
        id: Name,
        /// Unit of the bucket.
        unit: Name,
        /// Attributes of the bucket.
        terms: BucketTerms,
    },
    /// Sets a bucket's attributes.
    SetBucket {
        /// Serial number of the bucket.
        bucket: BucketNo,
        /// New attributes.
        terms: BucketTerms,
    },
    /// Removes an empty bucket.
    RemoveBucket {
        /// Serial number of the bucket.
        bucket: BucketNo,
        /// Name and unit of the bucket, since nothing tells them after its removal. `None` in Changes of older
        /// versions.
        named: Option<(Name, Name)>,
    },
    /// Sets the keys of the items that a bucket is for; without a key it is for all. Boxed, as it is large and rare.
    SetBucketKeys(Box<BucketKeys>),
    /// Adds to `available` and `credited`.
    Credit(Posting),
    /// Takes from `available`, adds to `voided`.
    Void(Posting),
    /// Adds to `available` and `refunded`.
    Refund(Posting),
    /// Adds to `expired` and `refunded`: a refund to an expired bucket.
    RefundExpired(Posting),
    /// Takes from `available`, adds to `consumed`.
    Debit(Posting),
    /// As `Debit`, below the floor: adds to `overdrawn` too.
    Overdraw(Posting),
    /// Takes from `available`, adds to `expired`.
    Expire(Posting),
    /// Sets or replaces a bucket's allowance.
    SetAllowance(Allowance),
    /// Ends a bucket's refills.
    EndAllowance(BucketNo),
    /// Begins a period of a refilled bucket. The following facts expire the rest and credit the periods that have
    /// begun.
    BeginPeriod {
        /// Serial number of the bucket.
        bucket: BucketNo,
        /// Start of the last period that has begun.
        period_start: Time,
        /// Debt that the bucket carries into that period: the part of `available` below 0 just before.
        carried: i64,
    },
    /// Creates or sets a counter.
    SetCounter {
        /// Name of the counter.
        id: Name,
        /// Unit of the counter.
        unit: Name,
        /// Period and time zone of the counter.
        cycle: Cycle,
        /// Start of the period of `value`.
        period_start: Time,
        /// Value in that period.
        value: i64,
    },
    /// Names the open session with this id, which the following facts are about: it gets the next number of the Change.
    NameSession(Id),
    /// Opens a session with version 0, as the last of the account's sessions, with the next number of the Change.
    OpenSession {
        /// Id of the session.
        id: Id,
        /// Options that the session keeps.
        terms: SessionTerms,
    },
    /// Adds an item at the end of a session's items.
    AddItem {
        /// The session.
        session: SessionAt,
        /// Name of the item, with its unit.
        key: ItemKey,
        /// Unit of the item.
        unit: Name,
    },
    /// Moves `available` to `held`, and adds a slice to the item.
    Hold(ItemAt, Posting),
    /// Grants units: the sum of the `Hold`s before it.
    Grant {
        /// Item that gets the grant.
        at: ItemAt,
        /// Amount in minor units.
        amount: i64,
        /// Number of the request that granted.
        request: u32,
    },
    /// Records that an item was granted less than it asked for, or nothing; a `Grant` alone is in full.
    FallShort(ItemAt, Standing),
    /// Moves `held` to `consumed`: use settled from a slice.
    Settle(ItemAt, Posting),
    /// Moves `held` to `available`: the rest of a slice goes back.
    Release(ItemAt, Posting),
    /// Moves `held` to `expired`: the rest of a slice on an expired bucket.
    ReleaseExpired(ItemAt, Posting),
    /// Reports use on an item.
    Use {
        /// Item that was used.
        at: ItemAt,
        /// All use of this report.
        used: i64,
        /// Part debited from `available`.
        direct: i64,
        /// Part not debited.
        uncollected: i64,
    },
    /// Adds 1 to a session's version and restarts its supervision.
    Supervise {
        /// Session to supervise.
        session: SessionAt,
        /// Validity of its grants, ms.
        validity_ms: i64,
        /// Supervision time, ms.
        tcc_ms: i64,
        /// Moment at which Tcc runs out.
        deadline: Time,
    },
    /// Sets a session's opaque bytes.
    SetBlob(SessionAt, Vec<u8>),
    /// Stores an answer in the session's window.
    StoreAnswer {
        /// Session that answered.
        session: SessionAt,
        /// Packed answer.
        answer: PackedAnswer,
        /// Number of answers that the window keeps.
        answers_max: u8,
    },
    /// Closes a session that holds nothing.
    CloseSession(SessionAt),
    /// Remembers a closed or refused session. Boxed, as it is large and rare.
    StoreTombstone(Box<Tombstone>),
    /// Remembers a transaction.
    Remember(Box<Transaction>),
    /// Notes a partial refund with the remembered debit.
    NoteRefund {
        /// Transaction id of the debit.
        debit: Id,
        /// Index of the item among the items of the debit; 0 for a debit without items.
        item: u8,
        /// Bucket and amount of the refund.
        posting: Posting,
    },
    /// Forgets the tombstones and transactions whose forget time is reached.
    Forget,
    /// Adds a limit as the account's last one, or replaces the limit of the same name. Boxed, as it is large and rare.
    SetLimit(Box<Limit>),
    /// Removes a limit.
    RemoveLimit(Name),
    /// Begins a period of a limit, in which nothing is used yet; drops the parts of a rolling limit that are over, and
    /// begins the present one; drains a rate.
    BeginLimitPeriod {
        /// Limit whose period begins.
        limit: LimitAt,
        /// Start of the period; of a rolling limit and of a rate the moment.
        start: Time,
    },
    /// Counts used units against a limit.
    CountUse {
        /// Limit that counts them.
        limit: LimitAt,
        /// All units used, at least 1.
        used: i64,
        /// Part for which nothing was left.
        overrun: i64,
    },
    /// Takes refunded units out of the use that a limit counted.
    UncountUse {
        /// Limit that counted them.
        limit: LimitAt,
        /// Index of the part of a rolling limit that counted them, from the oldest; else 0.
        part: u8,
        /// Amount in minor units, at least 1.
        amount: i64,
    },
    /// Records that a limit has reached a threshold, which makes an event.
    ReachThreshold {
        /// Name of the limit.
        limit: Name,
        /// Threshold in percent of the amount.
        percent: u8,
        /// Amount used by then.
        used: i64,
        /// Amount of the limit.
        amount: i64,
    },
    /// Records that the Change as a whole takes what is available in a bucket below its mark, or to it or above again,
    /// which makes an event.
    CrossMark {
        /// Serial number of the bucket.
        bucket: BucketNo,
        /// Mark of the bucket.
        mark: i64,
        /// Whether less is available than the mark.
        is_below: bool,
    },
    /// Reports use of an item of a session that is not open. The facts before it have debited the collected part.
    LateUse {
        /// Name of the item, with its unit.
        key: ItemKey,
        /// Unit of the item.
        unit: Name,
        /// All use of this report.
        used: i64,
        /// Part not debited.
        uncollected: i64,
    },
    /// Stores the answer to late use in the session's tombstone, which is created if there is none.
    NoteLate(Box<LateAnswer>),
    /// Adds to the sum of a unit that is in transit to other accounts; a negative amount is no longer in transit.
    Transit(UnitAmount),
    /// Removes the receipt of a transfer from the remembered transactions.
    ForgetReceipt(Id),
    /// Names an item that the facts after it are about, for readers of the log. It changes nothing, as the next four.
    NameItem {
        /// The item.
        at: ItemAt,
        /// Name of the item, with its unit.
        key: ItemKey,
        /// Unit of the item.
        unit: Name,
    },
    /// Names the item of no session that the debits or refunds after it are about.
    NameKey(ItemKey),
    /// Names the opaque bytes of a session.
    NameBlob(SessionAt, Vec<u8>),
    /// Names the identities of the account.
    NameIdentities(Box<[Identity]>),
    /// Records that a request for units was denied.
    Deny(Box<Denial>),
}

impl Op {
    /// Drops the fact. Most facts own no heap memory, and a call to find that out would cost more than most of them.
    #[inline(always)]
    pub fn discard(self) {
        match self.owns_memory() {
            true => drop(self),
            false => mem::forget(self),
        }
    }

    /// Returns the bucket whose available amount the fact changes, and what it adds to it.
    pub fn added_to_available(&self) -> Option<(BucketNo, i64)> {
        match self {
            Op::Credit(posting) | Op::Refund(posting) | Op::Release(_, posting) => {
                Some((posting.bucket, posting.amount))
            }
            Op::Void(posting)
            | Op::Debit(posting)
            | Op::Overdraw(posting)
            | Op::Expire(posting)
            | Op::Hold(_, posting) => Some((posting.bucket, -posting.amount)),
            _ => None,
        }
    }

    #[inline(always)]
    fn owns_memory(&self) -> bool {
        match self {
            Op::SetBlob(..)
            | Op::NameBlob(..)
            | Op::NameIdentities(_)
            | Op::Deny(_)
            | Op::StoreAnswer { .. }
            | Op::StoreTombstone(_)
            | Op::Remember(_)
            | Op::SetLimit(_)
            | Op::SetBucketKeys(_)
            | Op::NoteLate(_) => true,
            Op::NameSession(id)
            | Op::OpenSession { id, .. }
            | Op::SetIdentity { value: id, .. }
            | Op::KeepIdentity { value: id, .. }
            | Op::ForgetIdentity { value: id, .. }
            | Op::NoteRefund { debit: id, .. }
            | Op::ForgetReceipt(id) => id.is_on_heap(),
            // Every kind is named, so that a new one that owns memory is not forgotten here.
            Op::Create(_)
            | Op::Delete
            | Op::SetStatus(_)
            | Op::AddBucket { .. }
            | Op::SetBucket { .. }
            | Op::RemoveBucket { .. }
            | Op::Credit(_)
            | Op::Void(_)
            | Op::Refund(_)
            | Op::RefundExpired(_)
            | Op::Debit(_)
            | Op::Overdraw(_)
            | Op::Expire(_)
            | Op::SetAllowance(_)
            | Op::EndAllowance(_)
            | Op::BeginPeriod { .. }
            | Op::SetCounter { .. }
            | Op::AddItem { .. }
            | Op::Hold(..)
            | Op::Grant { .. }
            | Op::FallShort(..)
            | Op::Settle(..)
            | Op::Release(..)
            | Op::ReleaseExpired(..)
            | Op::Use { .. }
            | Op::Supervise { .. }
            | Op::CloseSession(_)
            | Op::Forget
            | Op::RemoveLimit(_)
            | Op::BeginLimitPeriod { .. }
            | Op::CountUse { .. }
            | Op::UncountUse { .. }
            | Op::ReachThreshold { .. }
            | Op::CrossMark { .. }
            | Op::LateUse { .. }
            | Op::NameItem { .. }
            | Op::NameKey(_)
            | Op::Transit(_) => false,
        }
    }
}

/// A denied request for units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The item; `None` for a request without items.
    pub item: Option<ItemKey>,
    /// Unit of the amount; empty if the request names none.
    pub unit: Name,
    /// Amount that was asked for, minor units.
    pub requested: i64,
    /// SERVICE_DENIED, CREDIT_LIMIT_REACHED or CHAIN_DENIED.
    pub code: Code,
    /// Cause of the denial.
    pub cause: Cause,
    /// Denials of the same command that are not recorded ([`crate::Limits::denials_max`]); in the last one that is.
    pub left_out: u32,
}

/// The keys of the items that a bucket is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketKeys {
    /// Serial number of the bucket.
    pub bucket: BucketNo,
    /// Keys, in the order given; none for all items.
    pub keys: Vec<ItemKey>,
}

/// Attributes of a bucket besides its id, unit and amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTerms {
    /// Rank in burn order; the lower value burns first.
    pub priority: i32,
    /// First moment of validity.
    pub valid_from: Time,
    /// First moment after its validity; `None` for no end.
    pub valid_to: Option<Time>,
    /// Minus the credit limit.
    pub floor: i64,
    /// Amount whose crossing by what is available is an event.
    pub mark: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrun;

    #[test]
    fn facts_with_a_long_id_are_dropped() {
        let name = Name::new(b"kind").expect("a name");
        let posting = Posting { bucket: BucketNo(0), amount: 1 };
        let terms = SessionTerms { overrun: Overrun::Clamp, transfer: false };
        for len in [1, 62, 63, 255] {
            let id = Id::new(&[b'x'; 255][..len]).expect("an id");
            let facts = [
                Op::NameSession(id.clone()),
                Op::OpenSession { id: id.clone(), terms },
                Op::SetIdentity { kind: name, value: id.clone() },
                Op::KeepIdentity { kind: name, value: id.clone(), forget_at: Time(0) },
                Op::ForgetIdentity { kind: name, value: id.clone() },
                Op::NoteRefund { debit: id.clone(), item: 0, posting },
                Op::ForgetReceipt(id),
            ];
            assert!(facts.iter().all(|fact| fact.owns_memory() == (len > 62)), "{len} bytes");
        }
    }
}
