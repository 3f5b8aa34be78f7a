//! What is answered. `reading.rs` makes it of replies.

use super::quantity::Quantity;
use super::text::Key;
use super::totals::TotalsBody;
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

/// The answer of a command of a chain.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema alone")]
enum ChainedAnswer {
    Moved(Moved),
    Session(SessionAnswer),
}

/// An account was created, changed or deleted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Done {
    pub(super) code: &'static str,
    /// The request was a duplicate: this is the stored answer. Only one with a key can be.
    pub(super) replayed: bool,
    /// The account's version afterwards.
    pub(super) version: i64,
}

/// A bucket or a counter was changed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    pub(super) code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    pub(super) replayed: bool,
    /// The account's version after it was first executed.
    pub(super) version: i64,
    /// Of a debit or refund what was moved, else what is there afterwards.
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
    pub(super) code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    pub(super) replayed: bool,
    /// The session's version; 0 when it is not open afterwards.
    pub(super) version: i64,
    pub(super) items: Vec<ItemAnswer>,
    /// Of a request without items.
    #[serde(flatten)]
    pub(super) why: Why,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemAnswer {
    /// The rating group, or another name of what is charged.
    pub(super) key: Key,
    pub(super) code: &'static str,
    pub(super) granted: Quantity,
    /// Less was granted than requested.
    #[serde(rename = "final")]
    pub(super) last: bool,
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
    pub(super) status: String,
    pub(super) version: i64,
    pub(super) identities: BTreeMap<String, String>,
    pub(super) buckets: Vec<BucketBody>,
    pub(super) counters: Vec<CounterBody>,
    pub(super) limits: Vec<LimitBody>,
    pub(super) sessions: Vec<SessionRow>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Bucket")]
pub(super) struct BucketBody {
    pub(super) bucket: String,
    pub(super) unit: String,
    pub(super) available: Quantity,
    pub(super) held: Quantity,
    pub(super) floor: Quantity,
    pub(super) priority: i64,
    pub(super) valid_from_ms: i64,
    pub(super) valid_to_ms: Option<i64>,
    /// Absent where the bucket is not refilled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allowance: Option<AllowanceBody>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BucketAllowance")]
pub(super) struct AllowanceBody {
    pub(super) period: String,
    pub(super) offset_minutes: i64,
    pub(super) amount: Quantity,
    /// null where the bucket ends before.
    pub(super) refills_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Counter")]
pub(super) struct CounterBody {
    pub(super) counter: String,
    pub(super) unit: String,
    pub(super) value: Quantity,
    pub(super) period: String,
    pub(super) resets_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Limit")]
pub(super) struct LimitBody {
    pub(super) limit: String,
    /// Null where it counts open sessions.
    pub(super) unit: Option<String>,
    /// Null where it counts all of the unit.
    pub(super) item: Option<Key>,
    pub(super) amount: Quantity,
    pub(super) used: Quantity,
    pub(super) held: Quantity,
    pub(super) left: Quantity,
    pub(super) overrun: Quantity,
    pub(super) period: String,
    pub(super) offset_minutes: i64,
    pub(super) resets_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct SessionRow {
    pub(super) session: String,
    pub(super) version: i64,
    pub(super) deadline_ms: i64,
}

/// Some accounts of the store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AccountList {
    pub(super) accounts: Vec<AccountRow>,
    /// Where the list goes on; null at its end.
    pub(super) cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct AccountRow {
    pub(super) account: String,
    pub(super) status: String,
    pub(super) version: i64,
}

/// Accounts that have an identity.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundAccounts {
    pub(super) accounts: Vec<String>,
    /// There are more accounts than these.
    pub(super) more: bool,
}

/// Entries of an account in a period, the oldest or the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatementBody {
    pub(super) account: String,
    /// Where the statement goes on; null when it is whole.
    pub(super) cursor: Option<String>,
    /// False when entries of the period, or behind the cursor, are not kept any more.
    pub(super) complete: bool,
    /// The time of the oldest entry of any account that is kept; null when there is none.
    pub(super) kept_from_ms: Option<i64>,
    /// Commits that this answer went through, of all accounts of the thread.
    pub(super) looked: i64,
    /// The time of the last of them; null when there was none.
    pub(super) reached_ms: Option<i64>,
    pub(super) entries: Vec<StatementEntry>,
}

/// An event, with the members that docs/events.md lists for it.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatementEntry {
    /// No other entry has it.
    pub(super) position: String,
    pub(super) time_ms: i64,
    pub(super) event: String,
    #[serde(flatten)]
    pub(super) more: BTreeMap<String, StatementMember>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum StatementMember {
    Quantity(Quantity),
    Text(String),
    Nothing(()),
}

/// The open sessions of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Sessions {
    pub(super) sessions: Vec<SessionRow>,
}

/// An open session and its account in one atomic read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenSession {
    pub(super) session: String,
    pub(super) version: i64,
    pub(super) deadline_ms: i64,
    pub(super) validity_ms: i64,
    pub(super) tcc_ms: i64,
    pub(super) overrun: String,
    pub(super) last_request: Option<i64>,
    /// Base64.
    pub(super) data: String,
    pub(super) items: Vec<OpenItem>,
    pub(super) account: AccountBody,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct OpenItem {
    /// The rating group, or another name of what is charged.
    pub(super) key: Key,
    pub(super) unit: String,
    pub(super) granted: Quantity,
    pub(super) outstanding: Quantity,
    pub(super) used: Quantity,
    pub(super) from_hold: Quantity,
    pub(super) direct: Quantity,
    pub(super) released: Quantity,
    pub(super) uncollected: Quantity,
}

/// The conservation totals of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Audit {
    /// The invariants hold.
    pub(super) ok: bool,
    pub(super) version: i64,
    pub(super) buckets: Vec<BucketTotals>,
    pub(super) uncollected: Vec<Uncollected>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct BucketTotals {
    pub(super) bucket: String,
    pub(super) unit: String,
    pub(super) available: Quantity,
    pub(super) held: Quantity,
    pub(super) credited: Quantity,
    pub(super) refunded: Quantity,
    pub(super) consumed: Quantity,
    pub(super) expired: Quantity,
    pub(super) voided: Quantity,
    pub(super) overdrawn: Quantity,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Uncollected {
    pub(super) unit: String,
    pub(super) amount: Quantity,
}
