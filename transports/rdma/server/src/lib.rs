//! RESP over RDMA beside TCP: the server's seam for adapters over the protocol of `scurry-rdma-proto` and the device
//! of `scurry-rdma`. The binary gives [`RdmaSettings`] to the server when it has the feature `rdma`.

mod connection;
mod core_rdma;
mod report;
mod settings;
mod spin;

pub use settings::RdmaSettings;
