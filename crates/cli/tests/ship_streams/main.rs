//! `scurry ship` to brokers under load: the shipper and the broker are killed and the connection is cut, round after
//! round, and then every event is there once and in order.

mod compare;
mod http;
mod load;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
#[path = "../../../../sinks/nats/tests/all/peer.rs"]
mod nats_server;
mod proxy;
mod receiver;
mod redis;
mod shipper;
mod store;
#[path = "../../../../sinks/redis/tests/all/peer.rs"]
mod valkey;
