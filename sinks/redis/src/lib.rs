//! Streams of Valkey and Redis. Each thread of a store has its stream, `NAME:<thread>`, and the id of an entry is the
//! position of its event. The server refuses an id that is not above the last one, so no event is there twice, and none
//! can come after a later one. The hash `NAME` has the store and the positions that are reached.

mod commands;
mod entry_id;
mod event_text;
mod fault;
mod progress;
mod reached;
mod repeats;
mod server;
mod sink;
mod stream_state;
mod target;

pub use entry_id::EntryId;
pub use sink::RedisSink;
pub use target::{RedisTarget, RedisTls, TargetError};
