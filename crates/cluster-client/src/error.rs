//! Errors of requests to a store.

use redis::RedisError;
use thiserror::Error;

/// Why a request to a store failed.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The text is not an address.
    #[error("{0:?} is no address: write HOST:PORT")]
    Address(String),
    /// No server replies at the address, or it does not speak the protocol.
    #[error("no server answers at {0}: is it running there, and is the password right? ({1})")]
    Unreachable(String, RedisError),
    /// A command failed in transit, or the server refused it. A write may have been executed.
    #[error("{0}: {1}")]
    Failed(String, RedisError),
    /// A reply does not have the shape of the command's replies.
    #[error("{0} answers {1} with something else: it is no server that this program knows")]
    Foreign(String, &'static str),
    /// A node does not know SCUR.TOTALS, or replies with another shape.
    #[error("{0} does not show its totals: is it a scurry?")]
    Totals(String),
    /// The key was redirected too often.
    #[error("the owner of the key changes again and again: wait until no slots are moved")]
    Moving,
}
