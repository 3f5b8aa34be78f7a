//! What a shard answers.

use scurry_ledger::{Answer, Rejection};

/// The outcome of a command to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was carried out or denied, now or before.
    Answer {
        /// The answer.
        answer: Answer,
        /// True for a duplicate's stored answer.
        replayed: bool,
    },
    /// It was refused.
    Reject(Rejection),
    /// The key holds a plain value.
    WrongType,
    /// The shard has no memory left for it.
    OutOfMemory,
}

/// Why an account cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// Nothing is at the key.
    UnknownAccount,
    /// The key holds a plain value.
    WrongType,
}

/// Why a plain value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The key holds an account.
    WrongType,
    /// The shard has no memory left for it.
    OutOfMemory,
}

/// The key holds an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType;
