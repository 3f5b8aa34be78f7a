//! Makes connections, and only to addresses that were checked.

use super::connection::Connection;
use super::error::{CallError, exchange_words, handshake_words};
use super::targets::{AllowedTargets, TargetRefusal};
use super::tls::HTTP2;
use super::uri::{Host, Origin, Scheme};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Most addresses of a name that are looked at.
const ADDRESSES_MAX: usize = 16;

/// Makes connections.
pub(crate) struct Connector {
    pub(crate) targets: AllowedTargets,
    pub(crate) tls: Arc<rustls::ClientConfig>,
    pub(crate) patience: Duration,
}

impl Connector {
    /// Checks an origin as far as that is possible before its name is resolved.
    ///
    /// # Errors
    /// Why it is not called.
    pub(crate) fn check(&self, origin: &Origin) -> Result<(), TargetRefusal> {
        match origin.host {
            Host::Name(_) => self.targets.check_host(origin),
            Host::Address(address) => self.targets.check_address(origin, address),
        }
    }

    /// Connects to an origin: resolves its name once, checks the addresses and takes the first that answers.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(crate) async fn connect(&self, origin: &Origin) -> Result<Connection, CallError> {
        let ms = u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX);
        let late = |_| CallError::ConnectTimeout { target: origin.to_string(), ms };
        timeout(self.patience, self.connect_at_length(origin)).await.map_err(late)?
    }

    async fn connect_at_length(&self, origin: &Origin) -> Result<Connection, CallError> {
        let addresses = self.allowed(origin, resolve(origin).await?)?;
        let target = || origin.to_string();
        let unreachable = |source| CallError::Connect { target: target(), source };
        let stream = reach(&addresses, self.patience).await.map_err(unreachable)?;
        // Without TCP_NODELAY a request may wait for the acknowledgement of the one before.
        stream.set_nodelay(true).map_err(unreachable)?;
        let begun = match origin.scheme {
            Scheme::Http => Connection::http2(TokioIo::new(stream)).await,
            Scheme::Https => {
                let failed = |words| CallError::Tls { target: target(), words };
                let name = server_name(&origin.host);
                let name = name.map_err(|error| failed(error.to_string()))?;
                let handshake = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream);
                let stream = handshake.await.map_err(|error| failed(handshake_words(&error)))?;
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
                let stream = TokioIo::new(stream);
                if is_http2 {
                    Connection::http2(stream).await
                } else {
                    Connection::http1(stream).await
                }
            }
        };
        begun.map_err(|error| CallError::Exchange {
            target: target(),
            words: exchange_words(&error),
        })
    }

    /// Returns those of the addresses that may be called, or why the first may not.
    fn allowed(
        &self,
        origin: &Origin,
        addresses: Vec<IpAddr>,
    ) -> Result<Vec<SocketAddr>, CallError> {
        let check = |address| self.targets.check_address(origin, address).map(|()| address);
        let (allowed, refused): (Vec<_>, Vec<_>) =
            addresses.into_iter().map(check).partition(Result::is_ok);
        let allowed: Vec<_> = allowed.into_iter().flatten().collect();
        match refused.into_iter().find_map(Result::err) {
            Some(refusal) if allowed.is_empty() => Err(refusal.into()),
            _ => Ok(allowed.into_iter().map(|ip| SocketAddr::new(ip, origin.port)).collect()),
        }
    }
}

/// Returns the addresses of an origin, at least one.
async fn resolve(origin: &Origin) -> Result<Vec<IpAddr>, CallError> {
    let name = match &origin.host {
        Host::Address(address) => return Ok(vec![*address]),
        Host::Name(name) => name,
    };
    let failed = |source| CallError::Resolve { host: name.clone(), source };
    let found = lookup_host((name.as_str(), origin.port)).await.map_err(failed)?;
    let addresses: Vec<_> = found.map(|address| address.ip()).take(ADDRESSES_MAX).collect();
    if addresses.is_empty() {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "the list is empty")));
    }
    Ok(addresses)
}

/// Connects to the first of the addresses that answers; each has its share of the time.
async fn reach(addresses: &[SocketAddr], patience: Duration) -> io::Result<TcpStream> {
    let share = patience / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = error,
            Err(late) => failure = late.into(),
        }
    }
    Err(failure)
}

fn server_name(host: &Host) -> Result<ServerName<'static>, rustls::pki_types::InvalidDnsNameError> {
    match host {
        Host::Name(name) => ServerName::try_from(name.clone()),
        Host::Address(address) => Ok(ServerName::from(*address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tls::ClientTlsFiles;
    use crate::client::uri::Target;

    #[test]
    fn of_a_name_with_several_addresses_only_those_allowed_are_called() {
        let targets = AllowedTargets::parse("notify_targets", &["10.0.0.0/8"]).expect("an entry");
        let tls = ClientTlsFiles::default().config().expect("no files");
        let connector = Connector { targets, tls, patience: Duration::ZERO };
        let origin = Target::parse("http://smf.example:8080/").expect("a URI").origin;
        let allowed = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|text| text.parse().expect("an address"));
            connector.allowed(&origin, addresses.collect())
        };
        let addresses = allowed(&["127.0.0.1", "10.0.0.1", "192.168.0.1", "10.0.0.2"]);
        let expected: Vec<SocketAddr> = ["10.0.0.1:8080", "10.0.0.2:8080"]
            .map(|text| text.parse().expect("an address"))
            .to_vec();
        assert_eq!(addresses.expect("two may be called"), expected);
        let refusal = allowed(&["127.0.0.1", "192.168.0.1"]).expect_err("none may be called");
        assert!(matches!(refusal, CallError::Refused(TargetRefusal::Special { .. })), "{refusal}");
        let refusal = allowed(&["192.168.0.1"]).expect_err("none may be called");
        assert!(matches!(refusal, CallError::Refused(TargetRefusal::Address { .. })), "{refusal}");
    }
}
