//! Reliable RDMA connections (queue pairs of type RC, made by librdmacm) as safe objects, behind the
//! seam of `scurry-rdma-proto`. A [`Hub`] per event loop has the completion queues of all its
//! connections, a [`Listener`] hands out who wants to connect, a [`Connection`] is the seam's queue.
//!
//! Every connection has a protection domain of its own: what its peer was given a key for is all that
//! the peer can write. All that is pinned is taken from a [`Budget`].
#![expect(unsafe_code, reason = "memory that a device reads and writes, behind functions of C")]

mod address;
mod budget;
mod channel;
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
mod postings;
mod queues;
mod raw;
mod refusal;
mod registration;
mod room;
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
