//! The results of `decide`: decisions, rejections and answers.

use crate::{Cause, Change, Code, Time};
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

    /// Returns when the limits that denied leave enough, the last of them, if nothing else changes; `None` if nothing
    /// was denied, or if the passing of time alone does not help.
    pub fn allowed_at(&self) -> Option<Time> {
        match self {
            Answer::Session { items, .. } => {
                let mut denied = items.iter().filter(|item| item.cause != Cause::None);
                denied
                    .try_fold(None, |last, item| Some(last.max(Some(item.cause.allowed_at()?))))?
            }
            _ => self.cause().allowed_at(),
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
    /// Final-Unit-Indication: whether credit or a limit gave less than was requested, and who has the rest.
    pub last: Final,
    /// Use reported by this request that could not be debited.
    pub uncollected: i64,
    /// Cause of a denial.
    pub cause: Cause,
}

impl ItemAnswer {
    /// Returns the answer to an item that was settled and granted nothing.
    pub(crate) fn settled(uncollected: i64) -> ItemAnswer {
        ItemAnswer { code: Code::Ok, granted: 0, last: Final::No, uncollected, cause: Cause::None }
    }

    /// Returns the answer to a denied item.
    pub(crate) fn denied(code: Code, cause: Cause, last: Final) -> ItemAnswer {
        ItemAnswer { code, granted: 0, last, uncollected: 0, cause }
    }
}

/// Whether a grant is less than was requested, by credit or by a limit, and what is left beside it. The numbers are
/// those of the wire and of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Final {
    /// It is what was requested, or nothing was requested. Also of a denial that is not for lack of credit.
    #[default]
    No = 0,
    /// Nothing is left but this.
    Last = 1,
    /// More would be granted if other items held nothing.
    Held = 2,
}

impl Final {
    /// Returns the value of a number on the wire.
    pub const fn from_number(number: i64) -> Option<Final> {
        match number {
            0 => Some(Final::No),
            1 => Some(Final::Last),
            2 => Some(Final::Held),
            _ => None,
        }
    }
}
