//! Histories of shared keys: the calls of the clients, their times and results. testing/linearizability reads them.

use serde::Serialize;
use std::collections::BTreeMap;

/// One call.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Call {
    pub(crate) client: usize,
    /// Time of the call, ns.
    pub(crate) call: i64,
    /// Time of the return, ns. Without a result: a time when the server had certainly ended.
    pub(crate) end: i64,
    #[serde(flatten)]
    pub(crate) link: Link,
    /// None if no reply arrived: the call was executed before `end`, or never.
    pub(crate) result: Option<Outcome>,
}

/// An act on an account.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    /// Number of the account in its hash slot. 0 for other keys.
    pub(crate) account: usize,
    #[serde(flatten)]
    pub(crate) act: ClientAct,
}

/// An act of a client.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum ClientAct {
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

/// Outcome of a call. Fields that a kind of call lacks are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Outcome {
    /// Result code, or the name of the error.
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
    /// Use of the account's limit, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<i64>,
    /// For a chain: the number of the denied command, and the outcomes of all commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) denied: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<Outcome>,
    /// Value of a register. Absent if the register is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
}

/// Calls on one key, or on the accounts of one hash slot.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct History {
    /// `account` or `register`.
    pub(crate) kind: &'static str,
    /// Number of accounts in the hash slot.
    pub(crate) accounts: usize,
    /// First credit of an account.
    pub(crate) credit: i64,
    pub(crate) calls: Vec<Call>,
}

/// Histories by key.
pub(crate) type Histories = BTreeMap<String, History>;
