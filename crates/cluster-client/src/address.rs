//! Where a store is, and who asks.

use crate::ClientError;
use crate::line::Line;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, Value, cmd};
use std::time::Duration;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// An address `HOST:PORT` of any node, with the user that asks.
#[derive(Clone, Debug)]
pub struct Address {
    text: String,
    user: Option<String>,
    password: Option<String>,
    patience: Duration,
}

impl Address {
    /// Without a password nobody is said to ask.
    pub fn new(text: &str, user: Option<&str>, password: Option<&str>) -> Address {
        Address {
            text: text.to_owned(),
            user: user.map(str::to_owned),
            password: password.map(str::to_owned),
            patience: ANSWER_PATIENCE,
        }
    }

    /// An answer that takes longer than this is none: 30 s unless told otherwise. A node that is cut
    /// off says nothing, and nobody asks the one that has taken over before this has passed.
    pub fn with_patience(self, patience: Duration) -> Address {
        Address { patience, ..self }
    }

    /// Another node, the same user.
    pub fn at(&self, text: &str) -> Address {
        Address { text: text.to_owned(), ..self.clone() }
    }

    /// `HOST:PORT`.
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

    /// For the kept client of a cluster.
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

    /// One connection to this node, which waits for a while and not for ever.
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
