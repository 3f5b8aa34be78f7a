//! The interface of a door to its store: a [`Service`] for requests on accounts, and commands in words for what
//! concerns the store as a whole.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::Value;
use scurry_service::{CallError, Service};

/// A store at an address, or the cores of this process. An error of RESP is a [`Value::ServerError`]: the store refused
/// the command, and nothing was done.
pub trait Store: Service {
    /// Executes one command that changes nothing: its name, its key if it has one, and its other arguments.
    fn execute<'a>(&'a self, arguments: &'a [Vec<u8>]) -> BoxFuture<'a, Result<Value, CallError>>;

    /// Executes one read without a key on every server of the store, where each server answers for its own data.
    /// Returns their replies; an unreachable server is an error.
    fn execute_everywhere<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Vec<Value>, CallError>> {
        async move { Ok(vec![self.execute(arguments).await?]) }.boxed()
    }

    /// Executes one read without a key on server number `server`, in an order that stays the same as long as the
    /// servers do. Returns its reply and whether it is the last server; None when there are fewer servers.
    fn execute_on<'a>(
        &'a self,
        server: usize,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Option<(Value, bool)>, CallError>> {
        async move {
            match server {
                0 => Ok(Some((self.execute(arguments).await?, true))),
                _ => Ok(None),
            }
        }
        .boxed()
    }
}
