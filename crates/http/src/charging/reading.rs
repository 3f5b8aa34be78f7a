//! Replies of the store become answers.

use super::answer::{
    AccountBody, AccountList, AccountRow, AllowanceBody, Answer, Audit, Body, BucketBody,
    BucketTotals, Checked, CounterBody, Done, FoundAccounts, ItemAnswer, LimitBody, Moved,
    OpenItem, OpenSession, SessionAnswer, SessionRow, Sessions, Uncollected, Why,
};
use super::list_cursor::Cursor;
use super::quantity::Quantity;
use super::reply::{Reader, SessionReply, bytes, each, field, integer, list, text};
use super::totals::TotalsBody;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use redis::Value;
use scurry_cluster_client::Totals;
use scurry_ledger::{Cause, Code};
use scurry_resp::FIND_MAX;

/// A read that found something.
fn shown(body: Body) -> Option<Answer> {
    Some(Answer { code: Code::Ok, replayed: false, body })
}

fn why(cause: Cause) -> Why {
    let limit = match cause {
        Cause::Limit(limit) => Some(limit.as_str().to_owned()),
        Cause::None
        | Cause::Untold
        | Cause::Balance
        | Cause::NoBucket
        | Cause::Chain
        | Cause::Status => None,
    };
    Why { cause: cause.word(), limit }
}

pub(super) fn done(reply: &Value) -> Option<Answer> {
    let mut reader = Reader::of(reply)?;
    let (code, version) = (reader.code()?, reader.integer()?);
    // Only the answer to a request with a key says it.
    let replayed = reader.flag().unwrap_or(false);
    let body = Body::Done(Done { code: code.name(), replayed, version });
    Some(Answer { code, replayed, body })
}

pub(super) fn moved(reply: &Value) -> Option<Answer> {
    let mut reader = Reader::of(reply)?;
    let (code, replayed) = (reader.code()?, reader.flag()?);
    let (version, amount) = (reader.integer()?, reader.quantity()?);
    let why = why(reader.cause()?);
    let body = Body::Moved(Moved { code: code.name(), replayed, version, amount, why });
    Some(Answer { code, replayed, body })
}

pub(super) fn checked(reply: &Value) -> Option<Answer> {
    let mut reader = Reader::of(reply)?;
    let code = reader.code()?.name();
    // Whatever it says, the question was answered.
    shown(Body::Checked(Checked { code, amount: reader.quantity()?, why: why(reader.cause()?) }))
}

pub(super) fn session(reply: &Value) -> Option<Answer> {
    let SessionReply { code, replayed, version, items, cause } = SessionReply::read(reply)?;
    let items = items.into_iter().map(|item| ItemAnswer {
        key: item.key,
        code: item.code.name(),
        granted: Quantity::Number(item.granted),
        last: item.last,
        uncollected: Quantity::Number(item.uncollected),
        why: why(item.cause),
    });
    let items = items.collect();
    let (code_name, why) = (code.name(), why(cause));
    let body = Body::Session(SessionAnswer { code: code_name, replayed, version, items, why });
    Some(Answer { code, replayed, body })
}

fn read_account(map: &Value) -> Option<AccountBody> {
    let identities = each(field(map, "identities")?, |pair| Some((pair.text()?, pair.text()?)))?;
    let buckets = each(field(map, "buckets")?, |bucket| {
        Some(BucketBody {
            bucket: bucket.text()?,
            unit: bucket.text()?,
            available: bucket.quantity()?,
            held: bucket.quantity()?,
            floor: bucket.quantity()?,
            priority: bucket.integer()?,
            valid_from_ms: bucket.integer()?,
            valid_to_ms: bucket.integer_or_nil()?,
            allowance: match bucket.value() {
                Some(row) => Some(read_allowance(row)?),
                None => None,
            },
        })
    })?;
    let counters = each(field(map, "counters")?, |counter| {
        Some(CounterBody {
            counter: counter.text()?,
            unit: counter.text()?,
            value: counter.quantity()?,
            period: counter.text()?,
            resets_at_ms: counter.integer_or_nil()?,
        })
    })?;
    Some(AccountBody {
        status: text(field(map, "status")?)?,
        version: integer(field(map, "version")?)?,
        identities: identities.into_iter().collect(),
        buckets,
        counters,
        limits: each(field(map, "limits")?, read_limit)?,
        sessions: read_sessions(map)?,
    })
}

fn read_allowance(row: &Value) -> Option<AllowanceBody> {
    let mut row = Reader::of(row)?;
    Some(AllowanceBody {
        period: row.text()?,
        offset_minutes: row.integer()?,
        amount: row.quantity()?,
        refills_at_ms: row.integer_or_nil()?,
    })
}

fn read_limit(limit: &mut Reader<'_>) -> Option<LimitBody> {
    Some(LimitBody {
        limit: limit.text()?,
        unit: limit.text_or_nil()?,
        item: limit.key_or_nil()?,
        amount: limit.quantity()?,
        used: limit.quantity()?,
        held: limit.quantity()?,
        left: limit.quantity()?,
        overrun: limit.quantity()?,
        period: limit.text()?,
        offset_minutes: limit.integer()?,
        resets_at_ms: limit.integer_or_nil()?,
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
            key: item.key()?,
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

/// The replies of all servers, added up.
pub(super) fn totals(replies: &Value) -> Option<Answer> {
    let mut all = Totals::default();
    for reply in list(replies)? {
        all.add(&Totals::read(reply)?);
    }
    shown(Body::Totals(TotalsBody::of(&all)?))
}

/// The accounts that one server has listed.
pub(super) fn listed(reply: &Value) -> Option<Answer> {
    let mut reader = Reader::of(reply)?;
    let server = usize::try_from(reader.integer()?).ok()?;
    let is_last = reader.flag()?;
    let (accounts, cursor) = match reader.value()? {
        // There is no server of this number any more.
        Value::Nil => (Vec::new(), None),
        reply => {
            let mut reader = Reader::of(reply)?;
            let within = reader.text()?.parse().ok()?;
            let accounts = each(reader.value()?, |row| {
                let (account, status) = (row.text()?, row.text()?);
                Some(AccountRow { account, status, version: row.integer()? })
            })?;
            (accounts, Cursor::after(server, within, is_last))
        }
    };
    let cursor = cursor.map(|cursor| cursor.to_string());
    shown(Body::List(AccountList { accounts, cursor }))
}

/// The accounts that all servers have found.
pub(super) fn found(replies: &Value) -> Option<Answer> {
    let (mut accounts, mut more) = (Vec::new(), false);
    for reply in list(replies)? {
        let mut reader = Reader::of(reply)?;
        more |= reader.flag()?;
        for account in list(reader.value()?)? {
            accounts.push(text(account)?);
        }
    }
    more |= accounts.len() > FIND_MAX;
    accounts.truncate(FIND_MAX);
    shown(Body::Found(FoundAccounts { accounts, more }))
}
