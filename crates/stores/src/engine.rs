//! The store of a door that runs in an engine's process. Requests on accounts go to the cores of this process as mail,
//! and replies return typed. On a follower of a group they go to the leader, in RESP over the connections between
//! nodes. Reads of the whole store and of events go in RESP in both cases, here over pairs of sockets, because the cores of a node
//! answer these together; the words stay in this file. A connection executes
//! nothing while its replies wait for a sync of the log, so later requests use another connection and are part of the
//! next sync.

use crate::line::{PipelinedConnection, is_unsent};
use redis::Value;
use scurry_cluster_client::{decode, decode_events, decode_store};
use scurry_server::{Calls, CoreAccess, DoorRoute, Passage};
use scurry_service::{
    AccountList, Arguments, Call, CallError, EventsCall, Follow, Refusal, Reply, Request, Service,
    StoreCall, StoreRead, StoreReply,
};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

/// Maximum number of connections. Each holds one more group of requests that executes while others wait for a sync.
/// With fewer, clients of the door wait for two syncs. Each connection costs the engine a turn and the door a buffer.
const LINES_MAX: usize = 16;

// Abandoned connections may still be open.
const _: () = assert!(2 * LINES_MAX <= CoreAccess::CONNECTIONS_MAX);

/// Opens a connection to the engine, or says how to reach the leader.
type Connect = dyn Fn() -> io::Result<DoorRoute> + Send + Sync;

/// Why there is no answer within the timeout.
const SILENT: &str = "the engine does not answer";
/// Timeout of one answer of the cores of this process.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a request is retried on a node of a group while no leader can be reached.
const WAIT: Duration = Duration::from_secs(1);
/// Pause between two tries while another node leads, or none does.
const PAUSE: Duration = Duration::from_millis(20);

/// The engine of this process, or on a follower of a group that of the leader. Connections are opened when they are
/// needed, and reopened when they are lost.
pub struct Engine(Arc<Shared>);

/// Returns the way to the cores of this process; None if they do not execute commands now.
type CoreCalls = dyn Fn() -> Option<Calls> + Send + Sync;

struct Shared {
    connect: Box<Connect>,
    here: Box<CoreCalls>,
    /// Timeout of one answer.
    patience: Duration,
    /// How long to retry a request that was not executed, since another node leads or none does, or that is safe to
    /// repeat. Zero for a store on one machine, where no other node can answer.
    wait: Duration,
    lines: Mutex<Vec<PipelinedConnection>>,
    /// Held while a connection to the leader is being opened. Holds the reason why the last attempt failed.
    dialling: tokio::sync::Mutex<Option<String>>,
}

/// Why one try brought no answer.
enum TryFailure<T> {
    /// Another node leads, or none does. Nothing was executed.
    Elsewhere(T),
    /// The request was not sent, for this reason.
    NotSent(String),
    /// The connection ended without an answer, for this reason.
    Ended(String),
    /// The engine did not answer within the timeout.
    Silent,
}

/// The retries for one answer: from the first failure until `wait` is over.
struct Tries {
    wait: Duration,
    /// The request may be sent again although it may have been executed.
    repeatable: bool,
    until: Option<Instant>,
    /// Why a connection ended on which the request may have been executed.
    lost: Option<String>,
}

impl Tries {
    fn new(wait: Duration, repeatable: bool) -> Tries {
        Tries { wait, repeatable, until: None, lost: None }
    }

    /// Decides after a failed try whether to try again, or which result to return.
    fn judge<T>(&mut self, miss: TryFailure<T>) -> ControlFlow<Result<T, CallError>> {
        // The time for retries starts with the first failure.
        let until = *self.until.get_or_insert_with(|| Instant::now() + self.wait);
        let is_late = Instant::now() >= until;
        ControlFlow::Break(match (miss, &self.lost) {
            // It may have been executed, and is not sent again.
            (TryFailure::Ended(why), _) if is_late || !self.repeatable => {
                Err(CallError::Unknown(why))
            }
            (TryFailure::Silent, _) => Err(CallError::Unknown(SILENT.to_owned())),
            (TryFailure::Ended(why), _) => {
                self.lost = Some(why);
                return ControlFlow::Continue(());
            }
            // An earlier try may have been executed, so the outcome is unknown.
            (_, Some(why)) if is_late => Err(CallError::Unknown(why.clone())),
            (TryFailure::NotSent(why), None) if is_late => Err(CallError::NotSent(why)),
            (TryFailure::Elsewhere(refusal), None) if is_late => Ok(refusal),
            (TryFailure::NotSent(_) | TryFailure::Elsewhere(_), _) => {
                return ControlFlow::Continue(());
            }
        })
    }
}

impl Engine {
    /// Returns the store of a door beside the server in this process. The runtime is the door's.
    pub fn beside(inside: &CoreAccess, runtime: &Handle) -> Engine {
        let (way, own) = (inside.clone(), inside.clone());
        let wait = if inside.is_grouped() { WAIT } else { Duration::ZERO };
        let calls = inside.calls();
        runtime.spawn(calls.clone().run());
        let here = move || own.leads().then(|| calls.clone());
        Engine::new(move || way.inlet().map_err(io::Error::other), here, PATIENCE, wait)
    }

    /// Returns the store of the cores of this process. `connect` opens a connection to them, `here` returns their
    /// intake while they can execute requests on accounts. `patience` is the timeout of an answer, and `wait` how long a
    /// request is retried while no leader can be reached.
    pub fn new(
        connect: impl Fn() -> io::Result<DoorRoute> + Send + Sync + 'static,
        here: impl Fn() -> Option<Calls> + Send + Sync + 'static,
        patience: Duration,
        wait: Duration,
    ) -> Engine {
        let (lines, dialling) = (Mutex::default(), tokio::sync::Mutex::default());
        let (connect, here) = (Box::new(connect), Box::new(here));
        Engine(Arc::new(Shared { connect, here, patience, wait, lines, dialling }))
    }
}

impl Shared {
    async fn call(self: &Arc<Self>, request: Request) -> Result<Reply, CallError> {
        let mut tries = Tries::new(self.wait, request.is_repeatable());
        loop {
            let miss = match self.call_once(request.clone()).await {
                Ok(outcome) => return outcome,
                Err(miss) => miss,
            };
            if let ControlFlow::Break(outcome) = tries.judge(miss) {
                return outcome?;
            }
            sleep(PAUSE).await;
        }
    }

    async fn read_store(self: &Arc<Self>, read: StoreRead) -> Result<StoreReply, CallError> {
        let command = match &read {
            // This store is one server.
            StoreRead::List(list) if list.cursor.server > 0 => {
                return Ok(StoreReply::List(AccountList::default()));
            }
            // A node that no longer leads answers PING, but refuses to read a key.
            StoreRead::Ready => {
                let mut command = Arguments::new("EXISTS");
                command.push("readyz");
                command
            }
            read => read.arguments(),
        };
        decode_store(&read, &self.ask(&command.packed()).await?)
    }

    /// Returns the answer to a command that changes nothing. Errors of RESP are among the values.
    async fn ask(self: &Arc<Self>, command: &[u8]) -> Result<Value, CallError> {
        let mut tries = Tries::new(self.wait, true);
        loop {
            let miss = match self.ask_once(command).await {
                Ok(value) => return Ok(value),
                Err(miss) => miss,
            };
            if let ControlFlow::Break(outcome) = tries.judge(miss) {
                return outcome;
            }
            sleep(PAUSE).await;
        }
    }

    /// Makes one try to execute a request, on the cores of this process if they execute commands.
    async fn call_once(
        self: &Arc<Self>,
        request: Request,
    ) -> Result<Result<Reply, CallError>, TryFailure<Result<Reply, CallError>>> {
        let Some(calls) = (self.here)() else {
            let reply = self.ask_once(&request.arguments().packed()).await;
            return match reply {
                Ok(value) => Ok(decode(&request, &value)),
                Err(TryFailure::Elsewhere(value)) => {
                    Err(TryFailure::Elsewhere(decode(&request, &value)))
                }
                Err(TryFailure::NotSent(why)) => Err(TryFailure::NotSent(why)),
                Err(TryFailure::Ended(why)) => Err(TryFailure::Ended(why)),
                Err(TryFailure::Silent) => Err(TryFailure::Silent),
            };
        };
        match timeout(self.patience, calls.send(request)).await {
            Ok(Err(CallError::NotSent(why))) => Err(TryFailure::NotSent(why)),
            Err(_) => Err(TryFailure::Silent),
            Ok(Err(CallError::Unknown(why))) => Err(TryFailure::Ended(why)),
            Ok(Err(CallError::Refused(Refusal::Store(text)))) if says_elsewhere(&text) => {
                Err(TryFailure::Elsewhere(Err(Refusal::Store(text).into())))
            }
            Ok(outcome) => Ok(outcome),
        }
    }

    async fn ask_once(self: &Arc<Self>, command: &[u8]) -> Result<Value, TryFailure<Value>> {
        let line = match self.line().await {
            Ok(line) => line,
            Err(why) => return Err(TryFailure::NotSent(why)),
        };
        let error = match line.ask_packed(command).await {
            Ok(value) if is_elsewhere(&value) => {
                // The other connections lead to the same node: drop them all.
                self.lines().clear();
                return Err(TryFailure::Elsewhere(value));
            }
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        // Later requests on this connection would wait after the lost one.
        self.lines().retain(|kept| !kept.is_same(&line));
        if is_unsent(&error) {
            return Err(TryFailure::NotSent(error.to_string()));
        }
        Err(if error.is_timeout() {
            TryFailure::Silent
        } else {
            TryFailure::Ended(error.to_string())
        })
    }

    /// Returns the connection with the fewest requests under way. Opens another one when all are busy and [`LINES_MAX`]
    /// allows it.
    async fn line(self: &Arc<Self>) -> Result<PipelinedConnection, String> {
        let idlest = {
            let mut lines = self.lines();
            let idlest = idlest(&mut lines);
            if let Some((under_way, line)) = &idlest
                && (*under_way == 0 || lines.len() >= LINES_MAX)
            {
                return Ok(line.clone());
            }
            idlest.map(|(_, line)| line)
        };
        let made = match ((self.connect)(), idlest) {
            (Ok(DoorRoute::Here(stream)), idlest) => {
                self.keep(stream).map_err(|error| (error, idlest))
            }
            (Ok(DoorRoute::Leader(passage)), None) => return self.dial(passage).await,
            (Ok(DoorRoute::Leader(passage)), Some(line)) => {
                // Connecting to another node takes time: only later requests use that connection.
                let shared = Arc::clone(self);
                tokio::spawn(async move { shared.dial_one_more(passage).await });
                return Ok(line);
            }
            (Err(error), idlest) => Err((error, idlest)),
        };
        match made {
            Ok(line) => Ok(line),
            // The engine accepts no more connections at present: share an existing one.
            Err((_, Some(line))) => Ok(line),
            Err((error, None)) => Err(error.to_string()),
        }
    }

    /// Opens the first connection to the leader. All requests that wait for it share the outcome.
    async fn dial(self: &Arc<Self>, passage: Passage) -> Result<PipelinedConnection, String> {
        if let Ok(mut failed) = self.dialling.try_lock() {
            return self.open(passage, &mut failed).await;
        }
        // Another task is connecting: wait for its outcome.
        let mut failed = self.dialling.lock().await;
        if let Some((_, line)) = idlest(&mut self.lines()) {
            return Ok(line);
        }
        match &*failed {
            Some(why) => Err(why.clone()),
            None => self.open(passage, &mut failed).await,
        }
    }

    async fn dial_one_more(self: &Arc<Self>, passage: Passage) {
        if let Ok(mut failed) = self.dialling.try_lock() {
            // If it fails, requests share the existing connections.
            let _ = self.open(passage, &mut failed).await;
        }
    }

    async fn open(
        &self,
        passage: Passage,
        failed: &mut Option<String>,
    ) -> Result<PipelinedConnection, String> {
        let opened = spawn_blocking(move || passage.open()).await;
        let line = match opened {
            Ok(Ok(stream)) => self.keep(stream).map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the server stops".to_owned()),
        };
        *failed = line.as_ref().err().cloned();
        line
    }

    fn keep(&self, stream: UnixStream) -> io::Result<PipelinedConnection> {
        let line = PipelinedConnection::within(stream, self.patience)?;
        self.lines().push(line.clone());
        Ok(line)
    }

    fn lines(&self) -> MutexGuard<'_, Vec<PipelinedConnection>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the connection with the fewest requests under way, and their number. Drops ended connections.
fn idlest(lines: &mut Vec<PipelinedConnection>) -> Option<(usize, PipelinedConnection)> {
    lines.retain(|line| !line.is_over());
    let counted = lines.iter().map(|line| (line.requests_in_flight(), line));
    let idlest = counted.min_by_key(|(under_way, _)| *under_way);
    idlest.map(|(under_way, line)| (under_way, line.clone()))
}

/// Reports whether a reply says that this node does not execute commands, or not yet.
fn is_elsewhere(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if says_elsewhere(error.code()))
}

/// Reports the same for the text of an error or its first word.
fn says_elsewhere(text: &str) -> bool {
    matches!(text.split(' ').next(), Some("READONLY" | "CLUSTERDOWN"))
}

impl Service for Engine {
    fn call(&self, request: Request) -> Call<'_> {
        // A store on one machine gets one try. Its future is small: the request has left already.
        if self.0.wait.is_zero()
            && let Some(calls) = (self.0.here)()
        {
            let reply = timeout(self.0.patience, calls.send(request));
            return Box::pin(async move {
                let is_silent = |_| Err(CallError::Unknown(SILENT.to_owned()));
                reply.await.unwrap_or_else(is_silent)
            });
        }
        Box::pin(async move { self.0.call(request).await })
    }

    fn read_store(&self, read: StoreRead) -> StoreCall<'_> {
        Box::pin(async move { self.0.read_store(read).await })
    }

    fn follow(&self, follow: Follow) -> EventsCall<'_> {
        Box::pin(async move { decode_events(self.0.ask(&follow.arguments().packed()).await?) })
    }
}

#[cfg(test)]
mod tests;
