//! A URI that is called, split into what connections and requests need.

use http::uri::{PathAndQuery, Scheme as UriScheme, Uri};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Longest URI, bytes.
pub const URI_LEN_MAX: usize = 1_024;
/// Longest name of a host, bytes: RFC 1035, 2.3.4.
const NAME_LEN_MAX: usize = 253;

/// Scheme of a URI.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// HTTP without TLS.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Host of a URI.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Host {
    /// A name in lower case, without a dot at its end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// What a connection is made to: RFC 6454, 4.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A URI that is called: RFC 9110, 4.2.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) origin: Origin,
    /// Path and query.
    pub(crate) path: PathAndQuery,
}

impl Target {
    /// Parses an absolute URI of http or https.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Target, UriError> {
        if text.len() > URI_LEN_MAX {
            return Err(UriError::TooLong(text.len()));
        }
        let wrong = || UriError::Syntax(text.to_owned());
        // Other characters are escaped in a URI: RFC 3986, 2.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong());
        }
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let scheme = match uri.scheme() {
            Some(scheme) if *scheme == UriScheme::HTTP => Scheme::Http,
            Some(scheme) if *scheme == UriScheme::HTTPS => Scheme::Https,
            Some(scheme) => return Err(UriError::Scheme(scheme.to_string())),
            None => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        // Passwords do not belong into a URI, and `http://known.example@other.example/` deceives its reader.
        if authority.as_str().contains('@') {
            return Err(UriError::UserInfo);
        }
        let host = host(authority.host()).ok_or_else(wrong)?;
        let port = port(authority.as_str(), scheme).ok_or_else(wrong)?;
        let path = match uri.path_and_query() {
            None => PathAndQuery::from_static("/"),
            // A path of HTTP/2 is not empty: RFC 9113, 8.3.1.
            Some(path) if path.as_str().starts_with('?') => {
                format!("/{}", path.as_str()).parse().map_err(|_| wrong())?
            }
            Some(path) => path.clone(),
        };
        Ok(Target { origin: Origin { scheme, host, port }, path })
    }

    /// Returns the authority as requests name it.
    pub(crate) fn authority(&self) -> String {
        let Origin { scheme, host, port } = &self.origin;
        if *port == scheme.default_port() { host.to_string() } else { self.origin.to_string() }
    }
}

/// Parses what stands before the port.
fn host(text: &str) -> Option<Host> {
    if let Some(inside) = text.strip_prefix('[') {
        let address: Ipv6Addr = inside.strip_suffix(']')?.parse().ok()?;
        return Some(Host::Address(IpAddr::V6(address)));
    }
    if let Ok(address) = text.parse() {
        return Some(Host::Address(address));
    }
    name(text).map(Host::Name)
}

/// Returns the name of a host in lower case; None for a text that is none.
pub(crate) fn name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let is_of_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(is_of_label)
    };
    let is_name = text.len() <= NAME_LEN_MAX && text.split('.').all(is_label);
    is_name.then(|| text.to_ascii_lowercase())
}

/// Returns the port of an authority; None if it is no port that a connection can have.
fn port(authority: &str, scheme: Scheme) -> Option<u16> {
    let after_host = authority.rsplit(']').next()?;
    match after_host.split_once(':') {
        None | Some((_, "")) => Some(scheme.default_port()),
        Some((_, digits)) => digits.parse().ok().filter(|&port| port != 0),
    }
}

/// A URI that is not called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// It is too long.
    #[error("the URI has {0} bytes, and may have {URI_LEN_MAX}")]
    TooLong(usize),
    /// It is no absolute URI with a host.
    #[error("{0:?} is no URI that can be called: it must be like http://host:port/path")]
    Syntax(String),
    /// Its scheme is not served.
    #[error("the scheme {0:?} is not called: only http and https are")]
    Scheme(String),
    /// It has a user or a password.
    #[error("the URI has a user or a password before its host: leave it out, with the @")]
    UserInfo,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, UriError> {
        let target = Target::parse(text)?;
        let Origin { scheme, .. } = target.origin;
        let (origin, authority) = (&target.origin, target.authority());
        Ok(format!("{} {origin} {authority} {}", scheme.name(), target.path.as_str()))
    }

    #[test]
    fn uris_are_split() {
        for (uri, parts) in [
            ("http://SMF.example/a?b=c", "http smf.example:80 smf.example /a?b=c"),
            ("https://smf.example.", "https smf.example:443 smf.example /"),
            ("HTTPS://smf.example:8443/", "https smf.example:8443 smf.example:8443 /"),
            ("http://10.0.0.1:29502/x", "http 10.0.0.1:29502 10.0.0.1:29502 /x"),
            ("http://[fd00::1]/x#part", "http [fd00::1]:80 [fd00::1] /x"),
            ("http://[FD00::1]:81?q", "http [fd00::1]:81 [fd00::1]:81 /?q"),
            ("http://smf.example:/x", "http smf.example:80 smf.example /x"),
            // The system's resolver reads this as 127.0.0.1; the address is checked after it.
            ("http://2130706433/", "http 2130706433:80 2130706433 /"),
        ] {
            assert_eq!(parsed(uri).as_deref(), Ok(parts), "{uri}");
        }
    }

    #[test]
    fn what_is_no_uri_is_refused_in_words() {
        for uri in [
            "",
            "/path",
            "smf.example:80",
            "http://",
            "http:///x",
            "http://:80/",
            "http://smf.example:0/",
            "http://smf.example:65536/",
            "http://smf.example:8x/",
            "http://a..b/",
            "http://[::1/",
            "http://[fe80::1%25eth0]/",
            "http://smf.example/\u{e4}",
            "http://smf.example/a b",
            "http://smf%2eexample/",
        ] {
            let refused = parsed(uri).expect_err(uri);
            assert!(matches!(refused, UriError::Syntax(_)), "{uri}: {refused}");
        }
        assert_eq!(parsed("ftp://a/"), Err(UriError::Scheme("ftp".to_owned())));
        assert_eq!(parsed("http://user:word@a/"), Err(UriError::UserInfo));
        assert_eq!(parsed("http://a.example@b.example/"), Err(UriError::UserInfo));
        let long = format!("http://a/{}", "x".repeat(URI_LEN_MAX - 9));
        assert!(parsed(&long).is_ok());
        assert_eq!(parsed(&format!("{long}x")), Err(UriError::TooLong(1_025)));
    }
}
