//! The causes of denials.

use crate::{Code, CodeKind, Name, Time};

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
    /// A limit of the account was reached.
    Limit {
        /// Id of the limit that leaves the least.
        id: Name,
        /// When the request would be allowed, if nothing else changes than that use counts no more; `None` if that does
        /// not help.
        allowed_at: Option<Time>,
    },
    /// The bucket with this id, which the command names, has less than what it takes.
    Bucket(Name),
    /// Another command of the same chain was denied.
    Chain,
    /// The account is suspended or closed.
    Status,
    /// The session has as many items as it may have, and this one is not among them.
    Items,
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
            Cause::None | Cause::Untold | Cause::Chain => {
                debug_assert!(false, "{code:?} says more than {self:?}");
                0
            }
            Cause::Balance => 1,
            Cause::NoBucket => 2,
            Cause::Limit { allowed_at: None, .. } => 3,
            Cause::Items => 4,
            Cause::Status => 5,
            Cause::Bucket(_) => 6,
            Cause::Limit { allowed_at: Some(_), .. } => 7,
        }
    }

    /// Returns the cause of a stored number; `name` and `time` are stored with it, if [`Cause::has_name`] and
    /// [`Cause::has_time`] say so. `None` if the number is not a valid cause for this code, or repeats the one that the
    /// code alone implies.
    pub fn from_number(
        number: u8,
        code: Code,
        name: Option<Name>,
        time: Option<Time>,
    ) -> Option<Cause> {
        let cause = match number {
            0 => return Some(Cause::of(code)),
            1 => Cause::Balance,
            2 => Cause::NoBucket,
            3 => Cause::Limit { id: name?, allowed_at: None },
            4 => Cause::Items,
            5 => Cause::Status,
            6 => Cause::Bucket(name?),
            7 => Cause::Limit { id: name?, allowed_at: Some(time?) },
            _ => return None,
        };
        let is_told = matches!(code.kind(), CodeKind::Denial) && cause != Cause::of(code);
        is_told.then_some(cause)
    }

    /// Reports whether the name of a limit or a bucket is stored with the cause of this number.
    pub const fn has_name(number: u8) -> bool {
        matches!(number, 3 | 6 | 7)
    }

    /// Reports whether a time is stored with the cause of this number, after the name.
    pub const fn has_time(number: u8) -> bool {
        number == 7
    }

    /// Returns the id of the limit or of the bucket that it names.
    pub const fn name(self) -> Option<Name> {
        match self {
            Cause::Limit { id, .. } | Cause::Bucket(id) => Some(id),
            _ => None,
        }
    }

    /// Returns when the limits that denied leave enough; see [`Cause::Limit`].
    pub const fn allowed_at(self) -> Option<Time> {
        match self {
            Cause::Limit { allowed_at, .. } => allowed_at,
            _ => None,
        }
    }

    /// Returns the word on the wire, or `None` if there is no cause to report. An id follows the word of a limit or a
    /// bucket.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Cause::None | Cause::Untold => None,
            Cause::Balance => Some("balance"),
            Cause::NoBucket => Some("no_bucket"),
            Cause::Limit { .. } => Some("limit"),
            Cause::Bucket(_) => Some("bucket"),
            Cause::Chain => Some("chain"),
            Cause::Status => Some("status"),
            Cause::Items => Some("items"),
        }
    }
}
