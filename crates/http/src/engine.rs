//! The embedded engine as the door asks it: RESP over a pair of sockets, with the roles that it is given
//! and no more. Requests do not wait for each other.

use crate::service::{Service, ServiceError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, RedisResult, ServerError, Value};
use scurry_server::{Inside, Roles};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(5);
const SILENT: &str = "the engine does not answer";

/// The way to the engine: a connection that is made anew when it is lost.
pub(crate) struct Engine {
    inside: Inside,
    roles: Roles,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl Engine {
    pub(crate) fn new(inside: Inside, roles: Roles) -> Engine {
        Engine { inside, roles, connection: Mutex::default() }
    }

    /// The answer to a command; errors of RESP are among the values.
    pub(crate) async fn ask(&self, command: &Cmd) -> Result<Value, ServiceError> {
        let mut connection = self.connection().await?;
        let reply = timeout(PATIENCE, connection.req_packed_command(command)).await;
        let fault = match reply.map(|reply| reply.map_err(ServerError::try_from)) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(Ok(refusal))) => return Ok(Value::ServerError(refusal)),
            Ok(Err(Err(error))) => error.to_string(),
            // Others would wait behind it.
            Err(_) => SILENT.to_owned(),
        };
        *self.connection.lock().await = None;
        Err(ServiceError::Unknown(fault))
    }

    async fn connection(&self) -> Result<MultiplexedConnection, ServiceError> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = &*kept {
            return Ok(connection.clone());
        }
        let connection = timeout(PATIENCE, self.connect()).await;
        let connection = connection.map_err(|_| ServiceError::NotSent(SILENT.to_owned()))?;
        let connection = connection.map_err(|error| ServiceError::NotSent(error.to_string()))?;
        *kept = Some(connection.clone());
        Ok(connection)
    }

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let stream = self.inside.connect(self.roles).map_err(std::io::Error::other)?;
        let stream = UnixStream::from_std(stream)?;
        let terms = RedisConnectionInfo::default();
        let config = AsyncConnectionConfig::new();
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&terms, stream, config).await?;
        tokio::spawn(driver);
        Ok(connection)
    }
}

impl Service for Engine {
    fn execute<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Value, ServiceError>> {
        let mut command = Cmd::new();
        for argument in arguments {
            command.arg(argument);
        }
        async move { self.ask(&command).await }.boxed()
    }
}
