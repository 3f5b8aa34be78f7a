//! A store as a whole: one server, or a cluster whose nodes the client finds by the keys.

use crate::{Address, ClientError, Node};
use redis::cluster::{ClusterClientBuilder, ClusterConnection, cluster_pipe};
use redis::{Cmd, ConnectionLike, Value};
use std::time::Duration;

/// How long a failover may take: so often, so long between, ms, at most.
const RETRIES: u32 = 40;
const RETRY_MS_MAX: u64 = 500;
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// A store.
pub struct Store {
    address: Address,
    door: Door,
}

enum Door {
    /// A server that knows no cluster.
    One(Box<Node>),
    Cluster(Box<ClusterConnection>),
}

impl Store {
    /// Connects to any node. One that knows a cluster is a door to all of it.
    pub fn connect(address: &Address) -> Result<Store, ClientError> {
        let mut node = Node::connect(address)?;
        let door = if node.primaries()?.is_empty() {
            Door::One(Box::new(node))
        } else {
            let failed = |error| ClientError::Unreachable(address.text().to_owned(), error);
            let client = ClusterClientBuilder::new([address.info()?])
                .retries(RETRIES)
                .max_retry_wait(RETRY_MS_MAX)
                .connection_timeout(CONNECT_PATIENCE)
                .response_timeout(ANSWER_PATIENCE)
                .build()
                .map_err(failed)?;
            Door::Cluster(Box::new(client.get_connection().map_err(failed)?))
        };
        Ok(Store { address: address.clone(), door })
    }

    /// Where it was reached.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// True when it is more than one server that knows no cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.door, Door::Cluster(_))
    }

    /// A command about one key, which is its first argument. It is sent again where that follows
    /// from a failover, so it must be one that may come twice.
    pub fn ask(&mut self, command: &Cmd) -> Result<Value, ClientError> {
        match &mut self.door {
            Door::One(node) => node.ask(command),
            Door::Cluster(connection) => connection
                .req_command(command)
                .and_then(Value::extract_error)
                .map_err(|error| ClientError::Failed(self.address.text().to_owned(), error)),
        }
    }

    /// Commands about one key each; replies in their order. An error of the server to one of them
    /// is an error, and others may have been done. As [`Store::ask`], commands that may come twice.
    pub fn ask_many(&mut self, commands: Vec<Cmd>) -> Result<Vec<Value>, ClientError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        match &mut self.door {
            Door::One(node) => {
                let failed = |error| ClientError::Failed(self.address.text().to_owned(), error);
                let replies = node.ask_many(&commands)?;
                replies.into_iter().map(|reply| reply.extract_error().map_err(failed)).collect()
            }
            Door::Cluster(connection) => {
                let mut pipe = cluster_pipe();
                for command in commands {
                    pipe.add_command(command);
                }
                pipe.query(connection)
                    .map_err(|error| ClientError::Failed(self.address.text().to_owned(), error))
            }
        }
    }

    /// The nodes that own keys, each on a connection of its own.
    pub fn primaries(&self) -> Result<Vec<Node>, ClientError> {
        let mut node = Node::connect(&self.address)?;
        let primaries = node.primaries()?;
        if primaries.is_empty() {
            return Ok(vec![node]);
        }
        primaries.iter().map(Node::connect).collect()
    }
}
