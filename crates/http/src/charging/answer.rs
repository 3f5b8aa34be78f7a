//! What is answered, and how replies become it.

use super::quantity::Quantity;
use super::reply::{Reader, SessionReply, bytes, each, field, integer, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use redis::Value;
use schemars::JsonSchema;
use scurry_ledger::Code;
use serde::Serialize;
use std::collections::BTreeMap;

/// An answer with what its status and headers say.
pub(crate) struct Answer {
    pub(crate) code: Code,
    pub(crate) replayed: bool,
    pub(crate) body: Body,
}

/// The body of an answer.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Body {
    Done(Done),
    Moved(Moved),
    Checked(Checked),
    Session(SessionAnswer),
    Account(Box<Account>),
    Sessions(Sessions),
    OpenSession(Box<OpenSession>),
    Audit(Audit),
}

/// An account was created, changed or deleted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Done {
    code: &'static str,
    /// The account's version afterwards.
    version: i64,
}

/// A bucket or a counter was changed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    replayed: bool,
    /// The account's version after it was first executed.
    version: i64,
    /// Of a debit or refund what was moved, else what is there afterwards.
    amount: Quantity,
}

/// Whether an amount could be reserved now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// `OK`, `CREDIT_LIMIT_REACHED` or `SERVICE_DENIED`.
    code: &'static str,
    /// What could be granted.
    amount: Quantity,
}

/// A session was opened, updated or ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionAnswer {
    code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    replayed: bool,
    /// The session's version; 0 when it is not open afterwards.
    version: i64,
    items: Vec<ItemAnswer>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemAnswer {
    /// The rating group.
    key: i64,
    code: &'static str,
    granted: Quantity,
    /// Less was granted than requested.
    #[serde(rename = "final")]
    last: bool,
    uncollected: Quantity,
}

/// An account in one atomic read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Account {
    status: String,
    version: i64,
    identities: BTreeMap<String, String>,
    buckets: Vec<Bucket>,
    counters: Vec<Counter>,
    sessions: Vec<SessionRow>,
}

#[derive(Serialize, JsonSchema)]
struct Bucket {
    bucket: String,
    unit: String,
    available: Quantity,
    held: Quantity,
    floor: Quantity,
    priority: i64,
    valid_from_ms: i64,
    valid_to_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct Counter {
    counter: String,
    unit: String,
    value: Quantity,
    period: String,
    resets_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct SessionRow {
    session: String,
    version: i64,
    deadline_ms: i64,
}

/// The open sessions of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Sessions {
    sessions: Vec<SessionRow>,
}

/// An open session and its account in one atomic read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenSession {
    session: String,
    version: i64,
    deadline_ms: i64,
    validity_ms: i64,
    tcc_ms: i64,
    overrun: String,
    last_request: Option<i64>,
    /// Base64.
    data: String,
    items: Vec<OpenItem>,
    account: Account,
}

#[derive(Serialize, JsonSchema)]
struct OpenItem {
    /// The rating group.
    key: i64,
    unit: String,
    granted: Quantity,
    outstanding: Quantity,
    used: Quantity,
    from_hold: Quantity,
    direct: Quantity,
    released: Quantity,
    uncollected: Quantity,
}

/// The conservation totals of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Audit {
    /// The invariants hold.
    ok: bool,
    version: i64,
    buckets: Vec<BucketTotals>,
    uncollected: Vec<Uncollected>,
}

#[derive(Serialize, JsonSchema)]
struct BucketTotals {
    bucket: String,
    unit: String,
    available: Quantity,
    held: Quantity,
    credited: Quantity,
    refunded: Quantity,
    consumed: Quantity,
    expired: Quantity,
    voided: Quantity,
    overdrawn: Quantity,
}

#[derive(Serialize, JsonSchema)]
struct Uncollected {
    unit: String,
    amount: Quantity,
}

/// A read that found something.
fn shown(body: Body) -> Option<Answer> {
    Some(Answer { code: Code::Ok, replayed: false, body })
}

pub(super) fn done(reply: &Value) -> Option<Answer> {
    let mut reader = Reader::of(reply)?;
    let code = reader.code()?;
    let body = Body::Done(Done { code: code.name(), version: reader.integer()? });
    Some(Answer { code, replayed: false, body })
}

pub(super) fn moved(reply: &Value) -> Option<Answer> {
    let mut reader = Reader::of(reply)?;
    let (code, replayed) = (reader.code()?, reader.flag()?);
    let (version, amount) = (reader.integer()?, reader.quantity()?);
    let body = Body::Moved(Moved { code: code.name(), replayed, version, amount });
    Some(Answer { code, replayed, body })
}

pub(super) fn checked(reply: &Value) -> Option<Answer> {
    let mut reader = Reader::of(reply)?;
    let code = reader.code()?.name();
    // Whatever it says, the question was answered.
    shown(Body::Checked(Checked { code, amount: reader.quantity()? }))
}

pub(super) fn session(reply: &Value) -> Option<Answer> {
    let SessionReply { code, replayed, version, items } = SessionReply::read(reply)?;
    let items = items.into_iter().map(|item| ItemAnswer {
        key: item.key,
        code: item.code.name(),
        granted: Quantity::Number(item.granted),
        last: item.last,
        uncollected: Quantity::Number(item.uncollected),
    });
    let items = items.collect();
    let body = Body::Session(SessionAnswer { code: code.name(), replayed, version, items });
    Some(Answer { code, replayed, body })
}

fn read_account(map: &Value) -> Option<Account> {
    let identities = each(field(map, "identities")?, |pair| Some((pair.text()?, pair.text()?)))?;
    let buckets = each(field(map, "buckets")?, |bucket| {
        Some(Bucket {
            bucket: bucket.text()?,
            unit: bucket.text()?,
            available: bucket.quantity()?,
            held: bucket.quantity()?,
            floor: bucket.quantity()?,
            priority: bucket.integer()?,
            valid_from_ms: bucket.integer()?,
            valid_to_ms: bucket.integer_or_nil()?,
        })
    })?;
    let counters = each(field(map, "counters")?, |counter| {
        Some(Counter {
            counter: counter.text()?,
            unit: counter.text()?,
            value: counter.quantity()?,
            period: counter.text()?,
            resets_at_ms: counter.integer_or_nil()?,
        })
    })?;
    Some(Account {
        status: text(field(map, "status")?)?,
        version: integer(field(map, "version")?)?,
        identities: identities.into_iter().collect(),
        buckets,
        counters,
        sessions: read_sessions(map)?,
    })
}

fn read_sessions(map: &Value) -> Option<Vec<SessionRow>> {
    each(field(map, "sessions")?, |session| {
        Some(SessionRow {
            session: session.text()?,
            version: session.integer()?,
            deadline_ms: session.integer()?,
        })
    })
}

pub(super) fn account(reply: &Value) -> Option<Answer> {
    shown(Body::Account(Box::new(read_account(reply)?)))
}

pub(super) fn sessions(reply: &Value) -> Option<Answer> {
    shown(Body::Sessions(Sessions { sessions: read_sessions(reply)? }))
}

pub(super) fn open_session(reply: &Value) -> Option<Answer> {
    let account = read_account(reply)?;
    let map = field(reply, "session")?;
    let items = each(field(map, "items")?, |item| {
        Some(OpenItem {
            key: item.integer()?,
            unit: item.text()?,
            granted: item.quantity()?,
            outstanding: item.quantity()?,
            used: item.quantity()?,
            from_hold: item.quantity()?,
            direct: item.quantity()?,
            released: item.quantity()?,
            uncollected: item.quantity()?,
        })
    })?;
    let number = |name| integer(field(map, name)?);
    shown(Body::OpenSession(Box::new(OpenSession {
        session: text(field(map, "id")?)?,
        version: number("version")?,
        deadline_ms: number("deadline")?,
        validity_ms: number("validity")?,
        tcc_ms: number("tcc")?,
        overrun: text(field(map, "overrun")?)?,
        last_request: integer(field(map, "last_request")?),
        data: STANDARD.encode(bytes(field(map, "data")?)?),
        items,
        account,
    })))
}

pub(super) fn audit(reply: &Value) -> Option<Answer> {
    let buckets = each(field(reply, "buckets")?, |bucket| {
        Some(BucketTotals {
            bucket: bucket.text()?,
            unit: bucket.text()?,
            available: bucket.quantity()?,
            held: bucket.quantity()?,
            credited: bucket.quantity()?,
            refunded: bucket.quantity()?,
            consumed: bucket.quantity()?,
            expired: bucket.quantity()?,
            voided: bucket.quantity()?,
            overdrawn: bucket.quantity()?,
        })
    })?;
    let uncollected = each(field(reply, "uncollected")?, |row| {
        Some(Uncollected { unit: row.text()?, amount: row.quantity()? })
    })?;
    shown(Body::Audit(Audit {
        ok: integer(field(reply, "ok")?)? == 1,
        version: integer(field(reply, "version")?)?,
        buckets,
        uncollected,
    }))
}
