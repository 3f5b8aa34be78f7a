//! How a command is spread over the cores of a server, and how the replies become one.

/// Ways to execute a command whose keys may be on several cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// One core answers: that of the first key, or without a key that of the connection.
    One,
    /// The core of each key answers with an array for that key; the reply is one array in the order of the keys.
    Elements,
    /// The core of each key counts; the reply is the sum.
    Sum,
    /// The core of each key does its part; the reply is the first error, else OK.
    Success,
    /// Every core counts; the reply is the sum.
    EverySum,
    /// Every core lists the accounts that it finds; the reply is one list of all of them.
    EveryFound,
    /// Every core lists keys; the reply is the first error, else one list of all keys.
    EveryKeys,
    /// Every core executes it; the reply is the first error, else OK.
    EverySuccess,
    /// The connection executes it itself: it is part of a transaction.
    Connection,
    /// The core of the key has its log read on another thread, and the reply comes from there.
    Log,
    /// The server has its own code for it: a cursor holds its position, or it collects reports of every core.
    Special,
}

impl Spread {
    /// Reports whether every core executes it, whatever its keys.
    pub const fn is_every(self) -> bool {
        matches!(
            self,
            Spread::EverySum | Spread::EveryFound | Spread::EveryKeys | Spread::EverySuccess
        )
    }

    /// Returns the tips of COMMAND INFO for clients that spread commands over nodes by themselves.
    pub const fn tips(self) -> &'static [&'static str] {
        match self {
            Spread::One | Spread::Connection | Spread::Log => &[],
            Spread::Elements => &["request_policy:multi_shard"],
            Spread::Sum => &["request_policy:multi_shard", "response_policy:agg_sum"],
            Spread::Success => &["request_policy:multi_shard", "response_policy:all_succeeded"],
            Spread::EverySum => &["request_policy:all_shards", "response_policy:agg_sum"],
            Spread::EveryFound => &["request_policy:all_shards", "response_policy:special"],
            // As Valkey declares for KEYS: clients concatenate lists by themselves.
            Spread::EveryKeys => &["request_policy:all_shards", "nondeterministic_output_order"],
            Spread::EverySuccess => &["request_policy:all_shards", "response_policy:all_succeeded"],
            Spread::Special => &["request_policy:special", "response_policy:special"],
        }
    }
}
