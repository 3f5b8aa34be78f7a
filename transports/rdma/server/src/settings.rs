//! Settings of RDMA.

use scurry_rdma_proto::Settings;
use std::net::SocketAddr;

/// How the server uses RDMA.
#[derive(Clone, Copy, Debug)]
pub struct RdmaSettings {
    /// Address to listen on: one of an RDMA device, or one for all of them. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Maximum of memory that may be pinned for all connections together, bytes.
    pub pinned_max: u64,
    /// Longest time that an idle core polls for requests before it sleeps, microseconds; 0 never polls. It sleeps at
    /// once when requests arrive less often than that.
    pub spin_us_max: u64,
    /// Settings of each connection.
    pub connection: Settings,
}

impl RdmaSettings {
    /// Returns the defaults for an address.
    pub fn new(listen: SocketAddr) -> RdmaSettings {
        RdmaSettings {
            listen,
            pinned_max: 1 << 30,
            spin_us_max: 50,
            connection: Settings::default(),
        }
    }
}
