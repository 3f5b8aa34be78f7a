//! A stream of NATS JetStream. A flush is one batch, which the stream takes whole, and only at the sequence at which the
//! shipper knows it. So none of its messages is there twice or out of order, however late it arrives, and none is left
//! out. Each message has the positions that are reached with it, so the last one says where to go on.

mod batch;
mod connection;
mod event_text;
mod fault;
mod message;
mod reached;
mod sink;
mod target;

pub use async_nats;
pub use sink::NatsSink;
pub use target::{NatsTarget, TargetError};
