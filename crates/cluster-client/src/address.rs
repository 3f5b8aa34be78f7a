//! The address of a store, with the user and password to log in with.

use crate::ClientError;
use crate::line::Line;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, Value, cmd};
use std::time::Duration;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// An address `HOST:PORT` of any node, with the login.
#[derive(Clone, Debug)]
pub struct Address {
    text: String,
    user: Option<String>,
    password: Option<String>,
    patience: Duration,
}

impl Address {
    /// Creates an address. Without a password the user is ignored and no login is sent.
    pub fn new(text: &str, user: Option<&str>, password: Option<&str>) -> Address {
        Address {
            text: text.to_owned(),
            user: user.map(str::to_owned),
            password: password.map(str::to_owned),
            patience: ANSWER_PATIENCE,
        }
    }

    /// Sets the timeout of a reply, 30 s by default. A node that is cut off never replies, and until the timeout passes
    /// the client does not ask the node that has taken over.
    pub fn with_patience(self, patience: Duration) -> Address {
        Address { patience, ..self }
    }

    /// Returns the address of another node, with the same login.
    pub fn at(&self, text: &str) -> Address {
        Address { text: text.to_owned(), ..self.clone() }
    }

    /// Returns `HOST:PORT`.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    fn parts(&self) -> Result<(&str, u16), ClientError> {
        let wrong = || ClientError::Address(self.text.clone());
        let (host, port) = self.text.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || host.contains(['/', '@']) {
            return Err(wrong());
        }
        Ok((host.trim_start_matches('[').trim_end_matches(']'), port))
    }

    /// Converts the address for the `redis` crate's cluster client.
    pub(crate) fn info(&self) -> Result<ConnectionInfo, ClientError> {
        let (host, port) = self.parts()?;
        let mut user = RedisConnectionInfo::default();
        if let Some(name) = &self.user {
            user = user.set_username(name);
        }
        if let Some(password) = &self.password {
            user = user.set_password(password);
        }
        let to = ConnectionAddr::Tcp(host.to_owned(), port);
        let info = to.into_connection_info();
        let info = info.map_err(|_| ClientError::Address(self.text.clone()))?;
        Ok(info.set_redis_settings(user))
    }

    /// Opens a connection to this node, with a timeout.
    pub(crate) fn connect(&self) -> Result<Line, ClientError> {
        let (host, port) = self.parts()?;
        let unreachable = |error| ClientError::Unreachable(self.text.clone(), error);
        let within = CONNECT_PATIENCE.min(self.patience);
        let mut line = Line::connect(host, port, within, self.patience).map_err(unreachable)?;
        if let Some(password) = &self.password {
            let mut auth = cmd("AUTH");
            auth.arg(self.user.as_deref()).arg(password);
            line.ask(&auth).and_then(Value::extract_error).map_err(unreachable)?;
        }
        Ok(line)
    }
}
