//! What `decide` says.

use crate::{Change, Code, CodeKind, Name};
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
    /// The bound that is reached, with BUSY, or passed, with INVALID.
    pub bound: Option<Bound>,
    /// How long ago the session expired that the command names, ms; none of any other refusal, and where the ledger
    /// cannot tell.
    pub expired_ms: Option<i64>,
}

/// A bound of [`crate::Limits`] that is reached or passed.
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
        if let Some(ms) = self.expired_ms {
            write!(f, "the session expired {}.{} s ago: ", ms / 1_000, ms % 1_000 / 100)?;
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
        /// Cause of a denial.
        cause: Cause,
    },
    /// To RESERVE, UPDATE, TERMINATE, RELEASE.
    Session {
        /// OK or a denial.
        code: Code,
        /// The session's version afterwards; 0 when it is not open afterwards.
        version: u64,
        /// One per item of the request, in its order; where a limit denies a request without items one
        /// for the whole of it, which tells the limit.
        items: ItemAnswers,
    },
}

impl Answer {
    /// OK or a denial.
    #[inline]
    pub fn code(&self) -> Code {
        match self {
            Answer::Account { code, .. }
            | Answer::Amount { code, .. }
            | Answer::Session { code, .. } => *code,
        }
    }

    /// Cause of a denial: of a session the one of its first item that was denied.
    pub fn cause(&self) -> Cause {
        match self {
            Answer::Account { code, .. } => Cause::of(*code),
            Answer::Amount { cause, .. } => *cause,
            Answer::Session { code, items, .. } => {
                let denied = items.iter().find(|item| item.cause != Cause::None);
                denied.map_or(Cause::of(*code), |item| item.cause)
            }
        }
    }
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
    /// Final-Unit-Indication: credit or a limit gave less than was requested; not set by another denial.
    pub last: bool,
    /// Use of this request that could not be debited.
    pub uncollected: i64,
    /// Cause of a denial.
    pub cause: Cause,
}

impl ItemAnswer {
    /// An item that was settled and granted nothing.
    pub(crate) fn settled(uncollected: i64) -> ItemAnswer {
        ItemAnswer { code: Code::Ok, granted: 0, last: false, uncollected, cause: Cause::None }
    }

    /// A denied item.
    pub(crate) fn denied(code: Code, cause: Cause) -> ItemAnswer {
        let last = code == Code::CreditLimitReached;
        ItemAnswer { code, granted: 0, last, uncollected: 0, cause }
    }
}

/// Cause of a denial, as far as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing was denied.
    None,
    /// The denial was stored by an earlier version, which told no cause.
    Untold,
    /// The buckets of the unit have less than what was asked for.
    Balance,
    /// The account has no bucket of the unit, valid or not.
    NoBucket,
    /// A limit of the account was reached, the one with this id.
    Limit(Name),
    /// Another command of the same chain was denied.
    Chain,
    /// The account is suspended or closed.
    Status,
}

impl Cause {
    /// The cause that a code says by itself: stored answers leave it out.
    pub const fn of(code: Code) -> Cause {
        match (code, code.kind()) {
            (Code::ServiceDenied, _) => Cause::Status,
            (Code::ChainDenied, _) => Cause::Chain,
            (_, CodeKind::Denial) => Cause::Untold,
            (_, CodeKind::Success | CodeKind::Reject) => Cause::None,
        }
    }

    /// The number that is stored, 0 for what the code says by itself. Persisted: append only.
    pub fn number(self, code: Code) -> u8 {
        match self {
            cause if cause == Cause::of(code) => 0,
            Cause::None | Cause::Untold => {
                debug_assert!(false, "{code:?} says more than {self:?}");
                0
            }
            Cause::Balance => 1,
            Cause::NoBucket => 2,
            Cause::Limit(_) => 3,
            Cause::Chain => 4,
            Cause::Status => 5,
        }
    }

    /// The cause of a stored number; `limit` is the name that stands with [`Cause::LIMIT`]. None where
    /// it is no cause of this code, or what the code says by itself.
    pub fn from_number(number: u8, code: Code, limit: Option<Name>) -> Option<Cause> {
        let cause = match number {
            0 => return Some(Cause::of(code)),
            1 => Cause::Balance,
            2 => Cause::NoBucket,
            Cause::LIMIT => Cause::Limit(limit?),
            4 => Cause::Chain,
            5 => Cause::Status,
            _ => return None,
        };
        let is_told = matches!(code.kind(), CodeKind::Denial) && cause != Cause::of(code);
        is_told.then_some(cause)
    }

    /// Number of [`Cause::Limit`]: the name of the limit is stored with it.
    pub const LIMIT: u8 = 3;

    /// The word on the wire, where there is something to tell; with a limit its id follows.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Cause::None | Cause::Untold => None,
            Cause::Balance => Some("balance"),
            Cause::NoBucket => Some("no_bucket"),
            Cause::Limit(_) => Some("limit"),
            Cause::Chain => Some("chain"),
            Cause::Status => Some("status"),
        }
    }
}
