//! The results of reads, with times and amounts computed for the moment of the read.

use scurry_ledger::{
    Account, Bucket, Cycle, DebtRule, Id, ItemKey, LimitSubject, Name, Overrun, Session, Standing,
    Status, Time, UnitAmount, Window, validate,
};

/// An account, from one atomic read (`SCUR.GET`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountView {
    /// Status of the account.
    pub status: Status,
    /// Version of the account.
    pub version: u64,
    /// Kind and value of each identity.
    pub identities: Vec<(Name, Id)>,
    /// Buckets in burn order: the order in which they are debited.
    pub buckets: Vec<BucketView>,
    /// Bucket and key of the items that some buckets are for.
    pub bucket_items: Vec<(Name, ItemKey)>,
    /// Counters, in the order of the account.
    pub counters: Vec<CounterView>,
    /// Limits, in the order in which they were created.
    pub limits: Vec<LimitView>,
    /// Open sessions.
    pub sessions: Vec<SessionRow>,
    /// Identities that the account has given up and is still found by.
    pub former_identities: Vec<FormerIdentityView>,
}

/// An identity that an account has given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerIdentityView {
    /// Kind of the identity.
    pub kind: Name,
    /// Value of the identity.
    pub value: Id,
    /// When it is forgotten, or kept for as long again as it has been kept.
    pub forget_at: Time,
}

/// A bucket of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketView {
    /// Id of the bucket.
    pub id: Name,
    /// Unit of its amounts.
    pub unit: Name,
    /// Minor units that can be debited or held now.
    pub available: i64,
    /// Minor units held by open sessions.
    pub held: i64,
    /// The negated credit limit, minor units: 0 or less.
    pub floor: i64,
    /// Rank in burn order. Buckets with a lower priority are debited first.
    pub priority: i32,
    /// First moment at which the bucket is valid.
    pub valid_from: Time,
    /// Moment at which the bucket expires. None if it never does.
    pub valid_to: Option<Time>,
    /// Amount whose crossing is an event. None without one.
    pub mark: Option<i64>,
    /// Recurring credit. None if the bucket is never refilled.
    pub allowance: Option<AllowanceView>,
}

/// Recurring credit of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowanceView {
    /// Refill period, and its time zone.
    pub cycle: Cycle,
    /// Minor units to which the bucket is refilled when a period begins.
    pub amount: i64,
    /// Time of the next refill. None if the bucket expires before it.
    pub refills_at: Option<Time>,
    /// Most units of an ending period that stay available.
    pub rollover: i64,
    /// Effect of a refill on a debt.
    pub debt: DebtRule,
    /// Debt of earlier periods that refills do not pay.
    pub owed: i64,
}

/// A counter of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterView {
    /// Id of the counter.
    pub id: Name,
    /// Unit of the value.
    pub unit: Name,
    /// Value in the current period.
    pub value: i64,
    /// Reset period, and its time zone.
    pub cycle: Cycle,
    /// Next reset. None if the counter has no period.
    pub resets_at: Option<Time>,
}

/// A limit of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitView {
    /// Id of the limit.
    pub id: Name,
    /// What the limit counts: a unit, the units of one item, or open sessions.
    pub counted: LimitSubject,
    /// Most minor units that may be used in a period, or most sessions that may be open.
    pub amount: i64,
    /// Minor units used in the current period.
    pub used: i64,
    /// Minor units held by open sessions, or the number of open sessions.
    pub held: i64,
    /// Minor units, or sessions, that are left.
    pub left: i64,
    /// Minor units used beyond the limit.
    pub overrun: i64,
    /// How long a use counts.
    pub window: Window,
    /// When `used` becomes 0 if nothing more is used. None if it never does.
    pub resets_at: Option<Time>,
}

/// An open session of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Session id.
    pub id: Id,
    /// Version of the session.
    pub version: u64,
    /// Time at which the session expires unless a request arrives first.
    pub deadline: Time,
    /// When it was opened.
    pub opened: Time,
    /// When its last request came.
    pub active: Time,
}

/// An open session and its account, from one atomic read (`SCUR.SESSION`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// The account that the session belongs to.
    pub account: AccountView,
    /// Id, version and deadline.
    pub row: SessionRow,
    /// How long grants are valid, ms.
    pub validity_ms: i64,
    /// Supervision time (Tcc), ms: how long the session may go without a request.
    pub tcc_ms: i64,
    /// Policy for use beyond the amount that could be debited.
    pub overrun: Overrun,
    /// Highest request number. None before the first request.
    pub last_request: Option<u32>,
    /// Opaque bytes that the client stores with the session.
    pub blob: Vec<u8>,
    /// Items of the session, with their amounts.
    pub items: Vec<ItemView>,
}

/// An item of an open session. Amounts are minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemView {
    /// Key of the item.
    pub key: ItemKey,
    /// Unit of its amounts.
    pub unit: Name,
    /// Total of the grants.
    pub granted: i64,
    /// Amount held now.
    pub outstanding: i64,
    /// Total reported as used.
    pub used: i64,
    /// Part of the use that was debited from holds.
    pub from_hold: i64,
    /// Part of the use beyond the hold, debited from available units.
    pub direct: i64,
    /// Part of the grants that was returned unused.
    pub released: i64,
    /// Part of the use that could not be debited.
    pub uncollected: i64,
    /// What its last request for units got.
    pub standing: Standing,
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

/// Totals of a bucket since it was created. Amounts are minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTotals {
    /// Id of the bucket.
    pub id: Name,
    /// Unit of its amounts.
    pub unit: Name,
    /// Amount that can be debited or held now.
    pub available: i64,
    /// Amount held by open sessions now.
    pub held: i64,
    /// Total credited.
    pub credited: i64,
    /// Total refunded.
    pub refunded: i64,
    /// Total debited.
    pub consumed: i64,
    /// Total that expired with the bucket's validity or at the start of a period.
    pub expired: i64,
    /// Total removed by negative adjustments.
    pub voided: i64,
    /// Total debited below the floor, a part of `consumed`.
    pub overdrawn: i64,
}

impl AccountView {
    /// Returns the view of an account at the host's clock `now`. Everything due must already be applied to `account`.
    pub fn of_account(account: &Account, now: Time) -> AccountView {
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
            mark: bucket.mark,
            allowance: account.allowance(bucket.no).map(|allowance| AllowanceView {
                cycle: allowance.cycle,
                amount: allowance.amount,
                refills_at: allowance.next_refill(bucket, now),
                rollover: allowance.rollover,
                debt: allowance.debt,
                owed: allowance.owed,
            }),
        };
        let counters = account.counters.iter().map(|counter| CounterView {
            id: counter.id,
            unit: counter.unit,
            value: counter.value_at(now),
            cycle: counter.cycle,
            resets_at: counter.resets_at(now),
        });
        let limits = account.limits.iter().map(|limit| {
            let (held, resets_at) = (account.held_in(limit), account.limit_resets_at(limit, now));
            let (left, limit) = (account.left_in(limit, now), account.limit_at(limit, now));
            LimitView {
                id: limit.id,
                counted: limit.counted,
                amount: limit.amount,
                used: limit.used,
                held,
                left,
                overrun: limit.overrun,
                window: limit.window,
                resets_at,
            }
        });
        let bucket_items = account
            .bucket_keys
            .iter()
            .filter_map(|of| Some((account.bucket_no(of.bucket)?.id, of.key)));
        let identities = account.identities.iter();
        let former_identities = account.former_identities.iter().map(|former| FormerIdentityView {
            kind: former.identity.kind,
            value: former.identity.value.clone(),
            forget_at: former.forget_at,
        });
        AccountView {
            status: account.status,
            version: account.version,
            identities: identities
                .map(|identity| (identity.kind, identity.value.clone()))
                .collect(),
            buckets: account.buckets.iter().map(bucket).collect(),
            bucket_items: bucket_items.collect(),
            counters: counters.collect(),
            limits: limits.collect(),
            sessions: account.sessions.iter().map(SessionRow::from_session).collect(),
            former_identities: former_identities.collect(),
        }
    }
}

impl SessionRow {
    fn from_session(session: &Session) -> SessionRow {
        let Session { version, deadline, opened, .. } = *session;
        SessionRow { id: session.id.clone(), version, deadline, opened, active: session.active() }
    }
}

impl SessionView {
    /// Returns the view of an open session of an account at the host's clock `now`.
    pub fn of_session(account: &Account, session: &Session, now: Time) -> SessionView {
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
            standing: item.standing,
        });
        SessionView {
            account: AccountView::of_account(account, now),
            row: SessionRow::from_session(session),
            validity_ms: session.validity_ms,
            tcc_ms: session.tcc_ms,
            overrun: session.terms.overrun,
            last_request: session.answers.last_request(),
            blob: session.blob.clone(),
            items: items.collect(),
        }
    }
}

impl AuditView {
    /// Returns the totals of an account at the host's clock `now`.
    pub fn of_account(account: &Account, now: Time) -> AuditView {
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
