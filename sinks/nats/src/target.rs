//! Where the stream is.

use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Longest begin of a subject, bytes.
const SUBJECT_LEN_MAX: usize = 200;

/// Where the stream is, and how to get there.
#[derive(Clone)]
pub struct NatsTarget {
    /// Addresses of servers, for example `nats://127.0.0.1:4222`.
    pub servers: Vec<String>,
    /// Begin of the subjects: events of thread 0 go to `SUBJECT.0`.
    pub subject: String,
    /// Name of the stream that is made if none has the subjects.
    pub create_stream: Option<String>,
    /// User, with the password. None for a token, or for neither.
    pub user: Option<String>,
    /// Password of the user, or a token.
    pub password: Option<String>,
    /// File with a JWT and a key.
    pub credentials: Option<PathBuf>,
    /// File of certificates that the server's must come from (PEM). None for those of the system.
    pub roots: Option<PathBuf>,
    /// Files of the certificate of this client and of its key (PEM).
    pub client: Option<(PathBuf, PathBuf)>,
}

/// Why a text says no target.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// It is no address.
    #[error("{0:?} is no address: give nats://HOST:PORT, or tls://HOST:PORT for TLS")]
    Address(String),
    /// It is no subject.
    #[error(
        "{0:?} is no begin of a subject: give words with dots between, without spaces, * and >"
    )]
    Subject(String),
}

impl NatsTarget {
    /// Returns the target that addresses with commas between and a subject say.
    pub fn parse(addresses: &str, subject: &str) -> Result<NatsTarget, TargetError> {
        let is_word = |word: &str| {
            let is_sign = |sign: char| sign.is_ascii_graphic() && !['*', '>'].contains(&sign);
            !word.is_empty() && word.chars().all(is_sign)
        };
        if subject.len() > SUBJECT_LEN_MAX
            || subject.starts_with('$')
            || !subject.split('.').all(is_word)
        {
            return Err(TargetError::Subject(subject.to_owned()));
        }
        Ok(NatsTarget {
            servers: addresses.split(',').map(server).collect::<Result<_, _>>()?,
            subject: subject.to_owned(),
            create_stream: None,
            user: None,
            password: None,
            credentials: None,
            roots: None,
            client: None,
        })
    }

    /// Returns the subject of a thread's events.
    pub(crate) fn events(&self, thread: u16) -> String {
        format!("{}.{thread}", self.subject)
    }

    /// Returns the subject of messages that have positions and no event.
    pub(crate) fn position(&self) -> String {
        format!("{}.ship.position", self.subject)
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.roots.is_some()
            || self.client.is_some()
            || self.servers.iter().any(|server| server.starts_with("tls://"))
    }
}

fn server(text: &str) -> Result<String, TargetError> {
    let fault = || TargetError::Address(text.to_owned());
    let (scheme, address) = text.split_once("://").unwrap_or(("nats", text));
    let (host, port) = address.rsplit_once(':').ok_or_else(fault)?;
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_host = !host.is_empty() && !host.contains(['/', '@', ' ']);
    match ["nats", "tls"].contains(&scheme) && is_port && is_host {
        true => Ok(format!("{scheme}://{address}")),
        false => Err(fault()),
    }
}

// Passwords are left out.
impl fmt::Debug for NatsTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.servers.join(","), self.subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_subjects_have_one_form() {
        let target =
            NatsTarget::parse("127.0.0.1:4222,tls://[::1]:4223", "acme.events").expect("a target");
        assert_eq!(target.servers, ["nats://127.0.0.1:4222", "tls://[::1]:4223"]);
        assert_eq!(target.events(3), "acme.events.3");
        for other in ["", "localhost", "localhost:0", "ws://a:1", "u:p@a:1", "a:1,", "a:1/x"] {
            assert!(NatsTarget::parse(other, "events").is_err(), "{other}");
        }
        for other in ["", "a..b", ".a", "a.", "a b", "a.*", ">", "$JS"] {
            assert!(NatsTarget::parse("a:1", other).is_err(), "{other}");
        }
    }
}
