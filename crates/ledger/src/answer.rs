//! The results of `decide`: decisions, rejections, answers and the causes of denials.

use crate::{Change, Code, CodeKind, Name};
use core::fmt;
use smallvec::SmallVec;

/// Outcome of one command on one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Stored answer to a duplicate. Nothing changes.
    Replay(Answer),
    /// Refusal: nothing changes, nothing is stored.
    Reject(Rejection),
    /// Change to log, replicate and apply, and the answer to send once the Change is durable.
    Commit(Change, Answer),
}

/// A refusal, with the details for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Code of the rejection, of kind [`crate::CodeKind::Reject`].
    pub code: Code,
    /// Text in lower case: what happened and what to do.
    pub why: &'static str,
    /// Bound that is reached (BUSY) or exceeded (INVALID).
    pub bound: Option<Bound>,
    /// How long ago the named session expired, ms; `None` for any other refusal, and where the ledger cannot tell.
    pub expired_ms: Option<i64>,
}

/// A bound of [`crate::Limits`] that is reached or exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Name of the field in [`crate::Limits`].
    pub name: &'static str,
    /// Value of the bound.
    pub max: usize,
    /// Milliseconds until the first object that counts towards the bound ends by itself; `None` if only a command can
    /// remove one.
    pub wait_ms: Option<i64>,
}

/// Writes the text that follows the code in an error: the bound, where there is one, and the reason.
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

/// The answer to a command that was committed, now or earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Answer to CREATE, STATUS and DELETE.
    Account {
        /// OK.
        code: Code,
        /// Version of the account after the command.
        version: u64,
    },
    /// Answer to commands with a transaction id.
    Amount {
        /// OK or a denial.
        code: Code,
        /// Version of the account after the first execution.
        version: u64,
        /// Amount that docs/ledger.md section 12 defines for the command, minor units.
        amount: i64,
        /// Cause of a denial.
        cause: Cause,
    },
    /// Answer to RESERVE, UPDATE, TERMINATE and RELEASE.
    Session {
        /// OK or a denial.
        code: Code,
        /// Version of the session after the command; 0 if it is not open then.
        version: u64,
        /// One answer per item of the request, in the same order. If a limit denies a request without items, one answer
        /// for the whole request, which names the limit.
        items: ItemAnswers,
    },
}

impl Answer {
    /// Returns the code: OK or a denial.
    #[inline]
    pub fn code(&self) -> Code {
        match self {
            Answer::Account { code, .. }
            | Answer::Amount { code, .. }
            | Answer::Session { code, .. } => *code,
        }
    }

    /// Returns the cause of a denial; for a session that of the first denied item.
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

/// Answers to the items of a request, in the same order. Most requests have one item.
pub type ItemAnswers = SmallVec<[ItemAnswer; 1]>;

/// Answer to one item of a request. It has no key: its position says which item it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemAnswer {
    /// OK or a denial.
    pub code: Code,
    /// Granted-Service-Unit, minor units.
    pub granted: i64,
    /// Final-Unit-Indication: credit or a limit gave less than was requested. Not set by any other denial.
    pub last: bool,
    /// Use reported by this request that could not be debited.
    pub uncollected: i64,
    /// Cause of a denial.
    pub cause: Cause,
}

impl ItemAnswer {
    /// Returns the answer to an item that was settled and granted nothing.
    pub(crate) fn settled(uncollected: i64) -> ItemAnswer {
        ItemAnswer { code: Code::Ok, granted: 0, last: false, uncollected, cause: Cause::None }
    }

    /// Returns the answer to a denied item.
    pub(crate) fn denied(code: Code, cause: Cause) -> ItemAnswer {
        let last = code == Code::CreditLimitReached;
        ItemAnswer { code, granted: 0, last, uncollected: 0, cause }
    }
}

/// Cause of a denial, where it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No denial.
    None,
    /// Denial stored by an earlier version, which recorded no cause.
    Untold,
    /// The buckets of the unit have less than the requested amount.
    Balance,
    /// The account has no bucket of the unit, valid or not.
    NoBucket,
    /// A limit of the account was reached: the one with this id.
    Limit(Name),
    /// Another command of the same chain was denied.
    Chain,
    /// The account is suspended or closed.
    Status,
}

impl Cause {
    /// Returns the cause that the code alone implies. Stored answers leave it out.
    pub const fn of(code: Code) -> Cause {
        match (code, code.kind()) {
            (Code::ServiceDenied, _) => Cause::Status,
            (Code::ChainDenied, _) => Cause::Chain,
            (_, CodeKind::Denial) => Cause::Untold,
            (_, CodeKind::Success | CodeKind::Reject) => Cause::None,
        }
    }

    /// Returns the number to store: 0 for the cause that the code alone implies. Persisted: append only.
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

    /// Returns the cause of a stored number; `limit` is the name stored with [`Cause::LIMIT`]. `None` if the number is
    /// not a valid cause for this code, or repeats the one that the code alone implies.
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

    /// Number of [`Cause::Limit`]; the name of the limit is stored with it.
    pub const LIMIT: u8 = 3;

    /// Returns the word on the wire, or `None` if there is no cause to report. The id of a limit follows its word.
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
