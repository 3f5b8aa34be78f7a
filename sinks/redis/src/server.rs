//! A connection to a server.

use crate::RedisTarget;
use crate::commands::Commands;
use crate::fault::{connection_fault, nonsense, options_fault, server_fault};
use redis::{
    Client, Connection, ConnectionAddr, ConnectionLike, IntoConnectionInfo, RedisConnectionInfo,
    RedisError, Value,
};
use scurry_ship::SinkError;
use std::time::Duration;

/// How long a server may take to reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a server, which has let this user in.
pub(crate) struct Server {
    address: String,
    stream: String,
    connection: Connection,
}

impl Server {
    /// Connects to a node.
    pub(crate) fn connect(target: &RedisTarget, node: &(String, u16)) -> Result<Server, SinkError> {
        let address = format!("{}:{}", node.0, node.1);
        let client = client(target, node).map_err(|error| options_fault(&address, &error))?;
        let connection = open(&client).map_err(|error| connection_fault(&address, &error))?;
        let mut server = Server { address, stream: target.stream.clone(), connection };
        let mut commands = Commands::default();
        if let Some(password) = &target.password {
            match &target.user {
                Some(user) => commands.push(&[b"AUTH", user.as_bytes(), password.as_bytes()]),
                None => commands.push(&[b"AUTH", password.as_bytes()]),
            }
        }
        if target.database > 0 {
            commands.push(&[b"SELECT", target.database.to_string().as_bytes()]);
        }
        for reply in server.ask_all(&commands)? {
            if reply != Value::Okay {
                return Err(server.nonsense("AUTH or SELECT", &reply));
            }
        }
        Ok(server)
    }

    /// Returns host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends commands, and returns a reply for each, errors among them.
    pub(crate) fn ask(&mut self, commands: &Commands) -> Result<Vec<Value>, SinkError> {
        if commands.count() == 0 {
            return Ok(Vec::new());
        }
        let replies = self.connection.req_packed_commands(commands.bytes(), 0, commands.count());
        let replies = replies.map_err(|error| connection_fault(&self.address, &error))?;
        debug_assert_eq!(replies.len(), commands.count());
        Ok(replies)
    }

    /// Sends commands of which none may fail.
    pub(crate) fn ask_all(&mut self, commands: &Commands) -> Result<Vec<Value>, SinkError> {
        let replies = self.ask(commands)?;
        match replies.iter().find_map(|reply| self.fault(reply)) {
            Some(fault) => Err(fault),
            None => Ok(replies),
        }
    }

    /// Describes a reply that is an error. None for others.
    pub(crate) fn fault(&self, reply: &Value) -> Option<SinkError> {
        let Value::ServerError(error) = reply else { return None };
        let details = error.details().unwrap_or_default();
        Some(server_fault(&self.address, &self.stream, error.code(), details))
    }

    /// Describes a reply of another shape than it has.
    pub(crate) fn nonsense(&self, command: &str, reply: &Value) -> SinkError {
        self.fault(reply).unwrap_or_else(|| nonsense(&self.address, command, reply))
    }
}

/// Returns what connects to a node. No connection is made yet, so an error is one of the options.
fn client(target: &RedisTarget, node: &(String, u16)) -> Result<Client, RedisError> {
    let (host, port) = node.clone();
    let settings = RedisConnectionInfo::default().set_skip_set_lib_name();
    match &target.tls {
        None => {
            let info = ConnectionAddr::Tcp(host, port).into_connection_info()?;
            Client::open(info.set_redis_settings(settings))
        }
        Some(tls) => {
            let address = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
            let info = address.into_connection_info()?.set_redis_settings(settings);
            // The client takes the provider of the process, where there is one already.
            let _ = rustls::crypto::ring::default_provider().install_default();
            Client::build_with_tls(info, tls.certificates())
        }
    }
}

fn open(client: &Client) -> Result<Connection, RedisError> {
    let connection = client.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    Ok(connection)
}
