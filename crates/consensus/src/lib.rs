//! The consensus on a shard's log: [`replica`] is one replica of a log around the engine, and [`shard`] decides for one
//! shard of a node what its core may answer, apply and recover. Neither has a thread, a socket or a clock, so that a
//! server and a simulation of three nodes run the same code.
#![forbid(unsafe_code)]

pub mod replica;
pub mod shard;
