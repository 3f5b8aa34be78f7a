//! Connections over a real device: one in hardware, or one in software as in the guest of
//! `make test-rdma`. On a machine without one each test says so in a line; in the guest it fails.

mod connections;
mod endpoint;
mod hosts;
mod limits;
mod queue;
mod support;
mod transfers;
