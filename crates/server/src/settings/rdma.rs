//! What a server is told of RDMA.

use scurry_rdma_proto::Settings;
use std::net::SocketAddr;

/// How the server speaks RDMA.
#[derive(Clone, Copy, Debug)]
pub struct RdmaSettings {
    /// Where it listens: an address of an RDMA device, or one for all of them. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Memory that may be pinned for all connections together, bytes.
    pub pinned_max: u64,
    /// A core that waits for requests looks for them without sleeping for so long at most,
    /// microseconds; 0 never does. It sleeps at once when requests come more seldom.
    pub spin_us_max: u64,
    /// How a connection works.
    pub connection: Settings,
}

impl RdmaSettings {
    /// The defaults for an address.
    pub fn new(listen: SocketAddr) -> RdmaSettings {
        RdmaSettings {
            listen,
            pinned_max: 1 << 30,
            spin_us_max: 50,
            connection: Settings::default(),
        }
    }
}
