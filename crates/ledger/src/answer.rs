//! What `decide` says.

use crate::{Change, Code};
use core::fmt;
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
    /// Code of the rejection, of kind [`crate::CodeKind::Reject`].
    pub code: Code,
    /// Lower case, what happened, what to do.
    pub why: &'static str,
    /// With BUSY, the bound that is reached.
    pub bound: Option<Bound>,
}

/// A bound of [`crate::Limits`] that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Name of the bound there.
    pub name: &'static str,
    /// Value of the bound.
    pub max: usize,
    /// When the first of what counts to it goes by itself, ms from now; none of what only a command
    /// takes away.
    pub wait_ms: Option<i64>,
}

/// The text behind the code in an error: the bound, as far as there is one, and why.
impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Bound { name, max, wait_ms }) = self.bound {
            write!(f, "{name} {max}")?;
            if let Some(wait_ms) = wait_ms {
                write!(f, ", the first goes in {wait_ms} ms")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(self.why)
    }
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
        /// The amount that docs/ledger.md section 12 says for the command, minor units.
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
