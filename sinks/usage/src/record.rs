//! A usage record.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was used: by a session, or by a command without one. Amounts are minor units. docs/ship.md has the meaning of the
/// fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRecord {
    /// Position of the event that ended it, the same each time when it is read.
    pub id: String,
    /// The store, 16 hexadecimal digits.
    pub store: String,
    /// What the record is of.
    pub kind: Kind,
    /// Account id.
    pub account: String,
    /// Identities of the account by their kinds, at the end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub identities: BTreeMap<String, String>,
    /// Session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Transaction id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// Session-Id of Diameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter_session_id: Option<String>,
    /// chargingId of Nchf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nchf_charging_id: Option<String>,
    /// DATA of the session, base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// When the session began, date of RFC 3339. None if that was before the first event that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<String>,
    /// When the period began that the record is of, if it is not the first of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When the session, its period or the command ended.
    pub closed: String,
    /// How the session ended. None for a period of an open one, and without a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Ending>,
    /// Number of the record among those of its session, from 1, and whether another one follows.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u32,
    /// Whether all events of the session were read.
    pub complete: bool,
    /// What was used and granted, by item and unit.
    pub items: Vec<ItemUsage>,
}

/// What a usage record is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A session that has ended, since its begin or its last period.
    #[default]
    Session,
    /// A period of a session that is open.
    Period,
    /// A debit without a session.
    Debit,
    /// A refund of a debit: its amounts were given back.
    Refund,
    /// Use that was reported after its session had ended.
    LateUse,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Its client ended it: TERMINATE.
    Terminated,
    /// A request was denied and the session ended with it.
    Denied,
    /// It was released: RELEASE.
    Released,
    /// Its client fell silent.
    Expired,
    /// It was a transfer, which the payee refused.
    Returned,
    /// Everything was removed, or the account was replaced by a copy from another store.
    Aborted,
}

/// Use of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemUsage {
    /// Key of the item. None for a command without items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Unit of the amounts.
    pub unit: String,
    /// Amount that was debited, from all buckets.
    pub used: i64,
    /// Amount that was granted.
    pub granted: i64,
    /// Amount that was used and could not be debited.
    pub uncollected: i64,
    /// Requests for units of the item that were denied.
    #[serde(default, skip_serializing_if = "is_none")]
    pub denied: u32,
    /// Amounts by bucket.
    pub buckets: Vec<BucketUsage>,
}

/// Use of one item from one bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketUsage {
    /// Name of the bucket; empty if the commit that used it removed it.
    pub bucket: String,
    /// Number of the bucket, never reused in the account.
    pub bucket_no: u32,
    /// Amount that was debited, or given back by a refund.
    pub used: i64,
    /// Amount that was granted.
    pub granted: i64,
}

fn is_first(part: &u32) -> bool {
    *part <= 1
}

fn is_none(count: &u32) -> bool {
    *count == 0
}
