//! Commands to one account. They borrow from the host's input, which is parsed in place. `decide` checks every field
//! again, so a host needs to check grammar only, not values.

use crate::{
    Code, DebtRule, ItemKey, LimitSubject, Name, Period, PeriodClock, SessionOptions, Status, Time,
};

/// A command to one account. The account's id is not part of it, as the host has already found the account. Names
/// follow docs/commands.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `SCUR.CREATE`: provisioning.
    Create(Create<'a>),
    /// `SCUR.STATUS`: sets the status and identities.
    Status {
        /// Transaction id, if the command is to be remembered.
        txn: Option<&'a [u8]>,
        /// New status.
        status: Status,
        /// Kind and value; an empty value removes the identity.
        identities: &'a [(Name, &'a [u8])],
    },
    /// `SCUR.DELETE`: deletes a closed, empty account.
    Delete {
        /// Whether remembered ids are forgotten as well.
        force: bool,
        /// Transaction that the account must remember. With it the command may be repeated.
        if_txn: Option<&'a [u8]>,
    },
    /// `SCUR.TOPUP`: refill.
    TopUp {
        /// Transaction id.
        txn: &'a [u8],
        /// Bucket to credit, created when `unit` is given and it does not exist.
        bucket: Name,
        /// Minor units, at least 1.
        amount: i64,
        /// Unit of a bucket to create, or an expected value for an existing one.
        unit: Option<Name>,
        /// Attributes; priority, from, floor and mark only for a bucket to create.
        attributes: BucketAttributes,
        /// Keys of the items that the bucket is for; only for a bucket to create. None: it is for all.
        keys: &'a [ItemKey],
    },
    /// `SCUR.ADJUST`: a correction by the operator; negative voids.
    Adjust {
        /// Transaction id.
        txn: &'a [u8],
        /// Bucket to adjust.
        bucket: Name,
        /// Minor units, not 0.
        amount: i64,
    },
    /// `SCUR.BUCKET`: changes or removes a bucket.
    Bucket {
        /// Transaction id.
        txn: &'a [u8],
        /// Bucket to change.
        bucket: Name,
        /// New attributes; either one attribute or keys at least, or `remove`, never both.
        attributes: BucketAttributes,
        /// Keys of the items that the bucket is for from now on; an empty list makes it one for all.
        keys: Option<&'a [ItemKey]>,
        /// Whether the empty bucket is removed.
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
        /// Items to debit, at least one, all different in key and unit.
        items: &'a [ItemAmount],
    },
    /// `SCUR.REFUND` of items of a debit of several items, all or nothing.
    RefundItems {
        /// Transaction id of the refund.
        txn: &'a [u8],
        /// Transaction id of the debit.
        debit: &'a [u8],
        /// Items of that debit with the amounts to refund.
        items: &'a [ItemAmount],
        /// Whether what was debited in an ended period of an allowance is credited to the present one.
        carry: bool,
    },
    /// `SCUR.REFUND`: refund by debit reference (RFC 8506 section 6.4).
    Refund {
        /// Transaction id of the refund.
        txn: &'a [u8],
        /// Transaction id of the debit.
        debit: &'a [u8],
        /// Minor units, at least 1; `None` for all that is left of the debit.
        amount: Option<i64>,
        /// Whether what was debited in an ended period of an allowance is credited to the present one.
        carry: bool,
    },
    /// `SCUR.COUNTER`: adds to a counter.
    Counter {
        /// Transaction id.
        txn: &'a [u8],
        /// Counter to change.
        counter: Name,
        /// Amount to add, any sign.
        amount: i64,
        /// Unit of the counter: default `events` at creation, later an expected value.
        unit: Option<Name>,
        /// Reset period of the counter: default none at creation, later an expected value.
        period: Option<Period>,
        /// Clock of its periods: as the period.
        clock: PeriodClock,
    },
    /// `SCUR.LIMIT`: sets or removes a limit.
    Limit {
        /// Transaction id.
        txn: &'a [u8],
        /// Limit to change.
        limit: Name,
        /// The change.
        terms: LimitTerms,
    },
    /// `SCUR.TRANSFER`: holds an amount that the host carries to another account.
    Transfer(Transfer<'a>),
    /// A step of a transfer, which the host takes. No door has a word for it.
    Carry(TransferStep<'a>),
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
        /// Transaction id, if the command is to be remembered.
        txn: Option<&'a [u8]>,
        /// Whether a session that is not known ends too.
        cancel: bool,
    },
}

/// The arguments of `SCUR.TRANSFER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer<'a> {
    /// Account that the command is for, which pays.
    pub payer: &'a [u8],
    /// Id of the transfer: a session of the payer has it.
    pub id: &'a [u8],
    /// Unit of the amount.
    pub unit: Name,
    /// Minor units, at least 1.
    pub amount: i64,
    /// Account that is credited; another one than the payer.
    pub payee: &'a [u8],
    /// Bucket of the payee to credit, created if it does not exist.
    pub bucket: Name,
}

/// What a host does to carry a transfer, one after the other (docs/ledger.md section 17). Each may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStep<'a> {
    /// Credits the payee, which remembers the transfer by its receipt.
    Receive {
        /// Id of the receipt; see [`crate::receipt_id`].
        receipt: &'a [u8],
        /// Bucket to credit.
        bucket: Name,
        /// Unit of the amount.
        unit: Name,
        /// Minor units, at least 1.
        amount: i64,
    },
    /// Debits the payer's hold: the payee was credited.
    Settle {
        /// Id of the transfer.
        id: &'a [u8],
    },
    /// Removes the payee's receipt: the payer will not ask again.
    Forget {
        /// Id of the receipt.
        receipt: &'a [u8],
    },
    /// Ends the payer's session. A hold that is left comes back, since the payee refused it.
    Conclude {
        /// Id of the transfer.
        id: &'a [u8],
        /// Code with which the payee refused; `None` after [`TransferStep::Settle`].
        refusal: Option<Code>,
    },
}

/// The arguments of `SCUR.CREATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Create<'a> {
    /// Transaction id, if the command is to be remembered.
    pub txn: Option<&'a [u8]>,
    /// Initial status: active or suspended.
    pub status: Status,
    /// Identities: kind and value.
    pub identities: &'a [(Name, &'a [u8])],
    /// Buckets with their first credit.
    pub buckets: &'a [NewBucket],
    /// Keys of the items that some of these buckets are for, each with the index of its bucket, in ascending order.
    pub keys: &'a [(usize, ItemKey)],
}

impl<'a> Create<'a> {
    /// Returns the keys of the items that the bucket at this index is for.
    pub fn keys_of(&self, bucket: usize) -> impl Iterator<Item = ItemKey> + Clone + use<'a> {
        self.keys.iter().filter(move |(of, _)| *of == bucket).map(|(_, key)| *key)
    }

    /// Creates an active account with these buckets, without a transaction id and without identities.
    pub fn active(buckets: &'a [NewBucket]) -> Create<'a> {
        Create { txn: None, status: Status::Active, identities: &[], buckets, keys: &[] }
    }
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

/// Attributes that a command can set on a bucket besides its id and unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BucketAttributes {
    /// Rank in burn order; the lower value burns first.
    pub priority: Option<i32>,
    /// First moment of validity, ms.
    pub valid_from: Option<Time>,
    /// First moment after the validity, ms; `Some(None)` removes the end.
    pub valid_to: Option<Option<Time>>,
    /// Minus the credit limit, <= 0.
    pub floor: Option<i64>,
    /// Amount whose crossing by what is available is an event; `Some(None)` removes the mark.
    pub mark: Option<Option<i64>>,
    /// Period of the allowance; [`Period::None`] for no allowance.
    pub period: Option<Period>,
    /// Clock of the periods; with a period only.
    pub clock: PeriodClock,
    /// Credit of each period; with a period only. Default: the first credit of a new bucket, the present value of an
    /// existing one.
    pub refill: Option<i64>,
    /// Most units that stay available when a period ends; with a period only. Default: 0 of a new allowance, the present
    /// value of an existing one.
    pub rollover: Option<i64>,
    /// Effect of a refill on a debt; with a period only. Default: [`DebtRule::Net`] of a new allowance, the present rule
    /// of an existing one.
    pub debt: Option<DebtRule>,
}

/// A change of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitTerms {
    /// Creates the limit, or changes an existing one.
    Set {
        /// Things that it counts; for an existing limit an expected value.
        counted: LimitSubject,
        /// Minor units or open sessions, at least 0.
        amount: i64,
        /// How long a use counts.
        window: WindowTerms,
    },
    /// Removes the limit.
    Remove,
}

/// What a command says about the window of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowTerms {
    /// Periods, or the present window where nothing is given.
    Period {
        /// Period after which `used` resets: default none at creation, else the present one.
        period: Option<Period>,
        /// Clock of its periods: default UTC at creation, else the present one.
        clock: PeriodClock,
    },
    /// A use counts for a span.
    Rolling {
        /// Length of the span, ms.
        span_ms: i64,
    },
    /// The amount drains in each span.
    Rate {
        /// Length of the span, ms.
        span_ms: i64,
        /// Most units that may be used and held at once: default the amount.
        burst: Option<i64>,
    },
}

impl WindowTerms {
    /// Nothing is said: the present window, or none at creation.
    pub const UNSAID: WindowTerms = WindowTerms::Period { period: None, clock: PeriodClock::NONE };

    /// Returns a period in UTC.
    pub const fn period(period: Period) -> WindowTerms {
        WindowTerms::Period { period: Some(period), clock: PeriodClock::NONE }
    }
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

/// Arguments of RESERVE, UPDATE and TERMINATE. `Default` has no option set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionRequest<'a> {
    /// Session id.
    pub session: &'a [u8],
    /// CC-Request-Number (RFC 8506 section 8.2).
    pub request: u32,
    /// Options besides the opaque bytes.
    pub options: SessionOptions,
    /// Opaque bytes to keep with the session.
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
    /// Requested-Service-Unit; `None` requests nothing.
    pub requested: Option<i64>,
    /// Smallest grant that is worth having.
    pub min: Option<i64>,
}
