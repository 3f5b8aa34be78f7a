//! Why a store cannot be asked.

use redis::RedisError;
use thiserror::Error;

/// Why a store cannot be asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Text that is no address.
    #[error("{0:?} is no address: write HOST:PORT")]
    Address(String),
    /// Nobody answers there, or not as a server does.
    #[error("no server answers at {0}: is it running there, and is the password right? ({1})")]
    Unreachable(String, RedisError),
    /// A command failed on its way, or the server refused it. A write may have been done.
    #[error("{0}: {1}")]
    Failed(String, RedisError),
    /// A reply has another shape than its command's.
    #[error("{0} answers {1} with something else: it is no server that this program knows")]
    Foreign(String, &'static str),
    /// A node has no SCUR.TOTALS, or another one.
    #[error("{0} does not show its totals: is it a scurry?")]
    Totals(String),
    /// A key was moved again and again.
    #[error("the owner of the key changes again and again: wait until no slots are moved")]
    Moving,
}
