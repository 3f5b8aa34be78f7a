//! Opens the ports that the settings ask for: the main one, one beside it for TLS, and one per core.

use crate::net::acceptor::Acceptor;
use crate::net::listener;
use crate::net::port::{Port, PortKind};
use crate::net::tls::Handshaker;
use crate::settings::{Settings, StartError};
use scurry_tls::Certificates;
use std::net::SocketAddr;

/// All ports of a server.
pub(crate) struct Ports {
    /// The main port, and the separate one for TLS if there is one.
    pub(crate) main: Vec<Acceptor>,
    /// Each core's own port; empty with one core, whose port is the main one.
    pub(crate) own: Vec<Acceptor>,
}

impl Ports {
    /// Listens on all ports, or returns an error that names the one that must not or cannot be opened.
    ///
    /// Without an address of its own, TLS is spoken on the main port and on those of the cores; with one, only there.
    pub(crate) fn open(settings: &Settings) -> Result<Ports, StartError> {
        let tls = settings.tls.as_ref().map(Handshaker::new).transpose()?;
        let beside = settings.tls.as_ref().and_then(|tls| tls.listen);
        let first = if beside.is_some() { None } else { tls.clone() };
        let open = |address, kind, tls| {
            Acceptor::open(address, Port { kind, tls, inside: None }, settings)
        };
        let mut main = vec![open(settings.listen, PortKind::Main, first.clone())?];
        let main_address = main[0].address;
        let own = listener::core_addresses(settings, main_address)?.into_iter();
        let own = own.map(|address| open(address, PortKind::Core, first.clone()));
        let own = own.collect::<Result<_, _>>()?;
        if let Some(address) = beside {
            main.push(open(address, PortKind::Main, tls)?);
        }
        Ok(Ports { main, own })
    }

    /// Returns where plain clients connect.
    pub(crate) fn main_address(&self) -> SocketAddr {
        self.main[0].address
    }

    /// Returns where a client of any key may speak TLS.
    pub(crate) fn tls_address(&self) -> Option<SocketAddr> {
        self.main.iter().find(|acceptor| acceptor.port.tls.is_some()).map(|found| found.address)
    }

    /// Returns the server's certificates, if it speaks TLS.
    pub(crate) fn certificates(&self) -> Option<Certificates> {
        self.main.iter().find_map(|one| one.port.tls.as_ref()).map(|tls| tls.certificates.clone())
    }

    /// Returns the address of each core's port.
    pub(crate) fn core_addresses(&self) -> Vec<SocketAddr> {
        let own = if self.own.is_empty() { &self.main[..1] } else { &self.own };
        own.iter().map(|acceptor| acceptor.address).collect()
    }
}
