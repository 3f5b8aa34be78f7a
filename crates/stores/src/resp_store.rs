//! A store of accounts that is reached over RESP: one server, or a Valkey Cluster.

use crate::heard::Heard;
use crate::line::{CONNECT_PATIENCE, ConnectOptions, PipelinedConnection, is_unsent};
use crate::retry::{ASKED_AGAIN_MAX, pause};
use crate::servers::join;
use redis::aio::ConnectionLike;
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{
    Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisConnectionInfo,
    RedisError, RedisResult, ServerError, ServerErrorKind, Value, cmd,
};
use scurry_cluster_client::{decode, decode_events, decode_store};
use scurry_service::{
    AccountList, Arguments, Call, CallError, Events, EventsCall, Follow, ListCursor, ListRead,
    Request, Service, StoreCall, StoreRead, StoreReply,
};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// Maximum number of addresses that are remembered.
const MEMBERS_MAX: usize = 1_024;
/// How often the client library retries a command by itself while a cluster is being reconfigured, and the shortest and
/// longest pause between the tries, ms. It also sends a command again whose connection ended, so only commands that may
/// arrive twice are sent this way.
const RETRIES: u32 = 5;
const RETRY_MS: (u64, u64) = (20, 200);

/// A store, with the credentials and the timeout for it.
pub struct RespStore {
    /// `HOST:PORT`, both of the settings and learned from the store. The first that answers leads to the others, and
    /// any of them may be gone.
    members: RwLock<Vec<String>>,
    user: Option<String>,
    password: Option<String>,
    patience: Duration,
    link: RwLock<Link>,
    /// When the store last replied, or was connected to.
    heard: Heard,
    /// Held while connecting. Holds the outcome of the last attempt.
    connecting: Mutex<Result<(), CallError>>,
    /// The connection for events of a store with several threads: the port of a thread has only the thread's own
    /// events, the main port has those of all.
    main: Mutex<Option<PipelinedConnection>>,
}

/// The connection to the store, or its absence.
#[derive(Clone)]
struct Link {
    /// Number of attempts to connect so far.
    attempts: u64,
    connection: Option<Connection>,
    /// When the last connection was lost, or the store was created.
    absent_since: Instant,
}

#[derive(Clone)]
enum Connection {
    One(PipelinedConnection),
    Cluster(Cluster),
}

/// The connections to the nodes of a cluster, for requests of two kinds.
#[derive(Clone)]
struct Cluster {
    /// The library sends a request again when its outcome is unknown.
    repeating: ClusterConnection,
    /// The library sends a request once.
    once: ClusterConnection,
}

/// Whether a request may be sent again when its outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    Repeated,
    Once,
}

/// Where a command goes in a cluster.
enum Addressee<'a> {
    /// To the owner of the key that is the command's first argument.
    Own,
    /// To the owner of this key.
    OwnerOf(&'a [u8]),
    /// To every primary. The reply is a map by the address of each.
    Everyone,
    /// To the node at this address, `HOST:PORT`.
    At(&'a str),
}

impl RespStore {
    /// Returns the store at these addresses, `HOST:PORT`. It connects with the first request.
    pub fn new(
        addresses: Vec<String>,
        user: Option<String>,
        password: Option<String>,
        patience: Duration,
    ) -> RespStore {
        let link = Link { attempts: 0, connection: None, absent_since: Instant::now() };
        let (members, link) = (RwLock::new(addresses), RwLock::new(link));
        let (connecting, main) = (Mutex::new(Ok(())), Mutex::new(None));
        let heard = Heard::now();
        RespStore { members, user, password, patience, link, heard, connecting, main }
    }

    fn link(&self) -> Link {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a connection that is not known to be broken, and the number of its attempt. Waits as long as `patience`
    /// for a store that was just lost or has not been reached yet.
    async fn connection(&self) -> Result<(u64, Connection), CallError> {
        let mut before = self.link();
        if matches!(&before.connection, Some(Connection::One(line)) if line.is_over()) {
            self.forget(before.attempts);
            before = self.link();
        }
        if let Some(connection) = before.connection {
            return Ok((before.attempts, connection));
        }
        let mut outcome = self.connecting.lock().await;
        let now = self.link();
        if now.attempts != before.attempts {
            // Another task has connected meanwhile: all that waited share its outcome.
            outcome.clone()?;
            if let Some(connection) = now.connection {
                return Ok((now.attempts, connection));
            }
        }
        let connected = loop {
            let absence = now.absent_since.elapsed();
            match self.connect().await {
                Err(_) if absence < self.patience => sleep(pause(absence)).await,
                connected => break connected,
            }
        };
        // Log changes alone: not every failed attempt.
        if let (Err(error), Ok(())) = (&connected, &*outcome) {
            tracing::warn!(%error, "the store is away");
        } else if connected.is_ok() && (outcome.is_err() || now.attempts == 0) {
            tracing::info!("the store is reached");
        }
        *outcome = connected.as_ref().map(|_| ()).map_err(Clone::clone);
        self.heard.note();
        let attempts = now.attempts + 1;
        let connection = connected.as_ref().ok().cloned();
        *self.link.write().unwrap_or_else(PoisonError::into_inner) =
            Link { attempts, connection, ..now };
        Ok((attempts, connected?))
    }

    /// Connects by the first address that answers.
    async fn connect(&self) -> Result<Connection, CallError> {
        let mut why = CallError::NotSent("no address is given".to_owned());
        for address in &self.addresses() {
            match self.connect_to(address).await {
                Ok(connection) => return Ok(connection),
                Err(error) => why = CallError::NotSent(format!("{address}: {error}")),
            }
        }
        Err(why)
    }

    /// Connects to the first address that answers, and to this one alone.
    async fn connect_main(&self) -> Result<PipelinedConnection, CallError> {
        let mut why = CallError::NotSent("no address is given".to_owned());
        for address in &self.addresses() {
            match PipelinedConnection::connect(address, self.terms()).await {
                Ok(line) => return Ok(line),
                Err(error) => why = CallError::NotSent(format!("{address}: {error}")),
            }
        }
        Err(why)
    }

    /// Connects to a server and asks for its cluster's nodes. Returns a connection to the cluster, or to this server
    /// alone when there are fewer than two nodes.
    async fn connect_to(&self, address: &str) -> Result<Connection, RedisError> {
        let one = PipelinedConnection::connect(address, self.terms()).await?;
        let slots = one.ask(cmd("CLUSTER").arg("SLOTS")).await?;
        let members = members(&slots, address);
        if members.len() < 2 {
            return Ok(Connection::One(one));
        }
        let infos: Vec<ConnectionInfo> =
            members.iter().map(|member| self.info(member)).collect::<Result<_, _>>()?;
        self.meet(members);
        let cluster = |retries| {
            ClusterClientBuilder::new(infos.clone())
                .retries(retries)
                .min_retry_wait(RETRY_MS.0)
                .max_retry_wait(RETRY_MS.1)
                .connection_timeout(CONNECT_PATIENCE)
                .response_timeout(self.patience)
                .build()
        };
        Ok(Connection::Cluster(Cluster {
            repeating: cluster(RETRIES)?.get_async_connection().await?,
            once: cluster(0)?.get_async_connection().await?,
        }))
    }

    fn terms(&self) -> ConnectOptions<'_> {
        ConnectOptions {
            user: self.user.as_deref(),
            password: self.password.as_deref(),
            patience: self.patience,
        }
    }

    /// Returns the known addresses, those of the settings first.
    fn addresses(&self) -> Vec<String> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds nodes of the store to the known addresses.
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

    /// Drops the connection of this attempt, so that the next command reconnects.
    fn forget(&self, attempt: u64) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if link.attempts == attempt && link.connection.take().is_some() {
            link.absent_since = Instant::now();
        }
    }

    /// Returns the reply to a command that may arrive twice.
    async fn ask(&self, command: Cmd, to: Addressee<'_>) -> Result<Value, CallError> {
        self.send(command, to, Sending::Repeated).await
    }

    /// Returns the reply to a command. One that may arrive once is sent again only when it was not executed: the
    /// connection had ended before, or another node has the key.
    async fn send(
        &self,
        command: Cmd,
        to: Addressee<'_>,
        sending: Sending,
    ) -> Result<Value, CallError> {
        let mut asked = 1;
        loop {
            let (attempt, connection) = self.connection().await?;
            let is_cluster = matches!(connection, Connection::Cluster(_));
            let reply = match (connection, &to) {
                (Connection::One(line), _) => match line.ask(&command).await {
                    Err(error) if is_unsent(&error) => {
                        if asked == ASKED_AGAIN_MAX {
                            return Err(CallError::NotSent(error.to_string()));
                        }
                        asked += 1;
                        continue;
                    }
                    reply => reply,
                },
                (Connection::Cluster(Cluster { mut once, mut repeating }), Addressee::Own)
                    if sending == Sending::Once =>
                {
                    match once.req_packed_command(&command).await {
                        // Only the library can ask the node to which a slot is being moved.
                        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::Ask) => {
                            repeating.req_packed_command(&command).await
                        }
                        Err(error) if is_elsewhere(&error) && asked < ASKED_AGAIN_MAX => {
                            // A new connection learns which node has which keys now.
                            self.forget(attempt);
                            sleep(Duration::from_millis(RETRY_MS.0)).await;
                            asked += 1;
                            continue;
                        }
                        reply => reply,
                    }
                }
                (Connection::Cluster(Cluster { repeating: mut all, .. }), Addressee::Own) => {
                    all.req_packed_command(&command).await
                }
                (
                    Connection::Cluster(Cluster { repeating: mut all, .. }),
                    Addressee::OwnerOf(key),
                ) => {
                    let route = Route::with_key(key, SlotAddr::Master);
                    let node = SingleNodeRoutingInfo::SpecificNode(route);
                    all.route_command(command.clone(), RoutingInfo::SingleNode(node)).await
                }
                (Connection::Cluster(Cluster { repeating: mut all, .. }), Addressee::Everyone) => {
                    let primaries = (MultipleNodeRoutingInfo::AllMasters, None);
                    all.route_command(command.clone(), RoutingInfo::MultiNode(primaries)).await
                }
                (
                    Connection::Cluster(Cluster { repeating: mut all, .. }),
                    Addressee::At(address),
                ) => {
                    let (host, port) = address.rsplit_once(':').unwrap_or((address, "6389"));
                    let node = SingleNodeRoutingInfo::ByAddress {
                        host: host.to_owned(),
                        port: port.parse().unwrap_or_default(),
                    };
                    all.route_command(command.clone(), RoutingInfo::SingleNode(node)).await
                }
            };
            if is_cluster && self.is_silent(&reply) {
                self.forget(attempt);
            }
            return self.judge(attempt, reply);
        }
    }

    /// Notes a reply of a cluster, or none in time. Reports whether the cluster has replied to nothing for as long as a
    /// request waits: then the library may be stuck in the middle of finding a new leader, and only another connection
    /// ends that.
    fn is_silent(&self, reply: &RedisResult<Value>) -> bool {
        let is_timeout = reply.as_ref().is_err_and(RedisError::is_timeout);
        if !is_timeout {
            self.heard.note();
        }
        is_timeout && self.heard.elapsed() >= self.patience
    }

    /// Returns the outcome of a command that was sent on the connection of this attempt.
    fn judge(&self, attempt: u64, reply: RedisResult<Value>) -> Result<Value, CallError> {
        let error = match with_refusal(reply) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        // A broken connection is dropped; a timeout alone does not prove it broken.
        if error.is_connection_dropped()
            || error.is_io_error() && !error.is_timeout()
            || error.kind() == ErrorKind::ClusterConnectionNotFound
        {
            self.forget(attempt);
        }
        Err(CallError::Unknown(error.to_string()))
    }
}

impl RespStore {
    async fn read_events(&self, follow: &Follow) -> Result<Events, CallError> {
        let command = command(&follow.arguments());
        if let (_, Connection::One(_)) = self.connection().await? {
            return decode_events(self.ask(command, Addressee::Own).await?);
        }
        let mut main = self.main.lock().await;
        let line = match main.take().filter(|line| !line.is_over()) {
            Some(line) => line,
            None => self.connect_main().await?,
        };
        let value = with_refusal(line.ask(&command).await);
        let value = value.map_err(|error| CallError::Unknown(error.to_string()))?;
        *main = Some(line);
        decode_events(value)
    }

    /// Returns the reply to one step of a list, from the server that the cursor names.
    async fn list(&self, list: &ListRead, read: &StoreRead) -> Result<StoreReply, CallError> {
        let (_, connection) = self.connection().await?;
        let server = list.cursor.server;
        let none = Ok(StoreReply::List(AccountList::default()));
        if let Connection::One(_) = connection {
            return match server {
                0 => {
                    decode_store(read, &self.ask(command(&read.arguments()), Addressee::Own).await?)
                }
                // The store has fewer servers now than when the cursor was issued.
                _ => none,
            };
        }
        let mut slots = cmd("CLUSTER");
        slots.arg("SLOTS");
        let mut primaries = primaries(&self.ask(slots, Addressee::OwnerOf(b"")).await?);
        // Sorted, so that a number means the same server in each call.
        primaries.sort_unstable();
        let Some(address) = primaries.get(server) else { return none };
        let reply = self.ask(command(&read.arguments()), Addressee::At(address)).await?;
        let mut reply = decode_store(read, &reply)?;
        if let StoreReply::List(AccountList { next: next @ None, .. }) = &mut reply {
            *next = ListCursor::after(server, 0, server + 1 == primaries.len());
        }
        Ok(reply)
    }
}

impl Service for RespStore {
    fn call(&self, request: Request) -> Call<'_> {
        Box::pin(async move {
            let sending = if request.is_repeatable() { Sending::Repeated } else { Sending::Once };
            let command = command(&request.arguments());
            let reply = self.send(command, Addressee::Own, sending).await?;
            decode(&request, &reply)
        })
    }

    fn read_store(&self, read: StoreRead) -> StoreCall<'_> {
        Box::pin(async move {
            let to = match &read {
                StoreRead::List(list) => return self.list(list, &read).await,
                StoreRead::Totals | StoreRead::Find { .. } => Addressee::Everyone,
                StoreRead::Statement(_) | StoreRead::Bounds | StoreRead::Ready => Addressee::Own,
            };
            match (self.ask(command(&read.arguments()), to).await?, &read) {
                (Value::Map(replies), StoreRead::Totals | StoreRead::Find { .. }) => {
                    let replies = replies.into_iter().map(|(_, reply)| reply);
                    join(&read, &replies.collect::<Vec<_>>())
                }
                (reply, _) => decode_store(&read, &reply),
            }
        })
    }

    fn follow(&self, follow: Follow) -> EventsCall<'_> {
        Box::pin(async move { self.read_events(&follow).await })
    }
}

/// Reports whether a node of a cluster has refused a command because of where its key is.
fn is_elsewhere(error: &RedisError) -> bool {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, Moved, TryAgain};
    matches!(
        error.kind(),
        ErrorKind::Server(Moved | TryAgain | ClusterDown | MasterDown | BusyLoading)
    )
}

/// Returns a reply, or why it did not arrive. A refusal is a [`Value::ServerError`].
fn with_refusal(reply: RedisResult<Value>) -> Result<Value, RedisError> {
    match reply.map_err(ServerError::try_from) {
        Ok(value) => Ok(value),
        Err(Ok(refusal)) => Ok(Value::ServerError(refusal)),
        Err(Err(error)) => Err(error),
    }
}

fn command(arguments: &Arguments) -> Cmd {
    let mut command = Cmd::new();
    arguments.iter().for_each(|argument| {
        command.arg(argument);
    });
    command
}

/// Returns the primaries in a reply of CLUSTER SLOTS, each once. Empty when the reply is an error.
fn primaries(slots: &Value) -> Vec<String> {
    // In a cluster every node knows the addresses of the others, so no host is empty.
    nodes(slots, "", 1)
}

/// Returns all nodes in a reply of CLUSTER SLOTS, each once. Empty when the reply is an error.
fn members(slots: &Value, asked: &str) -> Vec<String> {
    nodes(slots, asked, usize::MAX)
}

/// Returns the first `most` nodes of each slot range in a reply of CLUSTER SLOTS, each once. `asked` is the address of
/// the server that replied.
fn nodes(slots: &Value, asked: &str, most: usize) -> Vec<String> {
    let Value::Array(ranges) = slots else { return Vec::new() };
    let mut members = Vec::new();
    for range in ranges {
        let Value::Array(range) = range else { continue };
        for node in range.iter().skip(2).take(most) {
            let Value::Array(node) = node else { continue };
            let [host, Value::Int(port), ..] = &node[..] else { continue };
            let host = match host {
                Value::BulkString(host) if !host.is_empty() => String::from_utf8_lossy(host),
                // An empty host means the server that was asked.
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
