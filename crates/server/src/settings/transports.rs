//! What a server is told of TLS and RDMA.

use scurry_rdma_proto::Settings;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How the server speaks TLS 1.2 and 1.3. All files are PEM.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The server's certificate and those between it and its root, in this order.
    pub certificate: PathBuf,
    /// The private key of the certificate: PKCS #8, PKCS #1 or SEC 1.
    pub key: PathBuf,
    /// Roots of the certificates that clients must show; none asks for no certificate.
    pub client_ca: Option<PathBuf>,
    /// A second main address, for TLS; none makes the main address and those of the cores speak TLS.
    pub listen: Option<SocketAddr>,
    /// A connection whose handshake takes longer is closed, ms.
    pub handshake_ms_max: i64,
}

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
