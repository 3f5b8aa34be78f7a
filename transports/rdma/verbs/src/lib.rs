//! Safe types for reliable RDMA connections (queue pairs of type RC, established by librdmacm), which
//! implement the traits of `scurry-rdma-proto`. A [`Hub`] per event loop holds the completion queues
//! of all its connections, a [`Listener`] returns connection requests, and a [`Connection`]
//! implements the protocol's queue.
//!
//! Every connection has its own protection domain, so a peer can write only into memory for which it
//! has a key. All pinned memory is charged to a [`Budget`].
#![expect(unsafe_code, reason = "memory that a device reads and writes, behind functions of C")]

mod address;
mod budget;
mod channel;
mod completion_queue_capacity;
mod completions;
mod connecting;
mod connection;
mod counters;
mod device;
mod domain;
mod hub;
mod id;
mod link;
mod listener;
mod memory;
mod os_errors;
mod postings;
mod queues;
mod raw;
mod registration;
mod slots;
mod stream;

pub use budget::Budget;
pub use connection::{Connection, Settings};
pub use counters::Counters;
pub use device::{Device, Unavailable};
pub use hub::{Hub, Notice};
pub use listener::{Listener, Request};
pub use memory::{Staging, Window};
pub use stream::Stream;
