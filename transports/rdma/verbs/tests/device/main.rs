//! Connections over a real device: one in hardware, or one in software as in the guest of `make
//! test-rdma`. On a host without a device each test is skipped with a message; in the guest it
//! fails.

mod connections;
mod endpoint;
mod hosts;
mod limits;
mod queue;
mod support;
mod transfers;
