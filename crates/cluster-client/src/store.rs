//! A whole store: one server, or a cluster whose nodes the client finds by key.

use crate::{Address, ClientError, Node};
use redis::cluster::{ClusterClientBuilder, ClusterConnection, cluster_pipe};
use redis::{Cmd, ConnectionLike, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};
use std::thread;
use std::time::Duration;

/// Retries of the `redis` crate's cluster client, and its waits between them, ms.
const RETRIES: u32 = 5;
const RETRY_MS: (u64, u64) = (20, 200);
/// Number and interval of reconnections while a replica takes over: the cluster client gives up a lost connection
/// without waiting for the new primary.
const FAILOVER_TRIES: u32 = 80;
const FAILOVER_EVERY: Duration = Duration::from_millis(250);
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// Connection to a whole store.
pub struct Store {
    address: Address,
    connections: Connections,
}

enum Connections {
    /// A server without cluster mode.
    One(Box<Node>),
    Cluster(Box<Cluster>),
}

struct Cluster {
    /// All nodes known at the start: any of them may be down later.
    members: Vec<Address>,
    connection: ClusterConnection,
}

impl Store {
    /// Connects to any node. If it is in a cluster, the store is the whole cluster.
    pub fn connect(address: &Address) -> Result<Store, ClientError> {
        let mut node = Node::connect(address)?;
        let members = node.members()?;
        let connections = if members.is_empty() {
            Connections::One(Box::new(node))
        } else {
            let connection = connect(&members)?;
            Connections::Cluster(Box::new(Cluster { members, connection }))
        };
        Ok(Store { address: address.clone(), connections })
    }

    /// Returns the address that was connected to.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Reports whether it is a cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.connections, Connections::Cluster(_))
    }

    /// Sends a command on one key, which is its first argument. It is retried until a failover is over, so it must be
    /// safe to repeat.
    pub fn ask(&mut self, command: &Cmd) -> Result<Value, ClientError> {
        match &mut self.connections {
            Connections::One(node) => node.ask(command),
            Connections::Cluster(cluster) => {
                let send = |connection: &mut ClusterConnection| {
                    connection.req_command(command).and_then(Value::extract_error)
                };
                cluster.patiently(send).map_err(|error| self.failed(error))
            }
        }
    }

    /// Sends commands on one key each, and returns the replies in order. An error reply to one of them is returned as
    /// an error, and others may have been executed. Commands must be safe to repeat, as in [`Store::ask`].
    pub fn ask_many(&mut self, commands: Vec<Cmd>) -> Result<Vec<Value>, ClientError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        match &mut self.connections {
            Connections::One(node) => {
                let replies = node.ask_many(&commands)?.into_iter().map(Value::extract_error);
                replies.collect::<RedisResult<_>>().map_err(|error| self.failed(error))
            }
            Connections::Cluster(cluster) => {
                let mut pipe = cluster_pipe();
                for command in commands {
                    pipe.add_command(command);
                }
                cluster
                    .patiently(|connection| pipe.query(connection))
                    .map_err(|error| self.failed(error))
            }
        }
    }

    /// Connects to every node that owns keys.
    pub fn primaries(&self) -> Result<Vec<Node>, ClientError> {
        let members = match &self.connections {
            Connections::One(_) => return Ok(vec![Node::connect(&self.address)?]),
            Connections::Cluster(cluster) => &cluster.members,
        };
        let mut outcome = Err(ClientError::Moving);
        for member in members {
            outcome = Node::connect(member).and_then(|mut node| node.primaries());
            if outcome.is_ok() {
                break;
            }
        }
        outcome?.iter().map(Node::connect).collect()
    }

    fn failed(&self, error: RedisError) -> ClientError {
        ClientError::Failed(self.address.text().to_owned(), error)
    }
}

impl Cluster {
    /// Retries until a reply or a refusal arrives, or the failover takes too long.
    fn patiently<T>(
        &mut self,
        send: impl Fn(&mut ClusterConnection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let mut tries = 0;
        loop {
            match send(&mut self.connection) {
                Err(error) if tries < FAILOVER_TRIES && passes(&error) => {}
                outcome => return outcome,
            }
            tries += 1;
            thread::sleep(FAILOVER_EVERY); // tidy: allow (a cluster says nothing when it is ready again)
            if let Ok(connection) = connect(&self.members) {
                self.connection = connection;
            }
        }
    }
}

/// Reports whether an error is temporary, as during a failover.
fn passes(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(kind) => matches!(
            kind,
            ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::Moved
                | ServerErrorKind::Ask
        ),
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
        _ => false,
    }
}

fn connect(members: &[Address]) -> Result<ClusterConnection, ClientError> {
    let Some(first) = members.first() else { return Err(ClientError::Moving) };
    let (text, patience) = (first.text().to_owned(), first.patience());
    let infos: Vec<_> = members.iter().map(Address::info).collect::<Result<_, _>>()?;
    let client = ClusterClientBuilder::new(infos)
        .retries(RETRIES)
        .min_retry_wait(RETRY_MS.0)
        .max_retry_wait(RETRY_MS.1)
        .connection_timeout(CONNECT_PATIENCE.min(patience))
        .response_timeout(patience)
        .build();
    let connection = client.and_then(|client| client.get_connection());
    connection.map_err(|error| ClientError::Unreachable(text, error))
}
