//! The Valkey-over-RDMA protocol (valkey-doc, topics/RDMA.md) for both peers, without a device:
//! what is beneath is the seam of [`fabric`], which a device and a simulation implement.
#![forbid(unsafe_code)]

pub mod fabric;
