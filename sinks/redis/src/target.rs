//! Where the streams are.

use redis::{ClientTlsConfig, TlsCertificates};
use std::fmt;
use thiserror::Error;

/// Longest name of a stream, bytes.
const STREAM_LEN_MAX: usize = 512;

/// Where the streams are, and how to get there.
#[derive(Clone)]
pub struct RedisTarget {
    /// Host and port of each node, of which one is the primary.
    pub nodes: Vec<(String, u16)>,
    /// TLS. None for none.
    pub tls: Option<RedisTls>,
    /// User. None for the default user.
    pub user: Option<String>,
    /// Password. None if the server wants none.
    pub password: Option<String>,
    /// Number of the database.
    pub database: u32,
    /// Name of the hash, and begin of the names of the streams.
    pub stream: String,
    /// About how many entries each stream keeps. None for all.
    pub max_len: Option<u64>,
}

/// Certificates of TLS, in PEM.
#[derive(Clone, Default)]
pub struct RedisTls {
    /// Certificates that the server's must come from. None for those of the system.
    pub roots: Option<Vec<u8>>,
    /// Certificate of this client, and its private key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

/// Why a text says no target.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// It is no address.
    #[error("{0:?} is no address: give HOST:PORT, or rediss://HOST:PORT for TLS")]
    Address(String),
    /// Its name is too short or too long.
    #[error("a name of streams has 1 to {STREAM_LEN_MAX} bytes")]
    Stream,
}

impl RedisTarget {
    /// Returns the target that addresses with commas between and a name say. `rediss://` at the begin asks for TLS.
    pub fn parse(addresses: &str, stream: &str) -> Result<RedisTarget, TargetError> {
        if stream.is_empty() || stream.len() > STREAM_LEN_MAX {
            return Err(TargetError::Stream);
        }
        let tls = addresses.strip_prefix("rediss://");
        let plain = addresses.strip_prefix("redis://").unwrap_or(addresses);
        let nodes = tls.unwrap_or(plain).trim_end_matches('/').split(',').map(node);
        Ok(RedisTarget {
            nodes: nodes.collect::<Result<_, _>>()?,
            tls: tls.map(|_| RedisTls::default()),
            user: None,
            password: None,
            database: 0,
            stream: stream.to_owned(),
            max_len: None,
        })
    }

    pub(crate) fn key(&self, thread: u16) -> String {
        format!("{}:{thread}", self.stream)
    }
}

fn node(text: &str) -> Result<(String, u16), TargetError> {
    let fault = || TargetError::Address(text.to_owned());
    let (host, port) = text.rsplit_once(':').ok_or_else(fault)?;
    let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(fault)?;
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = in_brackets.unwrap_or(host);
    let is_host = !host.is_empty() && !host.contains(['/', '@', '[', ']']);
    let is_plain = in_brackets.is_some() || !host.contains(':');
    match is_host && is_plain {
        true => Ok((host.to_owned(), port)),
        false => Err(fault()),
    }
}

impl RedisTls {
    pub(crate) fn certificates(&self) -> TlsCertificates {
        let client = self.client.clone();
        TlsCertificates {
            client_tls: client
                .map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key }),
            root_cert: self.roots.clone(),
        }
    }
}

// Passwords and keys are left out.
impl fmt::Debug for RedisTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.nodes, self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_one_or_several_nodes() {
        let nodes = |text| {
            RedisTarget::parse(text, "events").map(|target| (target.nodes, target.tls.is_some()))
        };
        let one = vec![("localhost".to_owned(), 6379)];
        assert_eq!(nodes("localhost:6379"), Ok((one.clone(), false)));
        assert_eq!(nodes("redis://localhost:6379/"), Ok((one.clone(), false)));
        assert_eq!(nodes("rediss://localhost:6379"), Ok((one, true)));
        let two = vec![("10.0.0.1".to_owned(), 1), ("::1".to_owned(), 2)];
        assert_eq!(nodes("10.0.0.1:1,[::1]:2"), Ok((two, false)));
        for other in [
            "",
            "localhost",
            "localhost:0",
            "localhost:x",
            ":1",
            "::1:6379",
            "a:1,",
            "a:1/2",
            "http://a:1",
            "u@a:1",
        ] {
            assert!(nodes(other).is_err(), "{other}");
        }
        assert_eq!(RedisTarget::parse("a:1", "").expect_err("no name"), TargetError::Stream);
    }
}
