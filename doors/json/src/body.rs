//! The bodies of requests. `build.rs` makes commands from them.

use crate::quantity::{Amount, SignedAmount};
use crate::text::{
    AccountId, Begin, DebtRule, FirstStatus, Id, Key, Name, Period, Recurring, Status, Zone,
};
use schemars::JsonSchema;
use scurry_ledger::{BUCKET_KEYS_MAX, BUCKETS_MAX, ITEMS_MAX, Span};
use scurry_resp::IDENTITIES_MAX;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An account that is created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountCreation {
    /// `active` unless told otherwise.
    pub(crate) status: Option<FirstStatus>,
    /// Kind to value, as `{"msisdn": "491701234567"}`; attributes, not lookup keys.
    #[serde(default)]
    #[schemars(extend("maxProperties" = IDENTITIES_MAX, "x-scurry-limit" = "identities_max"))]
    pub(crate) identities: BTreeMap<Name, Id>,
    /// The first buckets with their first credit, each under another id.
    #[serde(default)]
    #[schemars(length(max = BUCKETS_MAX), extend("x-scurry-limit" = "buckets_max"))]
    pub(crate) buckets: Vec<BucketCreation>,
}

/// A bucket of a new account.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketCreation {
    /// Id of the bucket.
    pub(crate) bucket: Name,
    /// Unit that is counted: cent, octet, second, token.
    pub(crate) unit: Name,
    /// First credit of the bucket.
    pub(crate) amount: Amount<0>,
    /// Lower ones burn first.
    pub(crate) priority: Option<i32>,
    /// When the bucket begins to count, ms of the UNIX epoch.
    pub(crate) valid_from_ms: Option<i64>,
    /// After `valid_from_ms`, and not past.
    pub(crate) valid_to_ms: Option<i64>,
    /// 0 or less: minus the credit limit.
    pub(crate) floor: Option<Amount<{ i64::MIN }, 0>>,
    /// Less than this available makes the event `below-mark`.
    pub(crate) mark: Option<Amount<{ i64::MIN }>>,
    /// Refills the bucket when a period begins: to its first credit unless told otherwise.
    pub(crate) allowance: Option<Allowance>,
    /// Keys of the items that the bucket is for; without any it is for all.
    #[serde(default)]
    #[schemars(length(max = BUCKET_KEYS_MAX))]
    pub(crate) items: Vec<Key>,
}

/// Recurring credit of a bucket: the rest expires when a period begins.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowance {
    /// When the bucket is refilled.
    pub(crate) period: Recurring,
    /// Minutes by which the clocks of the time zone are ahead of UTC.
    #[schemars(range(min = -840, max = 840))]
    pub(crate) offset_minutes: Option<i16>,
    /// Time zone of the periods; without offset_minutes.
    pub(crate) zone: Option<Zone>,
    /// Hour 0 to 23 of a day, weekday 1 (Monday) to 7, or day 1 to 31 of a month, quarter or year, at which a period
    /// begins: 31 is the last day of a shorter month.
    #[schemars(range(min = 0, max = 31))]
    pub(crate) begin: Option<u8>,
    /// Amount of the bucket when a period begins.
    pub(crate) amount: Option<Amount<1>>,
    /// Most units that stay when a period ends; 0 unless told otherwise.
    pub(crate) rollover: Option<Amount<0>>,
    /// What a refill does with a debt; `net` unless told otherwise.
    pub(crate) debt: Option<DebtRule>,
}

/// The status of an account, and identities to set or, with null, to remove.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusChange {
    /// closed is final.
    pub(crate) status: Status,
    /// Kind to value; null removes the identity.
    #[serde(default)]
    pub(crate) identities: BTreeMap<Name, Option<Id>>,
}

/// Credit for a bucket.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopUp {
    /// Id of the bucket.
    pub(crate) bucket: Name,
    /// Units that come in.
    pub(crate) amount: Amount<1>,
    /// Creates the bucket where there is none.
    pub(crate) unit: Option<Name>,
    /// Lower ones burn first.
    pub(crate) priority: Option<i32>,
    /// When the bucket begins to count, ms of the UNIX epoch.
    pub(crate) valid_from_ms: Option<i64>,
    /// After `valid_from_ms`, and not past. null: no end.
    #[serde(default, deserialize_with = "present")]
    pub(crate) valid_to_ms: Option<Option<i64>>,
    /// 0 or less: minus the credit limit.
    pub(crate) floor: Option<Amount<{ i64::MIN }, 0>>,
    /// Less than this available makes the event `below-mark`.
    pub(crate) mark: Option<Amount<{ i64::MIN }>>,
    /// Of a bucket that is created by this.
    pub(crate) allowance: Option<Allowance>,
    /// Keys of the items that a bucket created by this is for; without any it is for all.
    #[serde(default)]
    #[schemars(length(max = BUCKET_KEYS_MAX))]
    pub(crate) items: Vec<Key>,
}

/// A correction of a bucket; below 0 it voids.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adjustment {
    /// Id of the bucket.
    pub(crate) bucket: Name,
    /// Of any sign, and not 0.
    pub(crate) amount: SignedAmount,
}

/// Changes of a bucket: at least one of these.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = {}, "then" = any_of(something_of(
    &["priority", "valid_from_ms", "floor", "items"], &["valid_to_ms", "mark", "allowance"],
))))]
pub(crate) struct BucketChange {
    /// Lower ones burn first.
    pub(crate) priority: Option<i32>,
    /// When the bucket begins to count, ms of the UNIX epoch.
    pub(crate) valid_from_ms: Option<i64>,
    /// After `valid_from_ms`, and not past. null: no end.
    #[serde(default, deserialize_with = "present")]
    pub(crate) valid_to_ms: Option<Option<i64>>,
    /// 0 or less: minus the credit limit.
    pub(crate) floor: Option<Amount<{ i64::MIN }, 0>>,
    /// Less than this available makes the event `below-mark`. null: the bucket has no mark.
    #[serde(default, deserialize_with = "present")]
    pub(crate) mark: Option<Option<Amount<{ i64::MIN }>>>,
    /// Members that are left out stay as they are. null: the bucket is not refilled any more.
    #[serde(default, deserialize_with = "present")]
    pub(crate) allowance: Option<Option<Allowance>>,
    /// Keys of the items that the bucket is for from now on. []: it is for all.
    #[schemars(length(max = BUCKET_KEYS_MAX))]
    pub(crate) items: Option<Vec<Key>>,
}

/// A direct debit, all or nothing: of `unit` and `amount`, or of `items`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = {}, "then" = any_of(json!([
    these_and_not(&["unit", "amount"], &["items"]),
    these_and_not(&["items"], &["unit", "amount"]),
]))))]
pub(crate) struct Debit {
    /// Unit of the amount; not beside `items`.
    pub(crate) unit: Option<Name>,
    /// Amount that is debited; not beside `items`.
    pub(crate) amount: Option<Amount<1>>,
    /// Each with another key or unit.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    pub(crate) items: Option<Vec<ItemAmount>>,
}

/// A transfer to another account. The Idempotency-Key is its id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transfer {
    /// Unit of the amount.
    pub(crate) unit: Name,
    /// Amount that is taken from the account.
    pub(crate) amount: Amount<1>,
    /// Account that gets it.
    pub(crate) payee: AccountId,
    /// Bucket of the payee, which is created if there is none.
    pub(crate) bucket: Name,
}

/// An amount of one item.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemAmount {
    /// Key of the item: its rating group, or another name.
    pub(crate) key: Key,
    /// Unit that is counted.
    pub(crate) unit: Name,
    /// Amount that is debited or goes back of it.
    pub(crate) amount: Amount<1>,
}

/// A refund of a debit that is still remembered.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = {}, "then" = any_of(json!([
    these_and_not(&[], &["items"]),
    these_and_not(&[], &["amount"]),
]))))]
pub(crate) struct Refund {
    /// The Idempotency-Key of the debit.
    pub(crate) debit: Id,
    /// All that is left of it unless told otherwise. Of a debit of items, name the items.
    pub(crate) amount: Option<Amount<1>>,
    /// Items of the debit, and what goes back of each; without `amount`.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    pub(crate) items: Option<Vec<ItemAmount>>,
    /// Whether what was debited in an ended period of an allowance is credited to the present one, in addition to its
    /// amount. Without it that expires, but for the debt that it makes good.
    #[serde(default)]
    pub(crate) carry: bool,
}

/// An addition to a counter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Count {
    /// Amount that is added, of any sign.
    pub(crate) amount: Amount<{ i64::MIN }>,
    /// Of a counter that is made by this; `events` unless told otherwise.
    pub(crate) unit: Option<Name>,
    /// When a counter that this creates resets.
    pub(crate) period: Option<Period>,
    /// Minutes by which the clocks of the time zone are ahead of UTC; with a period.
    #[schemars(range(min = -840, max = 840))]
    pub(crate) offset_minutes: Option<i16>,
    /// Time zone of the periods; without offset_minutes.
    pub(crate) zone: Option<Zone>,
    /// Hour 0 to 23 of a day, weekday 1 (Monday) to 7, or day 1 to 31 of a month, quarter or year, at which a period
    /// begins: 31 is the last day of a shorter month. With first-use it begins with the first use after the last one
    /// ended, and lasts for its length; without zone and offset_minutes.
    pub(crate) begin: Option<Begin>,
}

/// A limit of what may be used of a unit in a period, or of open sessions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("dependentRequired" = {
    "item": ["unit"], "period": ["unit"], "offset_minutes": ["unit"], "zone": ["unit"],
    "begin": ["unit"], "rolling_ms": ["unit"], "rate_ms": ["unit"], "burst": ["rate_ms"],
}))]
pub(crate) struct LimitSetting {
    /// Units of it count; open sessions where there is none.
    pub(crate) unit: Option<Name>,
    /// Key of the only item whose units count.
    pub(crate) item: Option<Key>,
    /// Units in the period or the span, or sessions that may be open.
    pub(crate) amount: Amount<0>,
    /// Of a new limit none, else as it is, unless told otherwise.
    pub(crate) period: Option<Period>,
    /// Minutes by which the clocks of the time zone are ahead of UTC, 0 for a new limit.
    #[schemars(range(min = -840, max = 840))]
    pub(crate) offset_minutes: Option<i16>,
    /// Time zone of the periods; without offset_minutes.
    pub(crate) zone: Option<Zone>,
    /// Hour 0 to 23 of a day, weekday 1 (Monday) to 7, or day 1 to 31 of a month, quarter or year, at which a period
    /// begins: 31 is the last day of a shorter month. With first-use it begins with the first use after the last one
    /// ended, and lasts for its length; without zone and offset_minutes.
    pub(crate) begin: Option<Begin>,
    /// Each use counts for so long, and at most a thirtieth longer; without period, offset_minutes, zone and begin.
    pub(crate) rolling_ms: Option<Amount<{ Span::MS_MIN }, { Span::MS_MAX }>>,
    /// The amount drains in this time, evenly; without period, offset_minutes, zone, begin and rolling_ms.
    pub(crate) rate_ms: Option<Amount<{ Span::MS_MIN }, { Span::MS_MAX }>>,
    /// Most units that may be used and held at once, the amount unless given; with rate_ms.
    pub(crate) burst: Option<Amount<1>>,
}

/// Returns the JSON Schema keywords for at most `len_max` bytes as base64 with padding.
pub(crate) fn base64_of(len_max: u64) -> Map<String, Value> {
    let group = "([A-Za-z0-9+/]{4})";
    // One byte ends in two padding characters, two bytes in one. The bits that do not belong to the bytes are 0, which
    // limits the last character.
    let (one, two) = ("[A-Za-z0-9+/][AQgw]==", "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=");
    let (groups, rest) = (len_max / 3, len_max % 3);
    let mut whole = vec![format!("{group}{{0,{groups}}}")];
    if groups > 0 {
        whole.push(format!("{group}{{0,{}}}({one}|{two})", groups - 1));
    }
    match rest {
        0 => {}
        1 => whole.push(format!("{group}{{{groups}}}{one}")),
        _ => whole.push(format!("{group}{{{groups}}}({one}|{two})")),
    }
    let pattern = format!("^({})$", whole.join("|"));
    let len_max = len_max.div_ceil(3) * 4;
    Map::from_iter([
        ("maxLength".to_owned(), len_max.into()),
        ("pattern".to_owned(), pattern.into()),
    ])
}

/// Returns rules between the members of a body, for the `then` of an `if` that always holds. A plain `anyOf` beside
/// members makes client generators generate a type for each branch; they ignore this form.
pub(crate) fn any_of(rules: Value) -> Value {
    json!({ "anyOf": rules })
}

/// Returns the rule that at least one of `members` is given and not null, or one of `or_null` is given, which may be
/// null.
pub(crate) fn something_of(members: &[&str], or_null: &[&str]) -> Value {
    let some = members.iter().map(|member| {
        let there = json!({ "not": { "type": "null" } });
        json!({ "required": [member], "properties": { *member: there } })
    });
    some.chain(or_null.iter().map(|member| json!({ "required": [member] }))).collect()
}

/// Returns the rule that all of `these` are given and not null, and that each of `those` is missing or null.
fn these_and_not(these: &[&str], those: &[&str]) -> Value {
    let there = these.iter().map(|member| (*member, json!({ "not": { "type": "null" } })));
    let absent = those.iter().map(|member| (*member, json!({ "type": "null" })));
    let properties: BTreeMap<&str, Value> = there.chain(absent).collect();
    json!({ "required": these, "properties": properties })
}

/// Deserializes null as `Some(None)`, so that it differs from a missing member.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
