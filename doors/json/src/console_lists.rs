//! `/v1/console/accounts` and `/v1/console/holds`: steps through the accounts of a store, for the console. There is no
//! index of open holds, so a step reads the accounts of some keys. Its work is bounded, and its cursor goes on.

use crate::answers_from_replies::lossy;
use crate::build::status_of;
use crate::list_cursor;
use crate::lookup::{Shown, fields, read};
use crate::operation::Retry;
use crate::refusal::{StoreFailure, refused, wrong_shape};
use axum::Json;
use axum::extract::{RawQuery, State};
use futures_util::stream::{self, StreamExt};
use scurry_http::{FaultLocation, Problem, field_problem, now, query};
use scurry_ledger::{ACCOUNT_ID_LEN_MAX, Code, ID_LEN_MAX, Name, Time, is_printable};
use scurry_service::{
    AccountList, AccountView, HoldView, HoldsView, ListCursor, ListRead, ListedAccount, Read,
    Reply, Service, StoreRead, StoreReply,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// About how many keys one step of the list examines.
const KEYS: u16 = 100;
/// Most steps of the list for an answer that found no account yet.
const LIST_STEPS_MAX: usize = 100;
/// Most steps of the list for an answer with holds.
const HOLD_STEPS_MAX: usize = 20;
/// Number of holds after which an answer ends.
const HOLDS: usize = 200;
/// Sessions that are read of each account in a walk over all accounts.
const SESSIONS: u16 = 100;
/// Sessions that are read of an account that the request names.
const SESSIONS_OF_ACCOUNT: u16 = 1_000;
/// Buckets that are shown of an account in the list.
const BUCKETS_MAX: usize = 8;
/// Accounts that are read at a time.
const AT_ONCE: usize = 32;

/// Answers 200 with some accounts, their balances and numbers of sessions, and the cursor of the next step.
pub(crate) async fn accounts(
    State(store): State<Arc<dyn Service>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    let [cursor, prefix, status] = parameters(&query, ["cursor", "prefix", "status"])?;
    let prefix = prefix.filter(|prefix| !prefix.is_empty());
    if let Some(prefix) = &prefix {
        check_id("prefix", prefix, ACCOUNT_ID_LEN_MAX)?;
    }
    let status = status.filter(|word| !word.is_empty()).map(|word| status_of(&word)).transpose()?;
    let cursor = list_cursor::read(cursor.as_deref().filter(|cursor| !cursor.is_empty()))?;
    let mut walk = ListRead { cursor, count: KEYS, prefix, status };
    let (mut next, mut steps, mut listed) = (None, 0, Vec::new());
    while steps < LIST_STEPS_MAX && listed.is_empty() {
        (listed, next) = step(&*store, &mut walk).await?;
        steps += 1;
        if next.is_none() {
            break;
        }
    }
    let rows = stream::iter(listed).map(|listed| row(&*store, listed)).buffered(AT_ONCE);
    let rows: Vec<_> = rows.collect().await;
    let rows =
        rows.into_iter().filter_map(Result::transpose).collect::<Result<Value, Problem>>()?;
    Ok(Json(json!({
        "accounts": rows,
        "keys": steps * usize::from(KEYS),
        "cursor": next.map(|next| next.to_string()),
    })))
}

/// Answers 200 with open holds that match: of the account that is named, or of some accounts. `more` names accounts
/// with more sessions than were read, each with the session after which to go on.
pub(crate) async fn holds(
    State(store): State<Arc<dyn Service>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    let [cursor, account, after, older, unit] =
        parameters(&query, ["cursor", "account", "after", "older_ms", "unit"])?;
    let account = account.filter(|account| !account.is_empty());
    let older_ms = match older.as_deref() {
        None => 0,
        Some(text) => scurry_resp::parse_integer(text).filter(|ms| *ms >= 0).ok_or_else(|| {
            field_problem(
                FaultLocation::Parameter("older_ms"),
                "must be a whole number, at least 0",
            )
        })?,
    };
    let unit = unit.filter(|unit| !unit.is_empty()).map(|unit| {
        let wrong = || field_problem(FaultLocation::Parameter("unit"), "is not the name of a unit");
        Name::new(&unit).ok_or_else(wrong)
    });
    let wanted =
        Wanted { unit: unit.transpose()?, opened_until: Time(now().0.saturating_sub(older_ms)) };
    let mut found = Found { now: now(), accounts: 0, holds: Vec::new(), more: Vec::new() };
    if let Some(account) = account {
        check_id("account", &account, ACCOUNT_ID_LEN_MAX)?;
        let after = after.unwrap_or_default();
        if !after.is_empty() {
            check_id("after", &after, ID_LEN_MAX)?;
        }
        let page = page(&*store, account.clone(), after, SESSIONS_OF_ACCOUNT).await?;
        let Some(page) = page else {
            let why = "no account has this id".to_owned();
            return Err(StoreFailure::Rejected(Code::UnknownAccount, why).into());
        };
        found.take(&wanted, &account, &page);
        return Ok(Json(found.answer(None)));
    }
    let cursor = list_cursor::read(cursor.as_deref().filter(|cursor| !cursor.is_empty()))?;
    let mut walk = ListRead { cursor, count: KEYS, prefix: None, status: None };
    let mut next = None;
    for _ in 0..HOLD_STEPS_MAX {
        let listed;
        (listed, next) = step(&*store, &mut walk).await?;
        let pages = stream::iter(listed).map(|listed| async {
            let account = listed.account;
            (page(&*store, account.clone(), Vec::new(), SESSIONS).await, account)
        });
        let pages: Vec<_> = pages.buffered(AT_ONCE).collect().await;
        for (page, account) in pages {
            // None: it was deleted since it was listed.
            if let Some(page) = page? {
                found.take(&wanted, &account, &page);
            }
        }
        if next.is_none() || found.holds.len() >= HOLDS {
            break;
        }
    }
    Ok(Json(found.answer(next)))
}

fn parameters<const N: usize>(
    query: &Option<String>,
    names: [&str; N],
) -> Result<[Option<Vec<u8>>; N], Problem> {
    query::read(query.as_deref(), names).map_err(|problem| problem.at("/v1/"))
}

fn check_id(name: &str, id: &[u8], len_max: usize) -> Result<(), Problem> {
    if id.len() <= len_max && is_printable(id) {
        return Ok(());
    }
    let why = format!("must be 1 to {len_max} printable ASCII characters without space");
    Err(field_problem(FaultLocation::Parameter(name), &why))
}

/// Does one step of a walk, and moves the walk on.
async fn step(
    store: &dyn Service,
    walk: &mut ListRead,
) -> Result<(Vec<ListedAccount>, Option<ListCursor>), Problem> {
    let reply = store.read_store(StoreRead::List(walk.clone())).await;
    let reply = reply.map_err(|error| refused(error, Retry::Read))?;
    let StoreReply::List(AccountList { accounts, next }) = reply else {
        return Err(wrong_shape().into());
    };
    if let Some(next) = next {
        walk.cursor = next;
    }
    Ok((accounts, next))
}

/// Returns the row of an account. None if it was deleted since it was listed.
async fn row(store: &dyn Service, listed: ListedAccount) -> Result<Option<Value>, Problem> {
    let account = listed.account.clone();
    let Some(reply) = read(store, Read::Account { account }).await? else { return Ok(None) };
    let Reply::Account(view) = reply else { return Err(wrong_shape().into()) };
    let AccountView { status, buckets, sessions, .. } = &*view;
    let balances = buckets.iter().take(BUCKETS_MAX);
    let balances = balances.map(|bucket| fields!(bucket; id, unit, available, held));
    Ok(Some(json!({
        "id": lossy(&listed.account),
        "status": status.name(),
        "buckets": balances.collect::<Value>(),
        "buckets_more": buckets.len().saturating_sub(BUCKETS_MAX),
        "sessions_open": sessions.len(),
    })))
}

/// Returns a page of an account's holds. None if there is no such account.
async fn page(
    store: &dyn Service,
    account: Vec<u8>,
    after: Vec<u8>,
    count: u16,
) -> Result<Option<HoldsView>, Problem> {
    match read(store, Read::Holds { account, after, count }).await? {
        None => Ok(None),
        Some(Reply::Holds(view)) => Ok(Some(*view)),
        Some(_) => Err(wrong_shape().into()),
    }
}

/// The holds that a request asks for.
struct Wanted {
    /// Unit of the holds. None for all.
    unit: Option<Name>,
    /// Their sessions were opened at this time or before it.
    opened_until: Time,
}

/// The holds that were found.
struct Found {
    now: Time,
    accounts: usize,
    holds: Vec<Value>,
    more: Vec<Value>,
}

impl Found {
    fn take(&mut self, wanted: &Wanted, account: &[u8], page: &HoldsView) {
        self.accounts += 1;
        let is_wanted = |hold: &&HoldView| {
            wanted.unit.is_none_or(|unit| unit == hold.unit) && hold.opened <= wanted.opened_until
        };
        self.holds.extend(page.holds.iter().filter(is_wanted).map(|hold| {
            let mut shown =
                fields!(hold; session, key, unit, bucket, amount, opened, active, deadline);
            shown["account"] = json!(lossy(account));
            shown
        }));
        if let Some(after) = &page.next {
            self.more.push(json!({ "account": lossy(account), "after": after.shown() }));
        }
    }

    fn answer(self, next: Option<ListCursor>) -> Value {
        json!({
            "now": self.now.shown(),
            "accounts": self.accounts,
            "holds": self.holds,
            "more": self.more,
            "cursor": next.map(|next| next.to_string()),
        })
    }
}
