//! What can be asked of one account. Borrowed: a host parses its input in place. Every field
//! is checked by `decide` again, so a host need not check values, only grammar.

use crate::{Counted, ItemKey, Name, Overrun, Period, Status, Time};

/// A command to one account. The account's id is not part of it: the host has found the
/// account. Names follow docs/commands.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `SCUR.CREATE`: provisioning.
    Create(Create<'a>),
    /// `SCUR.STATUS`: sets the status and identities.
    Status {
        /// Transaction id, where the command is to be remembered.
        txn: Option<&'a [u8]>,
        /// The status from now on.
        status: Status,
        /// Kind and value; an empty value removes the identity.
        identities: &'a [(Name, &'a [u8])],
    },
    /// `SCUR.DELETE`.
    Delete {
        /// Forget remembered ids as well.
        force: bool,
    },
    /// `SCUR.TOPUP`: refill.
    TopUp {
        /// Transaction id.
        txn: &'a [u8],
        /// The bucket, created when `unit` is given and it does not exist.
        bucket: Name,
        /// Minor units, at least 1.
        amount: i64,
        /// The unit of a bucket to create, or a check of an existing one.
        unit: Option<Name>,
        /// Attributes; priority, from and floor only for a bucket to create.
        attributes: BucketAttributes,
    },
    /// `SCUR.ADJUST`: a correction by the operator; negative voids.
    Adjust {
        /// Transaction id.
        txn: &'a [u8],
        /// The bucket.
        bucket: Name,
        /// Minor units, not 0.
        amount: i64,
    },
    /// `SCUR.BUCKET`: changes attributes.
    Bucket {
        /// Transaction id.
        txn: &'a [u8],
        /// The bucket.
        bucket: Name,
        /// Attributes that change; at least one of these or `remove`, never both.
        attributes: BucketAttributes,
        /// Remove the empty bucket.
        remove: bool,
    },
    /// `SCUR.DEBIT`: direct debiting (RFC 8506 section 6.3), all or nothing.
    Debit {
        /// Transaction id.
        txn: &'a [u8],
        /// Unit to debit.
        unit: Name,
        /// Minor units, at least 1.
        amount: i64,
    },
    /// `SCUR.DEBIT` of several items, all or nothing.
    DebitItems {
        /// Transaction id.
        txn: &'a [u8],
        /// One item at least, none with the key and the unit of another.
        items: &'a [ItemAmount],
    },
    /// `SCUR.REFUND` of items of such a debit, all or nothing.
    RefundItems {
        /// Transaction id of the refund.
        txn: &'a [u8],
        /// Transaction id of the debit.
        debit: &'a [u8],
        /// As of the debit.
        items: &'a [ItemAmount],
    },
    /// `SCUR.REFUND`: refund by debit reference (RFC 8506 section 6.4).
    Refund {
        /// Transaction id of the refund.
        txn: &'a [u8],
        /// Transaction id of the debit.
        debit: &'a [u8],
        /// Minor units, at least 1; none for what is left of the debit.
        amount: Option<i64>,
    },
    /// `SCUR.COUNTER`.
    Counter {
        /// Transaction id.
        txn: &'a [u8],
        /// The counter.
        counter: Name,
        /// Added, any sign.
        amount: i64,
        /// Unit of the counter: default `events` at creation, a check later.
        unit: Option<Name>,
        /// Reset period of the counter: default none at creation, a check later.
        period: Option<Period>,
    },
    /// `SCUR.LIMIT`.
    Limit {
        /// Transaction id.
        txn: &'a [u8],
        /// The limit.
        limit: Name,
        /// Change of it.
        terms: LimitTerms,
    },
    /// `SCUR.RESERVE`: CCR-INITIAL.
    Reserve(SessionRequest<'a>),
    /// `SCUR.UPDATE`: CCR-UPDATE.
    Update(SessionRequest<'a>),
    /// `SCUR.TERMINATE`: CCR-TERMINATION.
    Terminate(SessionRequest<'a>),
    /// `SCUR.RELEASE`: abort by the operator.
    Release {
        /// Session id.
        session: &'a [u8],
    },
}

/// The arguments of `SCUR.CREATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Create<'a> {
    /// Transaction id, where the command is to be remembered.
    pub txn: Option<&'a [u8]>,
    /// Active or suspended.
    pub status: Status,
    /// Kind and value.
    pub identities: &'a [(Name, &'a [u8])],
    /// Buckets with their first credit.
    pub buckets: &'a [NewBucket],
}

/// A bucket in `SCUR.CREATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBucket {
    /// Id of the bucket.
    pub bucket: Name,
    /// Unit of the bucket.
    pub unit: Name,
    /// First credit, minor units, at least 0.
    pub amount: i64,
    /// Attributes of the bucket.
    pub attributes: BucketAttributes,
}

/// Attributes that can be said of a bucket besides its id and unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BucketAttributes {
    /// Lower burns first.
    pub priority: Option<i32>,
    /// Valid from, ms.
    pub valid_from: Option<Time>,
    /// Valid until (excluded), ms; `Some(None)` removes the end.
    pub valid_to: Option<Option<Time>>,
    /// Minus the credit limit, <= 0.
    pub floor: Option<i64>,
    /// Period of the allowance; [`Period::None`] for none.
    pub period: Option<Period>,
    /// Minutes by which the clocks of the periods are ahead of UTC, with a period only.
    pub offset_minutes: Option<i16>,
    /// Credit of each period, with a period only. What is left out is the first credit, or stays.
    pub refill: Option<i64>,
}

/// A change of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitTerms {
    /// A limit is made, or changed where there is one.
    Set {
        /// Things that it counts; a check of an existing one.
        counted: Counted,
        /// Minor units or open sessions, at least 0.
        amount: i64,
        /// When it begins anew: default none at creation, as it is later.
        period: Option<Period>,
        /// Minutes by which the clocks of its time zone are ahead of UTC: default 0 at creation, as it
        /// is later.
        offset_minutes: Option<i64>,
    },
    /// A limit ends.
    Remove,
}

/// An item of a debit or of its refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAmount {
    /// Key of the item.
    pub key: ItemKey,
    /// Unit of the amount.
    pub unit: Name,
    /// Minor units, at least 1.
    pub amount: i64,
}

/// The arguments of RESERVE, UPDATE and TERMINATE. By default no option is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionRequest<'a> {
    /// Session id.
    pub session: &'a [u8],
    /// CC-Request-Number (RFC 8506 section 8.2).
    pub request: u32,
    /// UPDATE and TERMINATE: the session version that the caller has seen.
    pub if_version: Option<u64>,
    /// Validity of the grants, ms.
    pub validity_ms: Option<i64>,
    /// Supervision time, ms.
    pub tcc_ms: Option<i64>,
    /// RESERVE, and late use: what happens with use beyond what could be debited.
    pub overrun: Option<Overrun>,
    /// One denied item closes the session.
    pub close_on_denial: bool,
    /// RESERVE: the session opens although every item is denied.
    pub keep_open: bool,
    /// UPDATE and TERMINATE: use is settled although the session is not open.
    pub late_use: bool,
    /// Opaque bytes kept with the session.
    pub blob: Option<&'a [u8]>,
    /// Rating groups (MSCC).
    pub items: &'a [ItemRequest],
}

/// One rating group of a request (Multiple-Services-Credit-Control, RFC 8506 section 8.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRequest {
    /// Name of the item, with its unit.
    pub key: ItemKey,
    /// Unit of all its amounts.
    pub unit: Name,
    /// Used-Service-Unit since the last report.
    pub used: Option<i64>,
    /// Requested-Service-Unit; none asks for nothing.
    pub requested: Option<i64>,
    /// The least grant that is worth having.
    pub min: Option<i64>,
}
