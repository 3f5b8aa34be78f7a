//! The seam itself.

use crate::{CallError, Reply, Request};
use std::future::Future;
use std::pin::Pin;

/// A reply that is on its way.
pub type Call<'a> = Pin<Box<dyn Future<Output = Result<Reply, CallError>> + Send + 'a>>;

/// A store that carries out requests: the cores of this process, or a server elsewhere.
pub trait Service: Send + Sync + 'static {
    /// Carries out a request, and returns its reply once that is as durable as the store promises. A future that is
    /// dropped gives up the reply, not the request.
    fn call(&self, request: Request) -> Call<'_>;
}
