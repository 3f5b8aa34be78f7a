//! A port of the server: through which door it leads, what is spoken there, and whether it may be
//! open to everybody.

use crate::StartError;
use crate::client::Door;
use crate::settings::Settings;
use crate::socket::Socket;
use crate::tcp::Tcp;
use crate::tls::Handshaker;
use crate::users::Roles;
use mio::net::TcpStream;
use std::io;
use std::net::SocketAddr;

/// What is known of a connection by the port that it came to. It goes with the connection to the
/// core that serves it.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) door: Door,
    /// None for plain TCP.
    pub(crate) tls: Option<Handshaker>,
    /// A connection from within this process, and the roles that it has.
    pub(crate) inside: Option<Roles>,
}

impl Port {
    /// Refuses to listen where everybody could spend balances: whoever reaches an address beyond
    /// this machine must have to show a password or a certificate.
    pub(crate) fn check_access(
        &self,
        address: SocketAddr,
        settings: &Settings,
    ) -> Result<(), StartError> {
        let demands_certificate = self.tls.as_ref().is_some_and(|tls| tls.demands_certificate);
        let is_guarded = !settings.users.is_open() || demands_certificate;
        if is_guarded || address.ip().is_loopback() || settings.open_access_allowed {
            return Ok(());
        }
        Err(StartError::OpenAccess(address))
    }

    /// The transport of a connection that has come in here.
    pub(crate) fn transport(&self, stream: TcpStream) -> io::Result<Socket> {
        match &self.tls {
            None => Ok(Socket::Tcp(Tcp::new(stream))),
            Some(tls) => Ok(Socket::Tls(Box::new(tls.begin(stream)?))),
        }
    }
}
