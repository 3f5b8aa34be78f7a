//! The seam behind the doors: whoever executes one command for one key.

use futures_util::future::BoxFuture;
use redis::Value;
use thiserror::Error;

/// Executes commands: a store at an address, or whatever else answers as one.
pub trait Service: Send + Sync + 'static {
    /// Executes one command: its name, its key, and its further arguments. The reply may be a
    /// [`Value::ServerError`]: then the store has refused the command, and nothing was done.
    fn execute<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Value, ServiceError>>;
}

/// Why a command has no reply.
#[derive(Clone, Debug, Error)]
pub enum ServiceError {
    /// It was not sent: nothing was done.
    #[error("the store cannot be reached: {0}")]
    NotSent(String),
    /// It was sent, and what it did is unknown.
    #[error("the store did not answer: {0}")]
    Unknown(String),
}
