//! The trait that doors call and stores implement.

use crate::{CallError, Events, Follow, Reply, Request, StoreRead, StoreReply};
use std::future::Future;
use std::pin::Pin;

/// The future of a reply. Boxed, so that [`Service`] can be a trait object.
pub type Call<'a> = Pin<Box<dyn Future<Output = Result<Reply, CallError>> + Send + 'a>>;

/// The future of the reply to a read of the whole store.
pub type StoreCall<'a> = Pin<Box<dyn Future<Output = Result<StoreReply, CallError>> + Send + 'a>>;

/// The future of events.
pub type EventsCall<'a> = Pin<Box<dyn Future<Output = Result<Events, CallError>> + Send + 'a>>;

/// A store that carries out requests: the cores of this process, or a server elsewhere.
pub trait Service: Send + Sync + 'static {
    /// Carries out a request, and returns the reply when it is as durable as the store promises. Dropping the future
    /// discards the reply, but does not cancel the request.
    fn call(&self, request: Request) -> Call<'_>;

    /// Carries out a read of the whole store, on each server that has a part of the reply.
    fn read_store(&self, read: StoreRead) -> StoreCall<'_>;

    /// Reads committed events, from a position on.
    fn follow(&self, follow: Follow) -> EventsCall<'_>;
}
