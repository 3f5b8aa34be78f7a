//! The seam behind the doors: whoever executes one command for one key.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::Value;
use thiserror::Error;

/// Consequence of sending a command once more, when its reply did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// None: the command changes nothing, or has an id or a number by which the store knows it.
    Harmless,
    /// Perhaps another answer than the first one.
    Unclear,
}

/// Executes commands: a store at an address, or whatever else answers as one.
pub trait Service: Send + Sync + 'static {
    /// Executes one command: its name, its key, and its further arguments. The reply may be a
    /// [`Value::ServerError`]: then the store has refused the command, and nothing was done.
    fn execute<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
        repeat: Repeat,
    ) -> BoxFuture<'a, Result<Value, ServiceError>>;

    /// Executes one command that reads and has no key on every server of the store, each of which answers
    /// for itself alone. Their replies; one that is not there is an error.
    fn execute_everywhere<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Vec<Value>, ServiceError>> {
        async move { Ok(vec![self.execute(arguments, Repeat::Harmless).await?]) }.boxed()
    }

    /// Executes one command that reads and has no key on one server of the store: the one of this number in an
    /// order that stays as long as the servers do. Its reply, and whether it is the last one; none where
    /// there are fewer.
    fn execute_on<'a>(
        &'a self,
        server: usize,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Option<(Value, bool)>, ServiceError>> {
        async move {
            match server {
                0 => Ok(Some((self.execute(arguments, Repeat::Harmless).await?, true))),
                _ => Ok(None),
            }
        }
        .boxed()
    }
}

/// Why a command has no reply.
#[derive(Clone, Debug, Error)]
pub enum ServiceError {
    /// A command that was not sent: nothing was done.
    #[error("the store cannot be reached: {0}")]
    NotSent(String),
    /// A command that was sent, and what it did is unknown.
    #[error("the store did not answer: {0}")]
    Unknown(String),
}
