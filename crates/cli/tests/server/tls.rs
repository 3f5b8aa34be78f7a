//! TLS on the RESP ports: good and bad certificates, good and bad clients, and real ones.

mod bad_clients;
mod certificates;
mod real_clients;
mod renewal;
mod sessions;

use crate::support::{Client, Server, connect};
pub(crate) use certificates::Certificates;
use nix::sys::signal::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use std::net::TcpStream;
use std::sync::Arc;

/// A client with TLS.
pub(crate) type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

/// Certificates that a client of the tests trusts and presents.
pub(crate) struct Trust<'a> {
    /// File of the roots.
    ca: &'a str,
    /// Files of its own certificate and key.
    own: Option<(&'a str, &'a str)>,
    versions: &'a [&'static SupportedProtocolVersion],
}

impl Trust<'_> {
    fn session(&self) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_file(self.ca).expect("a certificate");
        roots.add(ca).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .expect("versions that there are")
            .with_root_certificates(roots);
        let config = match self.own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_file(certificate).expect("one")];
                let key = PrivateKeyDer::from_pem_file(key).expect("a key");
                builder.with_client_auth_cert(chain, key).expect("a pair")
            }
        };
        let name = ServerName::try_from("localhost").expect("a name");
        ClientConnection::new(Arc::new(config), name).expect("a client")
    }

    pub(crate) fn connect(&self, port: u16) -> TlsClient {
        Client::over(StreamOwned::new(self.session(), connect(port)))
    }
}

/// Trusts the good CA and presents no certificate.
pub(crate) fn trust(files: &Certificates) -> Trust<'_> {
    Trust { ca: &files.ca, own: None, versions: rustls::ALL_VERSIONS }
}

/// Starts a server with the good certificate and these arguments.
pub(crate) fn start(files: &Certificates, arguments: &[&str]) -> Server {
    let own = ["--tls-cert", &files.server.0, "--tls-key", &files.server.1];
    Server::start(&[&own, arguments].concat())
}

/// Stops the server and returns its log.
pub(crate) fn log_of(server: Server) -> String {
    server.signal(Signal::SIGTERM);
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    log
}

/// Returns how many connections were closed for this reason. One log line may count several.
pub(crate) fn closed(log: &str, reason: &str) -> u64 {
    let lines = log.lines().filter_map(|line| line.split_once(reason)?.1.split_once(" closed="));
    let counts = lines.map(|(_, rest)| rest.split_whitespace().next().and_then(|n| n.parse().ok()));
    counts.map(|count: Option<u64>| count.expect("a number")).sum()
}
