//! RESP over RDMA beside TCP: the transport, and what a core has for it. The protocol is
//! `scurry-rdma-proto`'s, the device `scurry-rdma`'s.

mod core_rdma;
mod report;
mod spin;
mod transport;

pub(crate) use core_rdma::{CoreRdma, RdmaSetup, Welcome};
pub(crate) use report::RdmaReport;
pub(crate) use transport::Rdma;
