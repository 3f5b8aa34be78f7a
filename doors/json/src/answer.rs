//! The bodies of answers. `reading.rs` builds them from the store's replies.

use crate::quantity::Quantity;
use crate::text::{Begin, Key};
use crate::totals::TotalsBody;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_ledger::Code;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// An answer: its body, and the values from which the status and headers are made.
pub(crate) struct Answer {
    pub(crate) code: Code,
    pub(crate) replayed: bool,
    pub(crate) body: AnswerBody,
}

/// The body of an answer, one variant per shape.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum AnswerBody {
    Done(Done),
    Moved(Moved),
    Transfer(TransferAnswer),
    Checked(Checked),
    Session(SessionAnswer),
    Account(Box<AccountBody>),
    Sessions(Sessions),
    OpenSession(Box<OpenSession>),
    Audit(Audit),
    Holds(HoldsBody),
    Transaction(TransactionBody),
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
    pub(crate) code: &'static str,
    /// Every command was a duplicate: these are the stored answers.
    pub(crate) replayed: bool,
    /// The number of the first command that is denied by itself, from 1; null where none is.
    pub(crate) denied: Option<i64>,
    /// The answer of each command, as it has it alone.
    #[schemars(with = "Vec<ChainedAnswer>")]
    pub(crate) answers: Vec<AnswerBody>,
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
    pub(crate) code: &'static str,
    /// The request was a duplicate: this is the stored answer. Only one with a key can be.
    pub(crate) replayed: bool,
    /// The account's version afterwards.
    pub(crate) version: i64,
}

/// A bucket or a counter was changed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    /// `OK`, or the result code of the ledger.
    pub(crate) code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    pub(crate) replayed: bool,
    /// The account's version after it was first executed.
    pub(crate) version: i64,
    /// The amount that a debit or refund moved; otherwise the balance afterwards.
    pub(crate) amount: Quantity,
    #[serde(flatten)]
    pub(crate) why: Why,
}

/// The state of a transfer to another account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TransferAnswer {
    /// `OK`, or the result code of the ledger.
    pub(crate) code: &'static str,
    /// The request was a duplicate: this is the present state.
    pub(crate) replayed: bool,
    /// `in_transit`, `arrived` or `denied`.
    pub(crate) state: &'static str,
    /// The amount that was taken from the account; 0 where it was denied.
    pub(crate) amount: Quantity,
    #[serde(flatten)]
    pub(crate) why: Why,
}

/// Whether an amount could be reserved now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// `OK`, `CREDIT_LIMIT_REACHED` or `SERVICE_DENIED`.
    pub(crate) code: &'static str,
    /// Amount that could be granted.
    pub(crate) amount: Quantity,
    #[serde(flatten)]
    pub(crate) why: Why,
}

/// A session was opened, updated or ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionAnswer {
    /// `OK`, or the result code of the ledger.
    pub(crate) code: &'static str,
    /// The request was a duplicate: this is the stored answer.
    pub(crate) replayed: bool,
    /// The session's version; 0 when it is not open afterwards.
    pub(crate) version: i64,
    /// The outcome of each item.
    pub(crate) items: Vec<ItemAnswer>,
    /// Of a request without items.
    #[serde(flatten)]
    pub(crate) why: Why,
}

/// The outcome of one item.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemAnswer {
    /// Key of the item: its rating group, or another name.
    pub(crate) key: Key,
    /// `OK`, or the result code of the ledger.
    pub(crate) code: &'static str,
    /// Units that were granted.
    pub(crate) granted: Quantity,
    /// Less was granted than requested.
    #[serde(rename = "final")]
    pub(crate) last: bool,
    /// Other items hold the rest: more would be granted if they held nothing. Absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) held: bool,
    /// Units that were used and could not be debited.
    pub(crate) uncollected: Quantity,
    #[serde(flatten)]
    pub(crate) why: Why,
}

/// Cause of a denial; absent where nothing was denied, and where an older release did not tell it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Why {
    /// `balance`: the buckets of the unit have less, after what it owes, than was asked for; `no_bucket`: the
    /// account has no bucket of the unit; `bucket`: the bucket has less than the command takes, or than its new floor;
    /// `limit`: a limit is reached; `chain`: another command of the chain was denied;
    /// `status`: the account is suspended or closed; `items`: the session has no room for the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<&'static str>,
    /// The limit that is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<String>,
    /// The bucket that has less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bucket: Option<String>,
    /// When the limits would allow it, if nothing else changes; absent where time alone does not help. Of an item, as
    /// if it were asked alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowed_at_ms: Option<i64>,
}

/// An account in one atomic read.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Account")]
pub(crate) struct AccountBody {
    /// The status of the account.
    pub(crate) status: String,
    /// The version of the account.
    pub(crate) version: i64,
    /// Kind to value.
    pub(crate) identities: BTreeMap<String, String>,
    /// Buckets, in the order in which they burn.
    pub(crate) buckets: Vec<BucketBody>,
    /// Counters of the account.
    pub(crate) counters: Vec<CounterBody>,
    /// Limits of the account.
    pub(crate) limits: Vec<LimitBody>,
    /// Open sessions of the account.
    pub(crate) sessions: Vec<SessionRow>,
    /// Identities that the account has given up and is still found by; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) former_identities: Vec<FormerIdentityBody>,
}

/// An identity that an account has given up while a session of it was known.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FormerIdentity")]
pub(crate) struct FormerIdentityBody {
    /// Kind of the identity.
    pub(crate) kind: String,
    /// Value of the identity.
    pub(crate) value: String,
    /// When it is forgotten, or kept for as long again.
    pub(crate) forget_at_ms: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Bucket")]
pub(crate) struct BucketBody {
    /// Id of the bucket.
    pub(crate) bucket: String,
    /// Unit that is counted.
    pub(crate) unit: String,
    /// Amount that can be debited or held.
    pub(crate) available: Quantity,
    /// Amount that open sessions hold.
    pub(crate) held: Quantity,
    /// 0 or less: minus the credit limit.
    pub(crate) floor: Quantity,
    /// Lower ones burn first.
    pub(crate) priority: i64,
    /// When the bucket begins to count, ms of the UNIX epoch.
    pub(crate) valid_from_ms: i64,
    /// When the bucket ends; null where it has no end.
    pub(crate) valid_to_ms: Option<i64>,
    /// Less than this available makes the event `below-mark`; absent without a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mark: Option<Quantity>,
    /// Absent where the bucket is not refilled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowance: Option<AllowanceBody>,
    /// Keys of the items that the bucket is for; absent where it is for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(crate) items: Vec<Key>,
}

/// Clock that begins periods.
#[derive(PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ClockBody {
    /// Minutes by which the clocks of the time zone are ahead of UTC; absent with zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset_minutes: Option<i64>,
    /// Time zone of the IANA database; absent with offset_minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    /// When a period begins, where it is not the first hour, weekday or day of the month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) begin: Option<Begin>,
}

impl ClockBody {
    /// The clock of which a counter shows nothing.
    pub(crate) const UTC: ClockBody =
        ClockBody { offset_minutes: Some(0), zone: None, begin: None };
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BucketAllowance")]
pub(crate) struct AllowanceBody {
    /// When the bucket is refilled.
    pub(crate) period: String,
    #[serde(flatten)]
    pub(crate) clock: ClockBody,
    /// Amount of the bucket when a period begins.
    pub(crate) amount: Quantity,
    /// null where the bucket ends before.
    pub(crate) refills_at_ms: Option<i64>,
    /// Most units that stay when a period ends; left out where it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollover: Option<Quantity>,
    /// What a refill does with a debt; left out where it is `net`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) debt: Option<&'static str>,
    /// Debt of earlier periods that refills do not pay; left out where it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owed: Option<Quantity>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Counter")]
pub(crate) struct CounterBody {
    /// Id of the counter.
    pub(crate) counter: String,
    /// Unit that is counted.
    pub(crate) unit: String,
    /// Value of the counter.
    pub(crate) value: Quantity,
    /// When it resets.
    pub(crate) period: String,
    #[serde(flatten)]
    pub(crate) clock: Option<ClockBody>,
    /// When it resets; null where it does not.
    pub(crate) resets_at_ms: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Limit")]
pub(crate) struct LimitBody {
    /// Id of the limit.
    pub(crate) limit: String,
    /// Null where it counts open sessions.
    pub(crate) unit: Option<String>,
    /// Null where it counts all of the unit.
    pub(crate) item: Option<Key>,
    /// Units in the period or the span, or sessions that may be open.
    pub(crate) amount: Quantity,
    /// Amount of it that was used and still counts.
    pub(crate) used: Quantity,
    /// Amount of it that open sessions hold.
    pub(crate) held: Quantity,
    /// Amount of it that is left.
    pub(crate) left: Quantity,
    /// Amount that was used beyond it.
    pub(crate) overrun: Quantity,
    #[serde(flatten)]
    pub(crate) window: WindowBody,
    /// When `used` becomes 0 if nothing more is used; null where it does not.
    pub(crate) resets_at_ms: Option<i64>,
}

/// How long a use counts against a limit: until a period ends, for a rolling span, or until it has drained.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WindowBody {
    /// When it resets, by the clocks of its time zone; absent with rolling_ms and rate_ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) period: Option<String>,
    #[serde(flatten)]
    pub(crate) clock: Option<ClockBody>,
    /// For how long a use counts, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rolling_ms: Option<i64>,
    /// Time in which the amount drains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate_ms: Option<i64>,
    /// Most units that may be used and held at once, where it is not the amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) burst: Option<Quantity>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionRow {
    /// Id of the session.
    pub(crate) session: String,
    /// The version of the session.
    pub(crate) version: i64,
    /// When the session expires without a request.
    pub(crate) deadline_ms: i64,
    /// When the session was opened.
    pub(crate) opened_ms: i64,
    /// When the last request of the session came.
    pub(crate) active_ms: i64,
}

/// Some accounts of the store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AccountList {
    /// Accounts of this step.
    pub(crate) accounts: Vec<AccountRow>,
    /// Where the list goes on; null at its end.
    pub(crate) cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AccountRow {
    /// Id of the account.
    pub(crate) account: String,
    /// The status of the account.
    pub(crate) status: String,
    /// The version of the account.
    pub(crate) version: i64,
}

/// Accounts that have an identity.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundAccounts {
    /// Ids of the accounts.
    pub(crate) accounts: Vec<String>,
    /// There are more accounts than these.
    pub(crate) more: bool,
}

/// Entries of an account in a period, the oldest or the newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Statement")]
pub(crate) struct StatementBody {
    /// Id of the account.
    pub(crate) account: String,
    /// Where the statement goes on; null when it is whole.
    pub(crate) cursor: Option<String>,
    /// False when entries of the period, or after the cursor, are no longer kept.
    pub(crate) complete: bool,
    /// The time of the oldest entry of any account that is kept; null when there is none.
    pub(crate) kept_from_ms: Option<i64>,
    /// Commits that this answer went through, of all accounts of the thread.
    pub(crate) looked: i64,
    /// The time of the last of them; null when there was none.
    pub(crate) reached_ms: Option<i64>,
    /// Entries, in their order.
    pub(crate) entries: Vec<StatementEntry>,
}

/// An event, with the members that docs/events.md lists for it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatementEntry {
    /// No other entry has it.
    pub(crate) position: String,
    /// When it happened, ms of the UNIX epoch.
    pub(crate) time_ms: i64,
    /// Kind of the event: docs/events.md.
    pub(crate) event: String,
    #[serde(flatten)]
    pub(crate) more: BTreeMap<String, StatementMember>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum StatementMember {
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
    pub(crate) sessions: Vec<SessionRow>,
}

/// An open session and its account in one atomic read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenSession {
    /// Id of the session.
    pub(crate) session: String,
    /// The version of the session.
    pub(crate) version: i64,
    /// When the session expires without a request.
    pub(crate) deadline_ms: i64,
    /// When the session was opened.
    pub(crate) opened_ms: i64,
    /// When the last request of the session came.
    pub(crate) active_ms: i64,
    /// How long grants are good for.
    pub(crate) validity_ms: i64,
    /// The supervision time: without a request for so long the session expires.
    pub(crate) tcc_ms: i64,
    /// Treatment of use beyond the balance.
    pub(crate) overrun: String,
    /// The highest request number; null before the first.
    pub(crate) last_request: Option<i64>,
    /// Base64.
    pub(crate) data: String,
    /// Items, with the grant and the use of each.
    pub(crate) items: Vec<OpenItem>,
    /// Account of the session.
    pub(crate) account: AccountBody,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OpenItem {
    /// Key of the item: its rating group, or another name.
    pub(crate) key: Key,
    /// Unit that is counted.
    pub(crate) unit: String,
    /// Units that were granted.
    pub(crate) granted: Quantity,
    /// Units that are held.
    pub(crate) outstanding: Quantity,
    /// Units that were used so far.
    pub(crate) used: Quantity,
    /// Used units that the hold had.
    pub(crate) from_hold: Quantity,
    /// Used units beyond the hold.
    pub(crate) direct: Quantity,
    /// Units that were given back.
    pub(crate) released: Quantity,
    /// Units that were used and could not be debited.
    pub(crate) uncollected: Quantity,
    /// What its last request for units got: `granted`, `final` (nothing else was left), `final_held` (other items held the
    /// rest) or `denied`.
    pub(crate) standing: &'static str,
}

/// Balances and a page of open holds in one atomic read.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Holds")]
pub(crate) struct HoldsBody {
    /// The version of the account. The pages of one version together have every hold.
    pub(crate) version: i64,
    /// Balances of the buckets.
    pub(crate) buckets: Vec<BalanceBody>,
    /// Holds of the sessions of the page.
    pub(crate) holds: Vec<HoldBody>,
    /// That of the next page; null on the last one.
    pub(crate) cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Balance")]
pub(crate) struct BalanceBody {
    /// Id of the bucket.
    pub(crate) bucket: String,
    /// Unit that is counted.
    pub(crate) unit: String,
    /// Amount that can be debited or held.
    pub(crate) available: Quantity,
    /// Amount that open sessions hold.
    pub(crate) held: Quantity,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Hold")]
pub(crate) struct HoldBody {
    /// Id of the session.
    pub(crate) session: String,
    /// Key of the item: its rating group, or another name.
    pub(crate) key: Key,
    /// Unit that is counted.
    pub(crate) unit: String,
    /// Id of the bucket.
    pub(crate) bucket: String,
    /// Amount that is held.
    pub(crate) amount: Quantity,
    /// When the session expires without a request.
    pub(crate) deadline_ms: i64,
    /// When the session was opened.
    pub(crate) opened_ms: i64,
    /// When the last request of the session came.
    pub(crate) active_ms: i64,
}

/// What is remembered of a transaction.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Transaction")]
pub(crate) struct TransactionBody {
    /// `OK`, or that of the denial.
    pub(crate) code: &'static str,
    /// The version of the account in the answer.
    pub(crate) version: i64,
    /// The amount in the answer.
    pub(crate) amount: Quantity,
    #[serde(flatten)]
    pub(crate) why: Why,
    /// When the transaction is forgotten.
    pub(crate) forget_at_ms: i64,
    /// The parts of a debit.
    pub(crate) parts: Vec<PartBody>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DebitPart")]
pub(crate) struct PartBody {
    /// Id of the bucket; null where it was removed.
    pub(crate) bucket: Option<String>,
    /// Unit of the bucket; null where it was removed.
    pub(crate) unit: Option<String>,
    /// Amount that was debited.
    pub(crate) amount: Quantity,
    /// Amount that was refunded since.
    pub(crate) refunded: Quantity,
    /// Key of the item; null for a debit without items.
    pub(crate) item: Option<Key>,
}

/// The conservation totals of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Audit {
    /// The invariants hold.
    pub(crate) ok: bool,
    /// The version of the account.
    pub(crate) version: i64,
    /// Totals of each bucket.
    pub(crate) buckets: Vec<BucketTotals>,
    /// Use that could not be debited, by unit.
    pub(crate) uncollected: Vec<Uncollected>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BucketTotals {
    /// Id of the bucket.
    pub(crate) bucket: String,
    /// Unit that is counted.
    pub(crate) unit: String,
    /// Amount that can be debited or held.
    pub(crate) available: Quantity,
    /// Amount that open sessions hold.
    pub(crate) held: Quantity,
    /// Units that came in.
    pub(crate) credited: Quantity,
    /// Units that came back.
    pub(crate) refunded: Quantity,
    /// Units that were debited.
    pub(crate) consumed: Quantity,
    /// Units that went with the end of a validity or period.
    pub(crate) expired: Quantity,
    /// Units that were taken out by a correction.
    pub(crate) voided: Quantity,
    /// Units that are owed below 0.
    pub(crate) overdrawn: Quantity,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Uncollected {
    /// Unit that is counted.
    pub(crate) unit: String,
    /// Units of it.
    pub(crate) amount: Quantity,
}
