//! Plain values as a shard shows and takes them.

use scurry_ledger::Time;

/// The kind of a key's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// A plain value.
    Value,
    /// An account.
    Account,
    /// An entity that lives. A deleted one is not shown as a key.
    Entity,
}

/// A plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// The value.
    pub bytes: &'a [u8],
    /// From then on it is absent.
    pub expires: Option<Time>,
}

/// When what is written expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expiry {
    /// No expiry.
    #[default]
    Never,
    /// As what stood there, or never when nothing did.
    Keep,
    /// At this time; a time that is not later than now leaves nothing.
    At(Time),
}

impl Expiry {
    /// The time, where `stored` is that of what stands there.
    pub(crate) fn time(self, stored: Option<Time>) -> Option<Time> {
        match self {
            Expiry::Never => None,
            Expiry::Keep => stored,
            Expiry::At(time) => Some(time),
        }
    }
}
