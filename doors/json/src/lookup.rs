//! `/v1/console/account?id=ID`: one account with its buckets and open sessions, for the console. Its history is its
//! statement.

use crate::operation::Retry;
use crate::refusal::outcome;
use crate::reply_json::{field, fields, named, text};
use axum::extract::{RawQuery, State};
use axum::{Extension, Json};
use redis::Value;
use scurry_http::{Problem, query};
use scurry_server::Roles;
use scurry_stores::Store;
use serde_json::{Map, Value as Json_, json};
use std::sync::Arc;

/// Maximum number of sessions shown in full.
const SESSIONS_MAX: usize = 16;

const BUCKET: [&str; 9] = [
    "id",
    "unit",
    "available",
    "held",
    "floor",
    "priority",
    "valid_from",
    "valid_to",
    // Its fields, where a bucket has one: period, offset, amount, refills_at.
    "allowance",
];
const ITEM: [&str; 9] = [
    "key",
    "unit",
    "granted",
    "outstanding",
    "used",
    "from_hold",
    "direct",
    "released",
    "uncollected",
];
const AUDIT: [&str; 10] = [
    "id",
    "unit",
    "available",
    "held",
    "credited",
    "refunded",
    "consumed",
    "expired",
    "voided",
    "overdrawn",
];

const LIMIT: [&str; 11] = [
    "id",
    "unit",
    "item",
    "amount",
    "used",
    "held",
    "left",
    "overrun",
    "period",
    "offset",
    "resets_at",
];

/// Answers 200 with the account from one atomic read, the sessions and the audit from later reads, and the roles of the
/// user.
pub(crate) async fn account(
    State(store): State<Arc<dyn Store>>,
    Extension(roles): Extension<Roles>,
    RawQuery(query): RawQuery,
) -> Result<Json<Json_>, Problem> {
    let typed = |problem: Problem| problem.at("/v1/");
    let [id] = query::read(query.as_deref(), ["id"]).map_err(typed)?;
    let id = id.filter(|id| !id.is_empty());
    let missing = || Problem::bad_request("id is missing or empty: say ?id=ID");
    let id = id.ok_or_else(missing).map_err(typed)?;
    let shown = read(&*store, &[b"SCUR.GET", &id]).await?;
    let mut answer = fields(&shown);
    rename(&mut answer, &shown, "buckets", &BUCKET);
    rename(&mut answer, &shown, "identities", &["kind", "value"]);
    rename(&mut answer, &shown, "counters", &["id", "unit", "value", "period", "resets_at"]);
    rename(&mut answer, &shown, "limits", &LIMIT);
    answer.insert("id".to_owned(), json!(String::from_utf8_lossy(&id)));
    let roles: Vec<String> = roles.to_string().split(' ').map(str::to_owned).collect();
    answer.insert("roles".to_owned(), json!(roles));
    let mut sessions = Vec::new();
    let open: Vec<Value> = match field(&shown, "sessions") {
        Some(Value::Array(open)) => open.clone(),
        _ => Vec::new(),
    };
    answer.insert("sessions_open".to_owned(), json!(open.len()));
    for session in open.iter().take(SESSIONS_MAX) {
        let Value::Array(session) = session else { continue };
        let Some(name) = session.first() else { continue };
        // The session may have ended since the account was read.
        let command = [b"SCUR.SESSION", &id[..], &bytes(name)];
        let Ok(shown) = read(&*store, &command).await else { continue };
        let Some(session) = field(&shown, "session") else { continue };
        let mut one = fields(session);
        rename(&mut one, session, "items", &ITEM);
        sessions.push(Json_::Object(one));
    }
    answer.insert("sessions".to_owned(), Json_::Array(sessions));
    let audit = read(&*store, &[b"SCUR.AUDIT", &id]).await?;
    let mut audited = fields(&audit);
    rename(&mut audited, &audit, "buckets", &AUDIT);
    rename(&mut audited, &audit, "uncollected", &["unit", "amount"]);
    answer.insert("audit".to_owned(), Json_::Object(audited));
    Ok(Json(Json_::Object(answer)))
}

/// Turns the rows of `name` into objects, with the field names of docs/commands.md.
fn rename(answer: &mut Map<String, Json_>, shown: &Value, name: &str, names: &[&str]) {
    if let Some(Value::Array(rows)) = field(shown, name) {
        let rows = rows.iter().map(|row| named(row, names)).collect();
        answer.insert(name.to_owned(), Json_::Array(rows));
    }
}

/// Reads from the store with one command.
async fn read(store: &dyn Store, words: &[&[u8]]) -> Result<Value, Problem> {
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    Ok(outcome(store.execute(&words).await, Retry::Read)?)
}

fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::BulkString(bytes) => bytes.clone(),
        other => text(other).into_bytes(),
    }
}
