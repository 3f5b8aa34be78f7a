//! The address of a receiver.

use http::Uri;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Longest address, bytes.
const LEN_MAX: usize = 2_048;

/// The address of a receiver: `http://HOST[:PORT]/PATH`, or `https` for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    pub(crate) has_tls: bool,
    /// Name or address, without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Host and port as the header Host has them.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) path: String,
}

/// Why a text is no address of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// It is no such address.
    #[error(
        "{0:?} is no address of a receiver: give http://HOST:PORT/PATH, or https://HOST/PATH for TLS"
    )]
    NoUrl(String),
    /// It has a user or a password.
    #[error(
        "the address has a user or password: take them out, and give --header 'Authorization: Basic ...' by \
         SCURRY_WEBHOOK_HEADERS or --header-file"
    )]
    HasUser,
}

impl HttpTarget {
    /// Reports whether requests are sent over TLS.
    pub fn has_tls(&self) -> bool {
        self.has_tls
    }
}

impl FromStr for HttpTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<HttpTarget, TargetError> {
        let no_url = || TargetError::NoUrl(text.chars().take(100).collect());
        if text.len() > LEN_MAX || text.contains('#') {
            return Err(no_url());
        }
        let uri: Uri = text.parse().map_err(|_| no_url())?;
        let has_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(no_url()),
        };
        let authority = uri.authority().ok_or_else(no_url)?;
        if authority.as_str().contains('@') {
            return Err(TargetError::HasUser);
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let has_port = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(port @ 1..) => port,
            None if !has_port => {
                if has_tls {
                    443
                } else {
                    80
                }
            }
            _ => return Err(no_url()),
        };
        if host.is_empty() {
            return Err(no_url());
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(HttpTarget { has_tls, host, port, authority: authority.to_string(), path })
    }
}

/// Shows it without its query, which may have a secret.
impl fmt::Display for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.has_tls { "https" } else { "http" };
        let path = self.path.split('?').next().unwrap_or_default();
        write!(f, "{scheme}://{}{path}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_host_port_and_path() {
        let parsed = |text: &str| text.parse::<HttpTarget>().expect(text);
        let target = parsed("http://127.0.0.1:8000/hook?token=s");
        assert_eq!((target.host.as_str(), target.port), ("127.0.0.1", 8000));
        assert_eq!((target.path.as_str(), target.has_tls), ("/hook?token=s", false));
        assert_eq!(target.to_string(), "http://127.0.0.1:8000/hook", "a query may have a secret");
        let target = parsed("https://hooks.example");
        assert_eq!((target.port, target.path.as_str(), target.has_tls), (443, "/", true));
        let target = parsed("http://[::1]:8000/");
        assert_eq!((target.host.as_str(), target.authority.as_str()), ("::1", "[::1]:8000"));
    }

    #[test]
    fn other_texts_are_refused() {
        for other in [
            "",
            "hooks.example/a",
            "127.0.0.1:80",
            "ftp://a/",
            "http://",
            "http://:80/",
            "http://a:0/",
            "http://a:99999/",
            "http://a/#b",
            "http://a b/",
        ] {
            assert!(other.parse::<HttpTarget>().is_err(), "{other}");
        }
        let error = "http://a:secret@b/".parse::<HttpTarget>().expect_err("a user");
        assert_eq!(error, TargetError::HasUser);
        assert!(!error.to_string().contains("secret"));
    }
}
