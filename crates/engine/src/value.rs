//! Plain values, as a shard returns and accepts them.

use scurry_ledger::Time;

/// The kind of a key's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// A plain value.
    Value,
    /// An account.
    Account,
    /// A live entity. A deleted one is not listed as a key.
    Entity,
}

/// A plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// The value.
    pub bytes: &'a [u8],
    /// Time from which it is absent, None for never.
    pub expires: Option<Time>,
}

/// Expiry of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expiry {
    /// No expiry.
    #[default]
    Never,
    /// The expiry of the existing value, or never when no value exists.
    Keep,
    /// At this time; when it is not later than now, nothing is stored.
    At(Time),
}

impl Expiry {
    /// Returns the time of expiry, where `stored` is that of the existing value.
    pub(crate) fn time(self, stored: Option<Time>) -> Option<Time> {
        match self {
            Expiry::Never => None,
            Expiry::Keep => stored,
            Expiry::At(time) => Some(time),
        }
    }
}
