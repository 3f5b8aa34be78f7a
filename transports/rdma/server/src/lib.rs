//! RESP over RDMA in addition to TCP: implements the server's adapter interface with the protocol of
//! `scurry-rdma-proto` and the device of `scurry-rdma`. With the feature `rdma`, the binary passes [`RdmaSettings`]
//! to the server.

mod connection;
mod core_rdma;
mod report;
mod settings;
mod spin;

pub use settings::RdmaSettings;
