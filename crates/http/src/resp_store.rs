//! A store that is reached by RESP: one server, or a Valkey Cluster.

use crate::service::{Service, ServiceError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind,
    IntoConnectionInfo, RedisConnectionInfo, RedisError, RedisResult, ServerError, Value, cmd,
};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Mutex;

const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// Nodes that are remembered at most.
const MEMBERS_MAX: usize = 1_024;
/// How often the kept client sends a command again by itself while a cluster is in motion, and how
/// long it waits between, ms. Every command that moves value carries an id, so it may come twice.
const RETRIES: u32 = 5;
const RETRY_MS: (u64, u64) = (20, 200);

/// Where a store is, who asks, and how long an answer may take.
pub(crate) struct RespStore {
    /// `HOST:PORT`, those that were named and those that they have told of: the first one that
    /// answers leads to the others, and any of them may be gone.
    members: RwLock<Vec<String>>,
    user: Option<String>,
    password: Option<String>,
    patience: Duration,
    link: RwLock<Link>,
    /// Held by the one that connects.
    connecting: Mutex<Result<(), ServiceError>>,
}

#[derive(Clone, Default)]
struct Link {
    /// How often it was tried to connect.
    attempts: u64,
    connection: Option<Connection>,
}

#[derive(Clone)]
enum Connection {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl RespStore {
    pub(crate) fn new(
        addresses: Vec<String>,
        user: Option<String>,
        password: Option<String>,
        patience: Duration,
    ) -> RespStore {
        let (members, link) = (RwLock::new(addresses), RwLock::new(Link::default()));
        RespStore { members, user, password, patience, link, connecting: Mutex::new(Ok(())) }
    }

    fn link(&self) -> Link {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A connection that works as far as anybody knows, with the number of its attempt.
    async fn connection(&self) -> Result<(u64, Connection), ServiceError> {
        let before = self.link();
        if let Some(connection) = before.connection {
            return Ok((before.attempts, connection));
        }
        let mut outcome = self.connecting.lock().await;
        let now = self.link();
        if now.attempts != before.attempts {
            // Somebody else has tried meanwhile: what came of it holds for all who waited.
            outcome.clone()?;
            if let Some(connection) = now.connection {
                return Ok((now.attempts, connection));
            }
        }
        let connected = self.connect().await;
        if let (Err(error), Ok(())) = (&connected, &*outcome) {
            tracing::warn!(%error, "the store is away");
        } else if connected.is_ok() && (outcome.is_err() || now.attempts == 0) {
            tracing::info!("the store is reached");
        }
        *outcome = connected.as_ref().map(|_| ()).map_err(Clone::clone);
        let attempts = now.attempts + 1;
        let connection = connected.as_ref().ok().cloned();
        *self.link.write().unwrap_or_else(PoisonError::into_inner) = Link { attempts, connection };
        Ok((attempts, connected?))
    }

    async fn connect(&self) -> Result<Connection, ServiceError> {
        let mut why = ServiceError::NotSent("no address is given".to_owned());
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner).clone();
        for address in &members {
            match self.connect_to(address).await {
                Ok(connection) => return Ok(connection),
                Err(error) => why = ServiceError::NotSent(format!("{address}: {error}")),
            }
        }
        Err(why)
    }

    async fn connect_to(&self, address: &str) -> Result<Connection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_PATIENCE))
            .set_response_timeout(Some(self.patience));
        let client = Client::open(self.info(address)?)?;
        let mut one = client.get_multiplexed_async_connection_with_config(&config).await?;
        let slots = one.req_packed_command(cmd("CLUSTER").arg("SLOTS")).await?;
        let members = members(&slots, address);
        if members.len() < 2 {
            return Ok(Connection::One(one));
        }
        let infos: Vec<ConnectionInfo> =
            members.iter().map(|member| self.info(member)).collect::<Result<_, _>>()?;
        self.meet(members);
        let cluster = ClusterClientBuilder::new(infos)
            .retries(RETRIES)
            .min_retry_wait(RETRY_MS.0)
            .max_retry_wait(RETRY_MS.1)
            .connection_timeout(CONNECT_PATIENCE)
            .response_timeout(self.patience)
            .build()?;
        Ok(Connection::Cluster(cluster.get_async_connection().await?))
    }

    /// Remembers nodes of the store.
    fn meet(&self, nodes: Vec<String>) {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        for node in nodes {
            if members.len() < MEMBERS_MAX && !members.contains(&node) {
                members.push(node);
            }
        }
    }

    fn info(&self, address: &str) -> Result<ConnectionInfo, RedisError> {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "6389"));
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let mut user = RedisConnectionInfo::default();
        if let Some(name) = &self.user {
            user = user.set_username(name);
        }
        if let Some(password) = &self.password {
            user = user.set_password(password);
        }
        let to = ConnectionAddr::Tcp(host, port.parse().unwrap_or_default());
        Ok(to.into_connection_info()?.set_redis_settings(user))
    }

    /// Forgets the connection of this attempt: the next command makes another.
    fn forget(&self, attempt: u64) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if link.attempts == attempt {
            link.connection = None;
        }
    }
}

impl RespStore {
    /// The outcome of what was sent on the connection of this attempt.
    fn judge(&self, attempt: u64, reply: RedisResult<Value>) -> Result<Value, ServiceError> {
        let error = match reply.map_err(ServerError::try_from) {
            Ok(value) => return Ok(value),
            Err(Ok(refusal)) => return Ok(Value::ServerError(refusal)),
            Err(Err(error)) => error,
        };
        if error.is_connection_dropped()
            || error.is_io_error() && !error.is_timeout()
            || error.kind() == ErrorKind::ClusterConnectionNotFound
        {
            self.forget(attempt);
        }
        Err(ServiceError::Unknown(error.to_string()))
    }
}

impl Service for RespStore {
    fn execute<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Value, ServiceError>> {
        let command = command(arguments);
        async move {
            let (attempt, connection) = self.connection().await?;
            let reply = match connection {
                Connection::One(mut one) => one.req_packed_command(&command).await,
                Connection::Cluster(mut all) => all.req_packed_command(&command).await,
            };
            self.judge(attempt, reply)
        }
        .boxed()
    }

    fn execute_beside<'a>(
        &'a self,
        key: &'a [u8],
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Value, ServiceError>> {
        let command = command(arguments);
        async move {
            let (attempt, connection) = self.connection().await?;
            let reply = match connection {
                Connection::One(mut one) => one.req_packed_command(&command).await,
                Connection::Cluster(mut all) => {
                    let route = Route::with_key(key, SlotAddr::Master);
                    let node = SingleNodeRoutingInfo::SpecificNode(route);
                    all.route_command(command, RoutingInfo::SingleNode(node)).await
                }
            };
            self.judge(attempt, reply)
        }
        .boxed()
    }

    fn execute_everywhere<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Vec<Value>, ServiceError>> {
        let command = command(arguments);
        async move {
            let (attempt, connection) = self.connection().await?;
            match connection {
                Connection::One(mut one) => {
                    let reply = one.req_packed_command(&command).await;
                    Ok(vec![self.judge(attempt, reply)?])
                }
                Connection::Cluster(mut all) => {
                    let primaries = (MultipleNodeRoutingInfo::AllMasters, None);
                    let routing = RoutingInfo::MultiNode(primaries);
                    let replies = all.route_command(command, routing).await;
                    Ok(match self.judge(attempt, replies)? {
                        // From the address of each.
                        Value::Map(replies) => {
                            replies.into_iter().map(|(_, reply)| reply).collect()
                        }
                        reply => vec![reply],
                    })
                }
            }
        }
        .boxed()
    }
}

fn command(arguments: &[Vec<u8>]) -> Cmd {
    let mut command = Cmd::new();
    for argument in arguments {
        command.arg(argument);
    }
    command
}

/// The nodes in a reply of CLUSTER SLOTS, each once; none where it is an error.
fn members(slots: &Value, asked: &str) -> Vec<String> {
    let Value::Array(ranges) = slots else { return Vec::new() };
    let mut members = Vec::new();
    for range in ranges {
        let Value::Array(range) = range else { continue };
        for node in range.iter().skip(2) {
            let Value::Array(node) = node else { continue };
            let [host, Value::Int(port), ..] = &node[..] else { continue };
            let host = match host {
                Value::BulkString(host) if !host.is_empty() => String::from_utf8_lossy(host),
                // The one that was asked.
                _ => asked.rsplit_once(':').map_or("", |(host, _)| host).into(),
            };
            let member = format!("{host}:{port}");
            if !members.contains(&member) {
                members.push(member);
            }
        }
    }
    members
}
