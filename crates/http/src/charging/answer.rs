//! The bodies of answers. `reading.rs` builds them from the store's replies.

use super::quantity::Quantity;
use super::text::Key;
use super::totals::TotalsBody;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_ledger::Code;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// An answer: its body, and the values from which the status and headers are made.
pub(crate) struct Answer {
    pub(crate) code: Code,
    pub(crate) replayed: bool,
    pub(crate) body: Body,
}

/// The body of an answer, one variant per shape.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Body {
    Done(Done),
    Moved(Moved),
    Checked(Checked),
    Session(SessionAnswer),
    Account(Box<AccountBody>),
    Sessions(Sessions),
    OpenSession(Box<OpenSession>),
    Audit(Audit),
    Statement(StatementBody),
    Totals(TotalsBody),
    List(AccountList),
    Found(FoundAccounts),
    Chain(ChainAnswer),
}

/// The answers of a chain.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChainAnswer {
    /// `OK`, or that of the command that denies the chain.
    pub(super) code: &'static str,
    /// Every command was a duplicate: these are the stored answers.
    pub(super) replayed: bool,
    /// The number of the first command that is denied by itself, from 1; null where none is.
    pub(super) denied: Option<i64>,
    /// The answer of each command, as it has it alone.
    #[schemars(with = "Vec<ChainedAnswer>")]
    pub(super) answers: Vec<Body>,
}

/// The answer of a command of a chain: `amount` tells one of an account, `items` one of a session.
#[derive(JsonSchema)]
#[schemars(untagged, transform = to_one_of)]
#[expect(dead_code, reason = "the schema alone")]
enum ChainedAnswer {
    Moved(Moved),
    Session(SessionAnswer),
}

/// Turns `anyOf` into `oneOf`, because the branches exclude each other.
fn to_one_of(schema: &mut Schema) {
    if let Some(branches) = schema.remove("anyOf") {
        schema.insert("oneOf".to_owned(), branches);
    }
}

/// An account was created, changed or deleted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Done {
    /// `OK`, or the result code of the ledger.
    pub(super) code: &'static str,
    /// The request was a duplicate: this is the stored answer. Only one with a key can be.
    pub(super) replayed: bool,
    /// The account's version afterwards.
    pub(super) version: i64,
}

/// A bucket or a counter was changed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    /// `OK`, or the result code of the ledger.
    pub(super) code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    pub(super) replayed: bool,
    /// The account's version after it was first executed.
    pub(super) version: i64,
    /// The amount that a debit or refund moved; otherwise the balance afterwards.
    pub(super) amount: Quantity,
    #[serde(flatten)]
    pub(super) why: Why,
}

/// Whether an amount could be reserved now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// `OK`, `CREDIT_LIMIT_REACHED` or `SERVICE_DENIED`.
    pub(super) code: &'static str,
    /// Amount that could be granted.
    pub(super) amount: Quantity,
    #[serde(flatten)]
    pub(super) why: Why,
}

/// A session was opened, updated or ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionAnswer {
    /// `OK`, or the result code of the ledger.
    pub(super) code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    pub(super) replayed: bool,
    /// The session's version; 0 when it is not open afterwards.
    pub(super) version: i64,
    /// The outcome of each item.
    pub(super) items: Vec<ItemAnswer>,
    /// Of a request without items.
    #[serde(flatten)]
    pub(super) why: Why,
}

/// The outcome of one item.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemAnswer {
    /// Key of the item: its rating group, or another name.
    pub(super) key: Key,
    /// `OK`, or the result code of the ledger.
    pub(super) code: &'static str,
    /// Units that were granted.
    pub(super) granted: Quantity,
    /// Less was granted than requested.
    #[serde(rename = "final")]
    pub(super) last: bool,
    /// Units that were used and could not be debited.
    pub(super) uncollected: Quantity,
    #[serde(flatten)]
    pub(super) why: Why,
}

/// Cause of a denial; absent where nothing was denied, and where an older release did not tell it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Why {
    /// `balance`: the buckets of the unit have less than was asked for; `no_bucket`: the account has no
    /// bucket of the unit; `limit`: a limit is reached; `chain`: another command of the chain was denied;
    /// `status`: the account is suspended or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<&'static str>,
    /// The limit that is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<String>,
}

/// An account in one atomic read.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Account")]
pub(crate) struct AccountBody {
    /// The status of the account.
    pub(super) status: String,
    /// The version of the account.
    pub(super) version: i64,
    /// Kind to value.
    pub(super) identities: BTreeMap<String, String>,
    /// Buckets, in the order in which they burn.
    pub(super) buckets: Vec<BucketBody>,
    /// Counters of the account.
    pub(super) counters: Vec<CounterBody>,
    /// Limits of the account.
    pub(super) limits: Vec<LimitBody>,
    /// Open sessions of the account.
    pub(super) sessions: Vec<SessionRow>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Bucket")]
pub(super) struct BucketBody {
    /// Id of the bucket.
    pub(super) bucket: String,
    /// Unit that is counted.
    pub(super) unit: String,
    /// Amount that can be debited or held.
    pub(super) available: Quantity,
    /// Amount that open sessions hold.
    pub(super) held: Quantity,
    /// 0 or less: minus the credit limit.
    pub(super) floor: Quantity,
    /// Lower ones burn first.
    pub(super) priority: i64,
    /// When the bucket begins to count, ms of the UNIX epoch.
    pub(super) valid_from_ms: i64,
    /// When the bucket ends; null where it has no end.
    pub(super) valid_to_ms: Option<i64>,
    /// Absent where the bucket is not refilled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allowance: Option<AllowanceBody>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BucketAllowance")]
pub(super) struct AllowanceBody {
    /// When the bucket is refilled.
    pub(super) period: String,
    /// Minutes by which the clocks of the time zone are ahead of UTC.
    pub(super) offset_minutes: i64,
    /// Amount of the bucket when a period begins.
    pub(super) amount: Quantity,
    /// null where the bucket ends before.
    pub(super) refills_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Counter")]
pub(super) struct CounterBody {
    /// Id of the counter.
    pub(super) counter: String,
    /// Unit that is counted.
    pub(super) unit: String,
    /// Value of the counter.
    pub(super) value: Quantity,
    /// When it resets, in UTC.
    pub(super) period: String,
    /// When it resets; null where it does not.
    pub(super) resets_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Limit")]
pub(super) struct LimitBody {
    /// Id of the limit.
    pub(super) limit: String,
    /// Null where it counts open sessions.
    pub(super) unit: Option<String>,
    /// Null where it counts all of the unit.
    pub(super) item: Option<Key>,
    /// Units in a period, or sessions that may be open.
    pub(super) amount: Quantity,
    /// Amount of it that was used in this period.
    pub(super) used: Quantity,
    /// Amount of it that open sessions hold.
    pub(super) held: Quantity,
    /// Amount of it that is left.
    pub(super) left: Quantity,
    /// Amount that was used beyond it.
    pub(super) overrun: Quantity,
    /// When it resets, in UTC moved by the offset.
    pub(super) period: String,
    /// Minutes by which the clocks of the time zone are ahead of UTC.
    pub(super) offset_minutes: i64,
    /// When it resets; null where it does not.
    pub(super) resets_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct SessionRow {
    /// Id of the session.
    pub(super) session: String,
    /// The version of the session.
    pub(super) version: i64,
    /// When the session expires without a request.
    pub(super) deadline_ms: i64,
}

/// Some accounts of the store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AccountList {
    /// Accounts of this step.
    pub(super) accounts: Vec<AccountRow>,
    /// Where the list goes on; null at its end.
    pub(super) cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct AccountRow {
    /// Id of the account.
    pub(super) account: String,
    /// The status of the account.
    pub(super) status: String,
    /// The version of the account.
    pub(super) version: i64,
}

/// Accounts that have an identity.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundAccounts {
    /// Ids of the accounts.
    pub(super) accounts: Vec<String>,
    /// There are more accounts than these.
    pub(super) more: bool,
}

/// Entries of an account in a period, the oldest or the newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Statement")]
pub(crate) struct StatementBody {
    /// Id of the account.
    pub(super) account: String,
    /// Where the statement goes on; null when it is whole.
    pub(super) cursor: Option<String>,
    /// False when entries of the period, or after the cursor, are no longer kept.
    pub(super) complete: bool,
    /// The time of the oldest entry of any account that is kept; null when there is none.
    pub(super) kept_from_ms: Option<i64>,
    /// Commits that this answer went through, of all accounts of the thread.
    pub(super) looked: i64,
    /// The time of the last of them; null when there was none.
    pub(super) reached_ms: Option<i64>,
    /// Entries, in their order.
    pub(super) entries: Vec<StatementEntry>,
}

/// An event, with the members that docs/events.md lists for it.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatementEntry {
    /// No other entry has it.
    pub(super) position: String,
    /// When it happened, ms of the UNIX epoch.
    pub(super) time_ms: i64,
    /// Kind of the event: docs/events.md.
    pub(super) event: String,
    #[serde(flatten)]
    pub(super) more: BTreeMap<String, StatementMember>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum StatementMember {
    Quantity(Quantity),
    Text(String),
    Nothing(()),
}

impl JsonSchema for StatementMember {
    fn schema_name() -> Cow<'static, str> {
        "StatementMember".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A member of an entry. An amount beyond 2^53 - 1 is a string of its digits.",
            "oneOf": [
                { "type": "integer", "format": "int64" },
                { "type": "string" },
                { "type": "null" },
            ],
        })
    }
}

/// The open sessions of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Sessions {
    /// The open sessions.
    pub(super) sessions: Vec<SessionRow>,
}

/// An open session and its account in one atomic read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenSession {
    /// Id of the session.
    pub(super) session: String,
    /// The version of the session.
    pub(super) version: i64,
    /// When the session expires without a request.
    pub(super) deadline_ms: i64,
    /// How long grants are good for.
    pub(super) validity_ms: i64,
    /// The supervision time: without a request for so long the session expires.
    pub(super) tcc_ms: i64,
    /// Treatment of use beyond the balance.
    pub(super) overrun: String,
    /// The highest request number; null before the first.
    pub(super) last_request: Option<i64>,
    /// Base64.
    pub(super) data: String,
    /// Items, with the grant and the use of each.
    pub(super) items: Vec<OpenItem>,
    /// Account of the session.
    pub(super) account: AccountBody,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OpenItem {
    /// Key of the item: its rating group, or another name.
    pub(super) key: Key,
    /// Unit that is counted.
    pub(super) unit: String,
    /// Units that were granted.
    pub(super) granted: Quantity,
    /// Units that are held.
    pub(super) outstanding: Quantity,
    /// Units that were used so far.
    pub(super) used: Quantity,
    /// Used units that the hold had.
    pub(super) from_hold: Quantity,
    /// Used units beyond the hold.
    pub(super) direct: Quantity,
    /// Units that were given back.
    pub(super) released: Quantity,
    /// Units that were used and could not be debited.
    pub(super) uncollected: Quantity,
}

/// The conservation totals of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Audit {
    /// The invariants hold.
    pub(super) ok: bool,
    /// The version of the account.
    pub(super) version: i64,
    /// Totals of each bucket.
    pub(super) buckets: Vec<BucketTotals>,
    /// Use that could not be debited, by unit.
    pub(super) uncollected: Vec<Uncollected>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct BucketTotals {
    /// Id of the bucket.
    pub(super) bucket: String,
    /// Unit that is counted.
    pub(super) unit: String,
    /// Amount that can be debited or held.
    pub(super) available: Quantity,
    /// Amount that open sessions hold.
    pub(super) held: Quantity,
    /// Units that came in.
    pub(super) credited: Quantity,
    /// Units that came back.
    pub(super) refunded: Quantity,
    /// Units that were debited.
    pub(super) consumed: Quantity,
    /// Units that went with the end of a validity or period.
    pub(super) expired: Quantity,
    /// Units that were taken out by a correction.
    pub(super) voided: Quantity,
    /// Units that are owed below 0.
    pub(super) overdrawn: Quantity,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Uncollected {
    /// Unit that is counted.
    pub(super) unit: String,
    /// Units of it.
    pub(super) amount: Quantity,
}
