//! The store behind a door: a [`Service`] for requests on accounts, and commands in words for what is about the store as
//! a whole.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::Value;
use scurry_service::{CallError, Service};

/// A store at an address, or the cores of this process. An error of RESP is a [`Value::ServerError`]: the store has
/// refused the command, and nothing was done.
pub(crate) trait Store: Service {
    /// Executes one command that changes nothing: its name, its key where it has one, and its further arguments.
    fn execute<'a>(&'a self, arguments: &'a [Vec<u8>]) -> BoxFuture<'a, Result<Value, CallError>>;

    /// Executes one command that reads and has no key on every server of the store, each of which answers
    /// for itself alone. Returns their replies; one that is not there is an error.
    fn execute_everywhere<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Vec<Value>, CallError>> {
        async move { Ok(vec![self.execute(arguments).await?]) }.boxed()
    }

    /// Executes one command that reads and has no key on one server of the store: the one of this number in an
    /// order that stays as long as the servers do. Returns its reply, and whether it is the last server; none where
    /// there are fewer.
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
