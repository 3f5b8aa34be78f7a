//! A port of the server: where it listens, what is spoken there, and whether it may be open.

use crate::listener;
use crate::settings::Settings;
use crate::socket::Socket;
use crate::tcp::Tcp;
use crate::tls::Acceptor;
use crate::{StartError, TlsSettings};
use mio::net::{TcpListener, TcpStream};
use std::io;
use std::net::SocketAddr;

/// A listener and its protocol.
pub(crate) struct Door {
    pub(crate) listener: TcpListener,
    /// None for plain TCP.
    pub(crate) acceptor: Option<Acceptor>,
    /// There may be more connections to accept.
    pub(crate) accepting: bool,
}

impl Door {
    /// The doors of these settings, the main one first.
    pub(crate) fn open_all(settings: &Settings) -> Result<Vec<Door>, StartError> {
        let Some(tls) = &settings.tls else {
            return Ok(vec![Door::open(settings, settings.listen, None)?]);
        };
        let acceptor = Acceptor::new(tls)?;
        let Some(second) = tls.listen else {
            return Ok(vec![Door::open(settings, settings.listen, Some(acceptor))?]);
        };
        let main = Door::open(settings, settings.listen, None)?;
        Ok(vec![main, Door::open(settings, second, Some(acceptor))?])
    }

    /// Listens, after checking that it is safe to: whoever reaches an address beyond this machine
    /// must have to show a password or a certificate.
    fn open(
        settings: &Settings,
        address: SocketAddr,
        acceptor: Option<Acceptor>,
    ) -> Result<Door, StartError> {
        let asks_for_certificate = |tls: &TlsSettings| tls.client_ca.is_some();
        let is_guarded = !settings.users.is_open()
            || (acceptor.is_some() && settings.tls.as_ref().is_some_and(asks_for_certificate));
        if !is_guarded && !address.ip().is_loopback() && !settings.open_access_allowed {
            return Err(StartError::OpenAccess(address));
        }
        Ok(Door { listener: listener::listen(address)?, acceptor, accepting: true })
    }

    /// The transport of a connection that has come in here.
    pub(crate) fn transport(&self, stream: TcpStream, peer: SocketAddr) -> io::Result<Socket> {
        match &self.acceptor {
            None => Ok(Socket::Tcp(Tcp::new(stream))),
            Some(acceptor) => Ok(Socket::Tls(Box::new(acceptor.accept(stream, peer)?))),
        }
    }
}
