//! The embedded engine as the door asks it: RESP over a pair of sockets, with the roles that the
//! door needs and no more. Requests do not wait for each other.

use crate::beside::unavailable;
use crate::problem::Problem;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, ProtocolVersion, RedisConnectionInfo, RedisResult, Value};
use scurry_resp::table::Role;
use scurry_server::{Inside, Roles};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The way to the engine: a connection that is made anew when it is lost.
pub(crate) struct Engine {
    inside: Inside,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl Engine {
    pub(crate) fn new(inside: Inside) -> Engine {
        Engine { inside, connection: Mutex::default() }
    }

    /// The answer to a command that reads; errors of RESP are among the values.
    pub(crate) async fn read(&self, command: &Cmd) -> Result<Value, Problem> {
        let mut connection = self.connection().await?;
        let answer = timeout(PATIENCE, connection.send_packed_command(command)).await;
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                *self.connection.lock().await = None;
                Err(unavailable(error))
            }
            Err(_) => Err(unavailable("the engine does not answer")),
        }
    }

    async fn connection(&self) -> Result<MultiplexedConnection, Problem> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = &*kept {
            return Ok(connection.clone());
        }
        let connection = timeout(PATIENCE, self.connect()).await;
        let connection = connection.map_err(|_| unavailable("the engine does not answer"))?;
        let connection = connection.map_err(unavailable)?;
        *kept = Some(connection.clone());
        Ok(connection)
    }

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let roles = Roles::NONE.with(Role::Read);
        let stream = self.inside.connect(roles).map_err(std::io::Error::other)?;
        let stream = UnixStream::from_std(stream)?;
        let terms = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3);
        let config = AsyncConnectionConfig::new();
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&terms, stream, config).await?;
        tokio::spawn(driver);
        Ok(connection)
    }
}
