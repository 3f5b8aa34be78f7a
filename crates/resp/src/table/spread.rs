//! Over which cores of a server a command goes, and how their replies become one.

/// Ways to execute a command whose keys may lie on several cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// One core answers: that of the first key, or without a key that of the connection.
    One,
    /// The core of each key answers an array for that key; the reply is one array in the order
    /// of the keys.
    Elements,
    /// The core of each key counts; the reply is the sum.
    Sum,
    /// The core of each key does its part; the reply is the first error, else OK.
    Success,
    /// Every core counts; the reply is the sum.
    EverySum,
    /// Every core lists the accounts that it finds; the reply is one list of them.
    EveryFound,
    /// Every core lists keys; the reply is the first error, else one list of them.
    EveryKeys,
    /// Every core does it; the reply is the first error, else OK.
    EverySuccess,
    /// The connection itself sees to it: it is part of a transaction.
    Connection,
    /// The core of the key has its log read beside, and the reply comes from there.
    Log,
    /// The server knows: its position in a cursor, or reports of every core.
    Special,
}

impl Spread {
    /// True for what every core does, whatever its keys.
    pub const fn is_every(self) -> bool {
        matches!(
            self,
            Spread::EverySum | Spread::EveryFound | Spread::EveryKeys | Spread::EverySuccess
        )
    }

    /// The tips of COMMAND DOCS for clients that spread commands over nodes by themselves.
    pub const fn tips(self) -> &'static [&'static str] {
        match self {
            Spread::One | Spread::Connection | Spread::Log => &[],
            Spread::Elements => &["request_policy:multi_shard"],
            Spread::Sum => &["request_policy:multi_shard", "response_policy:agg_sum"],
            Spread::Success => &["request_policy:multi_shard", "response_policy:all_succeeded"],
            Spread::EverySum => &["request_policy:all_shards", "response_policy:agg_sum"],
            Spread::EveryFound => &["request_policy:all_shards", "response_policy:special"],
            // As Valkey says of KEYS: clients put lists together by themselves.
            Spread::EveryKeys => &["request_policy:all_shards", "nondeterministic_output_order"],
            Spread::EverySuccess => &["request_policy:all_shards", "response_policy:all_succeeded"],
            Spread::Special => &["request_policy:special", "response_policy:special"],
        }
    }
}
