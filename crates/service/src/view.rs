//! An account as a read shows it, with times and amounts worked out for the moment of the read.

use scurry_ledger::{
    Account, Bucket, Counted, Cycle, Id, ItemKey, Name, Overrun, Period, Session, Status, Time,
    UnitAmount, validate,
};

/// An account in one atomic read (`SCUR.GET`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountView {
    /// Status of the account.
    pub status: Status,
    /// Version of the account.
    pub version: u64,
    /// Kind and value of each identity.
    pub identities: Vec<(Name, Id)>,
    /// Buckets in the order in which they burn.
    pub buckets: Vec<BucketView>,
    /// Counters.
    pub counters: Vec<CounterView>,
    /// Limits.
    pub limits: Vec<LimitView>,
    /// Open sessions.
    pub sessions: Vec<SessionRow>,
}

/// A bucket of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketView {
    /// Id of the bucket.
    pub id: Name,
    /// Unit of its amounts.
    pub unit: Name,
    /// Minor units that can be debited or held.
    pub available: i64,
    /// Minor units that open sessions hold.
    pub held: i64,
    /// Minus the credit limit, minor units.
    pub floor: i64,
    /// Lower burns first.
    pub priority: i32,
    /// Start of the validity.
    pub valid_from: Time,
    /// End of the validity.
    pub valid_to: Option<Time>,
    /// Recurring credit of the bucket.
    pub allowance: Option<AllowanceView>,
}

/// Recurring credit of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowanceView {
    /// Period, and the offset of its time zone.
    pub cycle: Cycle,
    /// Minor units of the bucket when a period begins.
    pub amount: i64,
    /// Start of the next period; none where the bucket ends before.
    pub refills_at: Option<Time>,
}

/// A counter of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterView {
    /// Id of the counter.
    pub id: Name,
    /// Unit that it counts.
    pub unit: Name,
    /// Value of the present period.
    pub value: i64,
    /// Reset period, in UTC.
    pub period: Period,
    /// Next reset; none where the counter has no period.
    pub resets_at: Option<Time>,
}

/// A limit of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitView {
    /// Id of the limit.
    pub id: Name,
    /// What it counts.
    pub counted: Counted,
    /// Minor units in a period, or sessions that may be open.
    pub amount: i64,
    /// Minor units used in the present period.
    pub used: i64,
    /// Minor units that open sessions hold, or open sessions.
    pub held: i64,
    /// Minor units left.
    pub left: i64,
    /// Minor units used beyond the limit.
    pub overrun: i64,
    /// Reset period, and the offset of its time zone.
    pub cycle: Cycle,
    /// Next reset; none where the limit has no period.
    pub resets_at: Option<Time>,
}

/// An open session of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Session id.
    pub id: Id,
    /// Version of the session.
    pub version: u64,
    /// Time at which the session expires without a request.
    pub deadline: Time,
}

/// An open session and its account in one atomic read (`SCUR.SESSION`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// Account of the session.
    pub account: AccountView,
    /// Id, version and deadline.
    pub row: SessionRow,
    /// How long grants are valid, ms.
    pub validity_ms: i64,
    /// Supervision time, ms.
    pub tcc_ms: i64,
    /// Treatment of use beyond what could be debited.
    pub overrun: Overrun,
    /// Highest request number; none before the first.
    pub last_request: Option<u32>,
    /// Opaque bytes kept with the session.
    pub blob: Vec<u8>,
    /// Items of the session.
    pub items: Vec<ItemView>,
}

/// An item of an open session; amounts are minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemView {
    /// Key of the item.
    pub key: ItemKey,
    /// Unit of its amounts.
    pub unit: Name,
    /// Granted.
    pub granted: i64,
    /// Held now.
    pub outstanding: i64,
    /// Reported as used.
    pub used: i64,
    /// Part of the use that the hold covered.
    pub from_hold: i64,
    /// Part of the use beyond the hold.
    pub direct: i64,
    /// Returned to the buckets.
    pub released: i64,
    /// Part of the use that could not be debited.
    pub uncollected: i64,
}

/// The conservation totals of an account (`SCUR.AUDIT`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditView {
    /// Whether the invariants of the ledger hold.
    pub ok: bool,
    /// Version of the account.
    pub version: u64,
    /// Totals of each bucket.
    pub buckets: Vec<BucketTotals>,
    /// Use that could not be debited, by unit.
    pub uncollected: Vec<UnitAmount>,
}

/// Totals of a bucket since it was created; amounts are minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTotals {
    /// Id of the bucket.
    pub id: Name,
    /// Unit of its amounts.
    pub unit: Name,
    /// Can be debited or held now.
    pub available: i64,
    /// Held by open sessions now.
    pub held: i64,
    /// Credited.
    pub credited: i64,
    /// Refunded.
    pub refunded: i64,
    /// Debited.
    pub consumed: i64,
    /// Expired with a validity or a period.
    pub expired: i64,
    /// Taken out by corrections.
    pub voided: i64,
    /// Debited below the floor.
    pub overdrawn: i64,
}

impl AccountView {
    /// Shows an account as read at the host's clock `now`, with what is due applied.
    pub fn of(account: &Account, now: Time) -> AccountView {
        let now = now.on(Some(account));
        let bucket = |bucket: &Bucket| BucketView {
            id: bucket.id,
            unit: bucket.unit,
            available: bucket.available,
            held: bucket.held,
            floor: bucket.floor,
            priority: bucket.priority,
            valid_from: bucket.valid_from,
            valid_to: bucket.valid_to,
            allowance: account.allowance(bucket.no).map(|allowance| AllowanceView {
                cycle: allowance.cycle,
                amount: allowance.amount,
                refills_at: allowance.next_refill(bucket, now),
            }),
        };
        let counters = account.counters.iter().map(|counter| CounterView {
            id: counter.id,
            unit: counter.unit,
            value: counter.value_at(now),
            period: counter.period,
            resets_at: counter.period.end(now),
        });
        let limits = account.limits.iter().map(|limit| {
            let (held, left) = (account.held_in(limit), account.left_in(limit, now));
            let limit = limit.at(now);
            LimitView {
                id: limit.id,
                counted: limit.counted,
                amount: limit.amount,
                used: limit.used,
                held,
                left,
                overrun: limit.overrun,
                cycle: limit.cycle,
                resets_at: limit.cycle.end(now),
            }
        });
        let identities = account.identities.iter();
        AccountView {
            status: account.status,
            version: account.version,
            identities: identities.map(|identity| (identity.kind, identity.value)).collect(),
            buckets: account.buckets.iter().map(bucket).collect(),
            counters: counters.collect(),
            limits: limits.collect(),
            sessions: account.sessions.iter().map(SessionRow::of).collect(),
        }
    }
}

impl SessionRow {
    fn of(session: &Session) -> SessionRow {
        SessionRow { id: session.id, version: session.version, deadline: session.deadline }
    }
}

impl SessionView {
    /// Shows an open session of an account as read at `now`.
    pub fn of(account: &Account, session: &Session, now: Time) -> SessionView {
        let items = session.items.iter().map(|item| ItemView {
            key: item.key,
            unit: item.unit,
            granted: item.granted,
            outstanding: item.outstanding(),
            used: item.used,
            from_hold: item.from_hold,
            direct: item.direct,
            released: item.released,
            uncollected: item.uncollected,
        });
        SessionView {
            account: AccountView::of(account, now),
            row: SessionRow::of(session),
            validity_ms: session.validity_ms,
            tcc_ms: session.tcc_ms,
            overrun: session.overrun,
            last_request: session.answers.last_request(),
            blob: session.blob.clone(),
            items: items.collect(),
        }
    }
}

impl AuditView {
    /// Shows the totals of an account as read at `now`.
    pub fn of(account: &Account, now: Time) -> AuditView {
        let now = now.on(Some(account));
        let buckets = account.buckets.iter().map(|bucket| BucketTotals {
            id: bucket.id,
            unit: bucket.unit,
            available: bucket.available,
            held: bucket.held,
            credited: bucket.credited,
            refunded: bucket.refunded,
            consumed: bucket.consumed,
            expired: bucket.expired,
            voided: bucket.voided,
            overdrawn: bucket.overdrawn,
        });
        AuditView {
            ok: validate(account, now).is_ok(),
            version: account.version,
            buckets: buckets.collect(),
            uncollected: account.uncollected.clone(),
        }
    }
}
