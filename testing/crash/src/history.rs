//! What clients saw of a key that they share: calls, returns, results. testing/linearizability
//! reads it.

use serde::Serialize;
use std::collections::BTreeMap;

/// One call.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    /// Who made it.
    pub client: usize,
    /// When it was made, ns.
    pub call: i64,
    /// When it returned, ns. Without a result: when it can no longer be executed.
    pub end: i64,
    /// What was asked.
    #[serde(flatten)]
    pub act: Act,
    /// None when no reply has come: it was executed before `end`, or never.
    pub result: Option<Outcome>,
}

/// What was asked.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
#[expect(missing_docs, reason = "as the commands")]
pub enum Act {
    Set { value: String },
    Del,
    Read,
    Topup { id: String, amount: i64 },
    Debit { id: String, amount: i64 },
    Get,
    Reserve { id: String, number: u32, requested: i64 },
    Update { id: String, number: u32, used: i64, requested: i64 },
    Terminate { id: String, number: u32, used: i64 },
}

/// What came back. What a kind of call does not have stays away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The result code, or the name of the error.
    pub code: String,
    /// Whether a stored answer was given again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<i64>,
    /// Of the account or session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Granted, or left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// By sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<i64>,
    /// Whether it is the last grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<i64>,
    /// Of a register; absent when it holds nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// The calls of one key.
#[derive(Clone, Debug, Serialize)]
pub struct History {
    /// `account`, `register` or `entity`.
    pub kind: &'static str,
    /// An account's first credit.
    pub credit: i64,
    /// In any order.
    pub calls: Vec<Call>,
}

/// Histories by their keys.
pub type Histories = BTreeMap<String, History>;
