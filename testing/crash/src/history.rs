//! What clients saw of a key that they share: calls, returns, results. testing/linearizability
//! reads it.

use serde::Serialize;
use std::collections::BTreeMap;

/// One call.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Call {
    pub(crate) client: usize,
    /// When it was made, ns.
    pub(crate) call: i64,
    /// When it returned, ns. Without a result: when the server that had it was surely gone.
    pub(crate) end: i64,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// None when no reply has come: it was executed before `end`, or never.
    pub(crate) result: Option<Outcome>,
}

/// An act on an account.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    /// Number of the account among those of its hash slot; 0 for other keys.
    pub(crate) account: usize,
    #[serde(flatten)]
    pub(crate) act: Act,
}

/// Acts of a client.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum Act {
    Set { value: String },
    Del,
    Read,
    Topup { id: String, amount: i64 },
    Debit { id: String, amount: i64 },
    Limit { id: String, amount: i64 },
    Get,
    Reserve { id: String, number: u32, requested: i64 },
    Update { id: String, number: u32, used: i64, requested: i64 },
    Terminate { id: String, number: u32, used: i64 },
    Chain { links: Vec<Link> },
}

/// Outcome of a call. What a kind of call does not have stays away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Outcome {
    /// The result code, or the name of the error.
    pub(crate) code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replayed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) amount: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<i64>,
    /// Of the limit of an account, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<i64>,
    /// Of a chain: the number of the command that was denied, and the answers of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) denied: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<Outcome>,
    /// Of a register; absent when it holds nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
}

/// The calls of one key, or of the accounts of one hash slot.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct History {
    /// `account` or `register`.
    pub(crate) kind: &'static str,
    /// How many accounts the hash slot has.
    pub(crate) accounts: usize,
    /// An account's first credit.
    pub(crate) credit: i64,
    pub(crate) calls: Vec<Call>,
}

/// Histories by their keys.
pub(crate) type Histories = BTreeMap<String, History>;
