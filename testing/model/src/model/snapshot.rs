//! Everything visible of an account, in a form that the model and the ledger share.

use super::balance::value_at;
use super::state::State;
use scurry_ledger::{
    Account, Cycle, DebtRule, LimitSubject, SessionTerms, Standing, Status, Time, Zone,
};
use std::collections::BTreeMap;

/// One account. Equal for a model and a ledger that agree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the ledger's account")]
pub struct Snapshot {
    pub status: Status,
    pub version: u64,
    pub changed_at: i64,
    pub identities: Vec<(String, String)>,
    /// Kind, value, when the account gave it up, and when it is forgotten.
    pub former_identities: Vec<(String, String, i64, i64)>,
    pub buckets: BTreeMap<String, BucketShot>,
    /// Unit, name of the period, and value at the moment of the snapshot.
    pub counters: BTreeMap<String, (String, String, i128)>,
    /// Limits in the order of their creation.
    pub limits: Vec<LimitShot>,
    pub uncollected: BTreeMap<String, i128>,
    pub sessions: BTreeMap<String, SessionShot>,
    /// Number of closed sessions that are remembered.
    pub tombstones: usize,
    /// Number of transactions that are remembered.
    pub transactions: usize,
}

/// One bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the ledger's bucket")]
pub struct BucketShot {
    pub unit: String,
    pub priority: i32,
    pub created: i64,
    pub valid_from: i64,
    pub valid_to: Option<i64>,
    pub floor: i128,
    pub mark: Option<i128>,
    pub available: i128,
    pub held: i128,
    pub credited: i128,
    pub refunded: i128,
    pub consumed: i128,
    pub expired: i128,
    pub voided: i128,
    pub overdrawn: i128,
    /// Least debts noted since ended periods, without 0 and repetitions.
    pub carried: Vec<i128>,
    /// Name of the period, minutes of the offset, amount, next refill.
    pub allowance: Option<(String, i128, Option<i64>)>,
    /// Rollover, debt rule, and debt of earlier periods, of an allowance.
    pub refill: Option<(i128, DebtRule, i128)>,
    pub keys: Vec<String>,
}

/// One limit, as read at the moment of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the ledger's limit")]
pub struct LimitShot {
    pub id: String,
    /// Unit and item key; None for open sessions.
    pub counted: Option<(String, Option<String>)>,
    pub amount: i128,
    /// Period, zone and begin.
    pub period: String,
    pub used: i128,
    pub overrun: i128,
    pub held: i128,
    pub left: i128,
    pub told: i128,
    pub resets_at: Option<i64>,
}

/// One open session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the ledger's session")]
pub struct SessionShot {
    pub version: u64,
    pub validity_ms: i64,
    pub tcc_ms: i64,
    pub deadline: i64,
    pub opened: i64,
    pub terms: SessionTerms,
    pub blob: Vec<u8>,
    /// Highest request number that was answered.
    pub last_request: Option<u32>,
    pub items: Vec<ItemShot>,
}

/// One item of an open session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the ledger's item")]
pub struct ItemShot {
    pub key: String,
    pub unit: String,
    /// Bucket, amount, and whether the slice is of an ended period.
    pub slices: Vec<(String, i128, bool)>,
    pub granted: i128,
    pub used: i128,
    pub from_hold: i128,
    pub direct: i128,
    pub released: i128,
    pub uncollected: i128,
    pub last_grant: Option<u32>,
    pub standing: Standing,
}

impl Snapshot {
    /// Creates it from the ledger's account. Only its data is read and none of its rules are used, except the reading
    /// of a counter, which this tests.
    pub fn of_account(account: &Account, now: Time) -> Snapshot {
        let name = |no| {
            let bucket = account.buckets.iter().find(|bucket| bucket.no == no);
            bucket.map_or("?".to_string(), |bucket| bucket.id.as_str().to_string())
        };
        let period = |no| account.bucket_no(no).map(|bucket| bucket.period);
        let item = |item: &scurry_ledger::Item| ItemShot {
            key: item.key.to_string(),
            unit: item.unit.as_str().to_string(),
            slices: item
                .slices
                .iter()
                .map(|s| (name(s.bucket), s.amount.into(), period(s.bucket) != Some(s.period)))
                .collect(),
            granted: item.granted.into(),
            used: item.used.into(),
            from_hold: item.from_hold.into(),
            direct: item.direct.into(),
            released: item.released.into(),
            uncollected: item.uncollected.into(),
            last_grant: item.last_grant,
            standing: item.standing,
        };
        let session = |session: &scurry_ledger::Session| SessionShot {
            version: session.version,
            validity_ms: session.validity_ms,
            tcc_ms: session.tcc_ms,
            deadline: session.deadline.0,
            opened: session.opened.0,
            terms: session.terms,
            blob: session.blob.clone(),
            last_request: session.answers.last_request(),
            items: session.items.iter().map(item).collect(),
        };
        let bucket = |b: &scurry_ledger::Bucket| BucketShot {
            keys: account.keys_of(b.no).map(|key| key.to_string()).collect(),
            unit: b.unit.as_str().to_string(),
            priority: b.priority,
            created: b.created.0,
            valid_from: b.valid_from.0,
            valid_to: b.valid_to.map(|to| to.0),
            floor: b.floor.into(),
            mark: b.mark.map(i128::from),
            available: b.available.into(),
            held: b.held.into(),
            credited: b.credited.into(),
            refunded: b.refunded.into(),
            consumed: b.consumed.into(),
            expired: b.expired.into(),
            voided: b.voided.into(),
            overdrawn: b.overdrawn.into(),
            carried: account
                .carried
                .iter()
                .filter(|debt| debt.bucket == b.no)
                .map(|debt| debt.amount.into())
                .collect(),
            refill: account.allowance(b.no).map(|a| (a.rollover.into(), a.debt, a.owed.into())),
            allowance: account.allowance(b.no).map(|a| {
                let next = a.next_refill(b, now).map(|next| next.0);
                (shown(a.cycle), a.amount.into(), next)
            }),
        };
        let limit = |l: &scurry_ledger::Limit| {
            let read = account.limit_at(l, now);
            LimitShot {
                id: l.id.as_str().to_string(),
                counted: match l.counted {
                    LimitSubject::Sessions => None,
                    LimitSubject::Units { unit, item } => {
                        Some((unit.as_str().to_string(), item.map(|key| key.to_string())))
                    }
                },
                amount: l.amount.into(),
                period: shown_window(l.window),
                used: read.used.into(),
                overrun: read.overrun.into(),
                held: account.held_in(l).into(),
                left: account.left_in(l, now).into(),
                told: read.told.into(),
                resets_at: account.limit_resets_at(l, now).map(|time| time.0),
            }
        };
        let text = |bytes: &[u8]| bytes.iter().map(|&byte| char::from(byte)).collect::<String>();
        Snapshot {
            status: account.status,
            version: account.version,
            changed_at: account.changed_at.0,
            identities: account
                .identities
                .iter()
                .map(|i| (i.kind.as_str().to_string(), text(i.value.as_bytes())))
                .collect(),
            former_identities: account
                .former_identities
                .iter()
                .map(|former| {
                    let (kind, value) = (&former.identity.kind, former.identity.value.as_bytes());
                    let times = (former.given_up_at.0, former.forget_at.0);
                    (kind.as_str().to_string(), text(value), times.0, times.1)
                })
                .collect(),
            buckets: account
                .buckets
                .iter()
                .map(|b| (b.id.as_str().to_string(), bucket(b)))
                .collect(),
            counters: account
                .counters
                .iter()
                .map(|c| {
                    let shown = (c.unit.as_str().to_string(), shown(c.cycle));
                    (c.id.as_str().to_string(), (shown.0, shown.1, c.value_at(now).into()))
                })
                .collect(),
            limits: account.limits.iter().map(limit).collect(),
            uncollected: account
                .uncollected
                .iter()
                .map(|u| (u.unit.as_str().to_string(), u.amount.into()))
                .collect(),
            sessions: account
                .sessions
                .iter()
                .map(|s| (text(s.id.as_bytes()), session(s)))
                .collect(),
            tombstones: account.tombstones.len(),
            transactions: account.transactions.len(),
        }
    }

    /// Creates a snapshot from the model's account, with due expiries applied.
    pub(super) fn of_model(state: &State, now: i64) -> Snapshot {
        let name = |serial| {
            let bucket = state.buckets.iter().find(|bucket| bucket.serial == serial);
            bucket.map_or("?".to_string(), |bucket| bucket.id.clone())
        };
        let has_ended = |serial, refills: usize| {
            let bucket = state.buckets.iter().find(|bucket| bucket.serial == serial);
            bucket.is_some_and(|bucket| refills < bucket.refills)
        };
        let item = |item: &super::state::ItemState| ItemShot {
            key: item.key.clone(),
            unit: item.unit.clone(),
            slices: item
                .slices
                .iter()
                .map(|slice| (name(slice.0), slice.1, has_ended(slice.0, item.refills[&slice.0])))
                .collect(),
            granted: item.granted,
            used: item.used,
            from_hold: item.from_hold,
            direct: item.direct,
            released: item.released,
            uncollected: item.uncollected,
            last_grant: item.last_grant,
            standing: item.standing,
        };
        let session = |session: &super::state::Session| SessionShot {
            version: session.version,
            validity_ms: session.validity,
            tcc_ms: session.tcc,
            deadline: session.deadline,
            opened: session.opened,
            terms: session.terms,
            blob: session.blob.clone(),
            last_request: session.answers.iter().map(|answer| answer.0.0).max(),
            items: session.items.iter().map(item).collect(),
        };
        let bucket = |b: &super::state::Bucket| BucketShot {
            keys: b.keys.clone(),
            unit: b.unit.clone(),
            priority: b.priority,
            created: b.created,
            valid_from: b.from,
            valid_to: b.to,
            floor: b.floor,
            mark: b.mark,
            available: state.available(b.serial),
            held: state.held(b.serial),
            credited: b.credited,
            refunded: b.refunded,
            consumed: b.consumed,
            expired: b.expired,
            voided: b.voided,
            overdrawn: b.overdrawn,
            carried: b.least_debts(),
            allowance: b.allowance.map(|a| (a.zone.shown(), a.amount, b.next_refill())),
            refill: b.allowance.map(|a| (a.rollover, a.debt, a.owed)),
        };
        let counter =
            |c: &super::state::Counter| (c.unit.clone(), c.zone.shown(), value_at(c, now));
        let limit = |l: &super::state::Limit| {
            let read = state.limit_at(l, now);
            LimitShot {
                id: l.id.clone(),
                counted: l.counted.clone(),
                amount: l.amount,
                period: l.window.shown(),
                used: read.used,
                overrun: read.overrun,
                held: state.held_of(l),
                left: state.left_of(l, now),
                told: read.told,
                resets_at: read.resets_at(),
            }
        };
        Snapshot {
            status: state.status,
            version: state.version,
            changed_at: state.changed_at,
            identities: state.identities.clone(),
            former_identities: state
                .former
                .iter()
                .map(|former| {
                    let (kind, value) = former.identity.clone();
                    (kind, value, former.since, former.forget)
                })
                .collect(),
            buckets: state.buckets.iter().map(|b| (b.id.clone(), bucket(b))).collect(),
            counters: state.counters.iter().map(|(id, c)| (id.clone(), counter(c))).collect(),
            limits: state.limits.iter().map(limit).collect(),
            uncollected: state.uncollected.clone(),
            sessions: state.sessions.iter().map(|(id, s)| (id.clone(), session(s))).collect(),
            tombstones: state.tombstones(now).count(),
            transactions: state.remembered(now).count(),
        }
    }
}

/// Returns the window of a limit of the ledger: period, zone and begin, or its kind, span and burst.
fn shown_window(window: scurry_ledger::Window) -> String {
    match window {
        scurry_ledger::Window::Period(cycle) => shown(cycle),
        scurry_ledger::Window::Rolling(span) => format!("rolling {}", span.ms()),
        scurry_ledger::Window::Rate { span, burst } => format!("rate {} {burst:?}", span.ms()),
    }
}

impl super::state::Window {
    fn shown(&self) -> String {
        match self {
            Self::Periods(zone) => zone.shown(),
            Self::Rolling { span, .. } => format!("rolling {span}"),
            Self::Rate { span, burst, .. } => format!("rate {span} {burst:?}"),
        }
    }
}

/// Returns period, zone and begin of a cycle of the ledger.
fn shown(cycle: Cycle) -> String {
    let clock = match cycle.zone {
        Zone::Fixed(minutes) => minutes.to_string(),
        Zone::Named(zone) => zone.name().to_string(),
    };
    format!("{} {clock} {}", cycle.period, cycle.begin)
}
