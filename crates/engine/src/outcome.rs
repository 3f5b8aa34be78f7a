//! The results of a shard's operations.

use scurry_codec::UntrustedImageError;
use scurry_ledger::{Answer, ChainRejection, Rejection};
use thiserror::Error;

/// The outcome of a command to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer to a command that was carried out or denied, now or earlier.
    Answer {
        /// The answer.
        answer: Answer,
        /// Whether it is the stored answer to a duplicate.
        replayed: bool,
    },
    /// The command was rejected.
    Reject(Rejection),
    /// The key holds another kind of entry.
    WrongType,
    /// The shard has no memory left for it.
    OutOfMemory,
}

/// The outcome of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainOutcome {
    /// Every command was carried out or denied, now or earlier.
    Answers {
        /// Whether these are the stored answers to duplicates.
        replayed: bool,
    },
    /// The chain was rejected.
    Reject(ChainRejection),
    /// A key holds another kind of entry.
    WrongType {
        /// Index of the link with that key, from 0.
        link: usize,
    },
    /// The shard has no memory left for it.
    OutOfMemory,
}

/// Why an account cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The key does not exist.
    #[error("no account has this id: create it")]
    UnknownAccount,
    /// The key holds another kind of entry.
    #[error("the key holds no account: use another id")]
    WrongType,
}

/// Why an account of another store is not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// An account with this id already exists.
    #[error("an account of this id exists: replace it by REPLACE, or load into an empty store")]
    Exists,
    /// The key holds another kind of entry.
    #[error("the key holds no account: use another id")]
    WrongType,
    /// Another account has one of its identities, of a unique kind.
    #[error("another account has an identity of this one: find it with SCUR.FIND")]
    IdentityExists,
    /// The shard has no memory left for it.
    #[error("the shard is full: delete something or raise the memory limit")]
    OutOfMemory,
    /// A transfer of or to the account, or to the one that it would replace, is under way.
    #[error("a transfer of or to the account is under way: try again when it has been concluded")]
    Transfer,
    /// The bytes are not a valid image.
    #[error("{0}: dump it again, from a store whose audit holds")]
    Image(UntrustedImageError),
}

/// Why a plain value or an entity cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The key holds another kind of entry, or the tombstone of an entity.
    #[error("the key holds another kind of value: use another key")]
    WrongType,
    /// The shard has no memory left for it.
    #[error("the shard is full: delete something or raise the memory limit")]
    OutOfMemory,
    /// The key is longer than [`crate::KEY_LEN_MAX`] bytes.
    #[error("the key is longer than 65535 bytes: use a shorter one")]
    KeyTooLong,
    /// The value is longer than [`crate::VALUE_LEN_MAX`] bytes.
    #[error("the value is longer than 4294967295 bytes: divide it")]
    ValueTooLong,
    /// The version is too far ahead of this shard's clock.
    #[error("the version lies too far ahead of the clock: check the clocks of the writers")]
    VersionAhead,
}

/// The key holds another kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the key holds another kind of value: use another key")]
pub struct WrongType;

/// Entities cannot be found by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("entities are not indexed by value: set entity_index")]
pub struct NoIndex;
