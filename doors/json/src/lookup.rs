//! `/v1/console/account?id=ID`: one account with its buckets and open sessions, for the console. Its history is its
//! statement. Integers are strings here, because browsers keep only 53 bits of a number.

use crate::answers_from_replies::lossy;
use crate::operation::Retry;
use crate::refusal::{StoreFailure, refused, wrong_shape};
use axum::extract::{RawQuery, State};
use axum::{Extension, Json};
use scurry_http::{Problem, query};
use scurry_ledger::{
    ACCOUNT_ID_LEN_MAX, Code, Cycle, DebtRule, Id, ItemKey, LimitSubject, Name, Time, Window, Zone,
    is_printable,
};
use scurry_server::Roles;
use scurry_service::{
    AccountView, AllowanceView, AuditView, BucketView, LimitView, Read, Reply, Request, Service,
    SessionView,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum number of sessions shown in full.
const SESSIONS_MAX: usize = 16;

/// Answers 200 with the account from one atomic read, the sessions and the audit from later reads, and the roles of the
/// user.
pub(crate) async fn account(
    State(store): State<Arc<dyn Service>>,
    Extension(roles): Extension<Roles>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    let typed = |problem: Problem| problem.at("/v1/");
    let [id] = query::read(query.as_deref(), ["id"]).map_err(typed)?;
    let id = id.filter(|id| !id.is_empty());
    let missing = || Problem::bad_request("id is missing or empty: say ?id=ID");
    let id = id.ok_or_else(missing).map_err(typed)?;
    if id.len() > ACCOUNT_ID_LEN_MAX || !is_printable(&id) {
        let most = ACCOUNT_ID_LEN_MAX;
        let why = format!("account must be 1 to {most} printable ASCII characters without space");
        return Err(StoreFailure::Rejected(Code::Invalid, why).into());
    }
    let account = || id.clone();
    let Reply::Account(shown) = known(&*store, Read::Account { account: account() }).await? else {
        return Err(wrong_shape().into());
    };
    let mut sessions = Vec::new();
    for row in shown.sessions.iter().take(SESSIONS_MAX) {
        let session = row.id.as_bytes().to_vec();
        // The session may have ended since the account was read.
        let read = known(&*store, Read::Session { account: account(), session }).await;
        if let Ok(Reply::Session(session)) = read {
            sessions.push(session_json(&session));
        }
    }
    let Reply::Audit(audit) = known(&*store, Read::Audit { account: account() }).await? else {
        return Err(wrong_shape().into());
    };
    let mut answer = account_json(&shown);
    answer["id"] = json!(lossy(&id));
    answer["roles"] = roles.to_string().split(' ').collect();
    answer["sessions_open"] = json!(shown.sessions.len());
    answer["sessions"] = Value::Array(sessions);
    answer["audit"] = audit_json(&audit);
    Ok(Json(answer))
}

async fn known(store: &dyn Service, read: Read) -> Result<Reply, StoreFailure> {
    store.call(Request::Read(read)).await.map_err(|error| refused(error, Retry::Read))
}

/// Carries out a read. Returns None if there is no such account.
pub(crate) async fn read(store: &dyn Service, read: Read) -> Result<Option<Reply>, Problem> {
    match known(store, read).await {
        Ok(reply) => Ok(Some(reply)),
        Err(StoreFailure::Rejected(Code::UnknownAccount, _)) => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

/// A value as the console shows it.
pub(crate) trait Shown {
    fn shown(&self) -> Value;
}

/// Returns an object with these fields of a view, each under its own name.
macro_rules! fields {
    ($of:expr; $($name:ident),+) => {
        json!({ $(stringify!($name): $of.$name.shown()),+ })
    };
}
pub(crate) use fields;

macro_rules! digits {
    ($($number:ty),+) => {
        $(impl Shown for $number {
            fn shown(&self) -> Value {
                Value::String(self.to_string())
            }
        })+
    };
}

digits!(u8, u32, i16, i32, i64, u64);

impl Shown for Name {
    fn shown(&self) -> Value {
        json!(self.as_str())
    }
}

impl Shown for Id {
    fn shown(&self) -> Value {
        json!(lossy(self.as_bytes()))
    }
}

impl Shown for Time {
    fn shown(&self) -> Value {
        self.0.shown()
    }
}

impl Shown for ItemKey {
    fn shown(&self) -> Value {
        match self {
            ItemKey::Number(number) => number.shown(),
            ItemKey::Id(id) => json!(id.as_str()),
        }
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> Value {
        self.as_ref().map_or(Value::Null, Shown::shown)
    }
}

fn account_json(account: &AccountView) -> Value {
    let identities = account.identities.iter();
    let identities =
        identities.map(|(kind, value)| json!({ "kind": kind.shown(), "value": value.shown() }));
    let former = account.former_identities.iter();
    let former = former.map(|former| fields!(former; kind, value, forget_at));
    let counters = account.counters.iter().map(|counter| {
        let mut shown = fields!(counter; id, unit, value, resets_at);
        shown["period"] = json!(counter.cycle.period.to_string());
        if counter.cycle.zone != Zone::UTC {
            shown["zone"] = zone_json(counter.cycle.zone);
        }
        put_begin(&mut shown, counter.cycle);
        shown
    });
    json!({
        "status": account.status.name(),
        "version": account.version.shown(),
        "identities": identities.collect::<Value>(),
        "former_identities": former.collect::<Value>(),
        "buckets": account.buckets.iter().map(bucket_json).collect::<Value>(),
        "counters": counters.collect::<Value>(),
        "limits": account.limits.iter().map(limit_json).collect::<Value>(),
    })
}

fn bucket_json(bucket: &BucketView) -> Value {
    let mut shown =
        fields!(bucket; id, unit, available, held, floor, priority, valid_from, valid_to);
    if let Some(mark) = bucket.mark {
        shown["mark"] = json!(mark.shown());
    }
    if let Some(AllowanceView { cycle, amount, refills_at, rollover, debt, owed }) =
        bucket.allowance
    {
        let (period, zone) = (cycle.period.to_string(), zone_json(cycle.zone));
        shown["allowance"] = json!([period, zone, amount.shown(), refills_at.shown()]);
        put_begin(&mut shown, cycle);
        if (rollover, debt) != (0, DebtRule::Net) {
            shown["refill"] = json!([rollover.shown(), debt.word(), owed.shown()]);
        }
    }
    shown
}

fn limit_json(limit: &LimitView) -> Value {
    let (unit, item) = match limit.counted {
        LimitSubject::Sessions => (None, None),
        LimitSubject::Units { unit, item } => (Some(unit), item),
    };
    let mut shown = fields!(limit; id, amount, used, held, left, overrun, resets_at);
    (shown["unit"], shown["item"]) = (unit.shown(), item.shown());
    shown["period"] = json!(limit.window.to_string());
    match limit.window {
        Window::Period(cycle) => {
            shown["offset"] = zone_json(cycle.zone);
            put_begin(&mut shown, cycle);
        }
        Window::Rolling(_) => {}
        Window::Rate { burst, .. } => {
            if let Some(burst) = burst {
                shown["burst"] = burst.shown();
            }
        }
    }
    shown
}

/// Returns minutes ahead of UTC, or the name of a zone.
fn zone_json(zone: Zone) -> Value {
    match zone {
        Zone::Fixed(minutes) => minutes.shown(),
        Zone::Named(zone) => json!(zone.name()),
    }
}

fn put_begin(shown: &mut Value, cycle: Cycle) {
    if let Some(begin) = cycle.given_begin() {
        shown["begin"] = match begin {
            Cycle::FIRST_USE => json!(Cycle::FIRST_USE_WORD),
            begin => begin.shown(),
        };
    }
}

fn session_json(session: &SessionView) -> Value {
    let items = session.items.iter().map(|item| {
        let mut shown = fields!(item; key, unit, granted, outstanding, used, from_hold, direct, released, uncollected);
        shown["standing"] = json!(item.standing.name());
        shown
    });
    let mut shown = fields!(session.row; id, version, deadline, opened, active);
    shown["validity"] = session.validity_ms.shown();
    shown["tcc"] = session.tcc_ms.shown();
    shown["overrun"] = json!(session.overrun.name());
    shown["last_request"] = session.last_request.shown();
    shown["data"] = json!(lossy(&session.blob));
    shown["items"] = items.collect();
    shown
}

fn audit_json(audit: &AuditView) -> Value {
    let buckets = audit.buckets.iter().map(|bucket| {
        fields!(bucket;
            id, unit, available, held, credited, refunded, consumed, expired, voided, overdrawn)
    });
    let uncollected = audit.uncollected.iter().map(|row| fields!(row; unit, amount));
    json!({
        "ok": u8::from(audit.ok).shown(),
        "version": audit.version.shown(),
        "buckets": buckets.collect::<Value>(),
        "uncollected": uncollected.collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_ledger::{Period, Status};
    use scurry_service::FormerIdentityView;

    #[test]
    fn amounts_keep_their_digits_and_fields_have_the_names_of_the_commands() {
        let name = |text: &[u8]| Name::new(text).expect("a name");
        let cycle = Cycle::fixed(Period::Day, -60);
        let bucket = BucketView {
            id: name(b"main"),
            unit: name(b"cent"),
            available: i64::MAX,
            held: 0,
            floor: -5,
            priority: 1,
            valid_from: Time(3),
            valid_to: None,
            mark: Some(200),
            allowance: Some(AllowanceView {
                cycle,
                amount: 7,
                refills_at: Some(Time(9)),
                rollover: 0,
                debt: DebtRule::Net,
                owed: 0,
            }),
        };
        let limit = LimitView {
            id: name(b"l1"),
            counted: LimitSubject::Units { unit: name(b"cent"), item: Some(ItemKey::Number(4)) },
            amount: 10,
            used: 2,
            held: 1,
            left: 7,
            overrun: 0,
            window: Window::Period(cycle),
            resets_at: None,
        };
        let sessions = LimitView { counted: LimitSubject::Sessions, ..limit };
        let account = AccountView {
            status: Status::Active,
            version: 12,
            identities: vec![(name(b"msisdn"), Id::new(b"417").expect("an id"))],
            buckets: vec![bucket],
            bucket_items: Vec::new(),
            counters: Vec::new(),
            limits: vec![limit, sessions],
            sessions: Vec::new(),
            former_identities: vec![FormerIdentityView {
                kind: name(b"msisdn"),
                value: Id::new(b"416").expect("an id"),
                forget_at: Time(5),
            }],
        };
        let limits = |unit: Value, item: Value| {
            json!({
                "id": "l1", "unit": unit, "item": item, "amount": "10", "used": "2", "held": "1",
                "left": "7", "overrun": "0", "period": "day", "offset": "-60", "resets_at": null,
            })
        };
        let expected = json!({
            "status": "active",
            "version": "12",
            "identities": [{ "kind": "msisdn", "value": "417" }],
            "former_identities": [{ "kind": "msisdn", "value": "416", "forget_at": "5" }],
            "buckets": [{
                "id": "main", "unit": "cent", "available": "9223372036854775807", "held": "0",
                "floor": "-5", "priority": "1", "valid_from": "3", "valid_to": null, "mark": "200",
                "allowance": ["day", "-60", "7", "9"],
            }],
            "counters": [],
            "limits": [limits(json!("cent"), json!("4")), limits(Value::Null, Value::Null)],
        });
        assert_eq!(account_json(&account), expected);
    }
}
