//! What `decide` says.

use crate::{Change, Code};
use smallvec::SmallVec;

/// The outcome of one command on one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A duplicate: the stored answer. Nothing changes.
    Replay(Answer),
    /// A refusal: nothing changes, nothing is stored.
    Reject(Rejection),
    /// The Change to log, replicate and apply, and the answer to send once it is durable.
    Commit(Change, Answer),
}

/// A refusal, with what to tell the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Its code, of kind [`crate::CodeKind::Reject`].
    pub code: Code,
    /// Lower case, what happened, what to do.
    pub why: &'static str,
}

/// The answer to a command that was committed, now or before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To CREATE, STATUS, DELETE.
    Account {
        /// OK.
        code: Code,
        /// The account's version afterwards.
        version: u64,
    },
    /// To commands with a transaction id.
    Amount {
        /// OK or a denial.
        code: Code,
        /// The account's version after the first execution.
        version: u64,
        /// What docs/ledger.md section 12 says for the command, minor units.
        amount: i64,
    },
    /// To RESERVE, UPDATE, TERMINATE, RELEASE.
    Session {
        /// OK or a denial.
        code: Code,
        /// The session's version afterwards; 0 when it is not open afterwards.
        version: u64,
        /// One per item of the request, in its order.
        items: ItemAnswers,
    },
}

/// The answers to the items of a request, in its order. Most requests have one item.
pub type ItemAnswers = SmallVec<[ItemAnswer; 1]>;

/// The answer to one item of a request; the item's key is that of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAnswer {
    /// OK or a denial.
    pub code: Code,
    /// Granted-Service-Unit, minor units.
    pub granted: i64,
    /// Final-Unit-Indication: less was granted than requested.
    pub last: bool,
    /// Use of this request that could not be debited.
    pub uncollected: i64,
}
