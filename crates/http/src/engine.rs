//! The embedded engine as the door asks it: RESP over pairs of sockets. Requests do not wait for each
//! other: a connection executes nothing while its replies wait for a sync of the log, and what is asked
//! meanwhile goes over another one, so that the next sync takes it along.

use crate::line::{Line, is_unsent};
use crate::service::{Repeat, Service, ServiceError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::Value;
use scurry_server::{Inlet, Inside, Passage};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// Connections at most. Each is one more group of requests that is executed while others wait for a
/// sync; with fewer the door's clients wait for two syncs, and each costs the engine a turn and the
/// door a buffer.
const LINES_MAX: usize = 16;

// Those that have been given up may still be there.
const _: () = assert!(2 * LINES_MAX <= Inside::CONNECTIONS_MAX);

/// The way to a new connection to the engine.
type Connect = dyn Fn() -> io::Result<Inlet> + Send + Sync;

/// Between two tries where another node leads, or none does.
const PAUSE: Duration = Duration::from_millis(20);

/// The way to the engine: connections that are made when they are needed, and anew when they are lost. On a node of
/// a group that does not lead it is the engine of the node that does.
pub(crate) struct Engine(Arc<Shared>);

struct Shared {
    connect: Box<Connect>,
    /// No answer takes longer.
    patience: Duration,
    /// How long a request is tried again that was not executed because another node leads, or none does, or that is
    /// harmless to repeat. None on a store on one machine, where nobody else can answer.
    wait: Duration,
    lines: Mutex<Vec<Line>>,
    /// Held by the one who makes a connection to another node: why the last one was not to be had.
    dialling: tokio::sync::Mutex<Option<String>>,
}

/// Why one try has brought no answer.
enum Miss {
    /// Another node executes commands, or none does; nothing was done.
    Elsewhere(Value),
    NotSent(String),
    /// The connection has ended without an answer.
    Ended(String),
    /// Nobody answers.
    Silent,
}

impl Engine {
    pub(crate) fn new(
        connect: impl Fn() -> io::Result<Inlet> + Send + Sync + 'static,
        patience: Duration,
        wait: Duration,
    ) -> Engine {
        let (lines, dialling) = (Mutex::default(), tokio::sync::Mutex::default());
        Engine(Arc::new(Shared { connect: Box::new(connect), patience, wait, lines, dialling }))
    }
}

impl Shared {
    /// The answer to a command; errors of RESP are among the values.
    async fn ask(self: &Arc<Self>, command: &[u8], repeat: Repeat) -> Result<Value, ServiceError> {
        let (mut until, mut lost) = (None, None);
        loop {
            let miss = match self.ask_once(command).await {
                Ok(value) => return Ok(value),
                Err(miss) => miss,
            };
            let until = *until.get_or_insert_with(|| Instant::now() + self.wait);
            let is_late = Instant::now() >= until;
            match (miss, &lost) {
                (Miss::Ended(why), _) if is_late || repeat == Repeat::Unclear => {
                    return Err(ServiceError::Unknown(why));
                }
                (Miss::Silent, _) => {
                    return Err(ServiceError::Unknown("the engine does not answer".to_owned()));
                }
                (Miss::Ended(why), _) => lost = Some(why),
                // What was sent first may have been done.
                (_, Some(why)) if is_late => return Err(ServiceError::Unknown(why.clone())),
                (Miss::NotSent(why), None) if is_late => return Err(ServiceError::NotSent(why)),
                (Miss::Elsewhere(refusal), None) if is_late => return Ok(refusal),
                (Miss::NotSent(_) | Miss::Elsewhere(_), _) => {}
            }
            sleep(PAUSE).await;
        }
    }

    async fn ask_once(self: &Arc<Self>, command: &[u8]) -> Result<Value, Miss> {
        let line = match self.line().await {
            Ok(line) => line,
            Err(why) => return Err(Miss::NotSent(why)),
        };
        let error = match line.ask_packed(command).await {
            Ok(value) if is_elsewhere(&value) => {
                // Those that were made with it lead there as well.
                self.lines().clear();
                return Err(Miss::Elsewhere(value));
            }
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        // Others would wait behind it.
        self.lines().retain(|kept| !kept.is_same(&line));
        if is_unsent(&error) {
            return Err(Miss::NotSent(error.to_string()));
        }
        Err(if error.is_timeout() { Miss::Silent } else { Miss::Ended(error.to_string()) })
    }

    /// The connection on which the fewest requests are under way: one without any, as long as one more
    /// is to be had.
    async fn line(self: &Arc<Self>) -> Result<Line, String> {
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
            (Ok(Inlet::Here(stream)), idlest) => self.keep(stream).map_err(|error| (error, idlest)),
            (Ok(Inlet::Leader(passage)), None) => return self.dial(passage).await,
            (Ok(Inlet::Leader(passage)), Some(line)) => {
                // To reach another node takes a while: the next request has that connection.
                let shared = Arc::clone(self);
                tokio::spawn(async move { shared.dial_one_more(passage).await });
                return Ok(line);
            }
            (Err(error), idlest) => Err((error, idlest)),
        };
        match made {
            Ok(line) => Ok(line),
            // The engine takes no more at present: it answers those that it has.
            Err((_, Some(line))) => Ok(line),
            Err((error, None)) => Err(error.to_string()),
        }
    }

    /// The first connection to another node. What comes of it holds for all who wait for one.
    async fn dial(self: &Arc<Self>, passage: Passage) -> Result<Line, String> {
        if let Ok(mut failed) = self.dialling.try_lock() {
            return self.open(passage, &mut failed).await;
        }
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
            // Without it the requests share those that there are.
            let _ = self.open(passage, &mut failed).await;
        }
    }

    async fn open(&self, passage: Passage, failed: &mut Option<String>) -> Result<Line, String> {
        let opened = spawn_blocking(move || passage.open()).await;
        let line = match opened {
            Ok(Ok(stream)) => self.keep(stream).map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the server stops".to_owned()),
        };
        *failed = line.as_ref().err().cloned();
        line
    }

    fn keep(&self, stream: UnixStream) -> io::Result<Line> {
        let line = Line::within(stream, self.patience)?;
        self.lines().push(line.clone());
        Ok(line)
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection with the fewest requests under way, and how many these are.
fn idlest(lines: &mut Vec<Line>) -> Option<(usize, Line)> {
    lines.retain(|line| !line.is_over());
    let counted = lines.iter().map(|line| (line.under_way(), line));
    let idlest = counted.min_by_key(|(under_way, _)| *under_way);
    idlest.map(|(under_way, line)| (under_way, line.clone()))
}

/// A refusal of a node that does not execute commands, or does not yet.
fn is_elsewhere(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if matches!(error.code(), "READONLY" | "CLUSTERDOWN"))
}

/// A command as it stands on the wire.
fn packed(arguments: &[Vec<u8>]) -> Vec<u8> {
    // Behind each argument and its length stand two line ends, before it a sign.
    let len: usize = arguments.iter().map(|argument| argument.len() + 16).sum();
    let mut packed = Vec::with_capacity(16 + len);
    // Nothing that is written into memory fails.
    let _ = write!(packed, "*{}\r\n", arguments.len());
    for argument in arguments {
        let _ = write!(packed, "${}\r\n", argument.len());
        packed.extend_from_slice(argument);
        packed.extend_from_slice(b"\r\n");
    }
    packed
}

impl Service for Engine {
    fn execute<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
        repeat: Repeat,
    ) -> BoxFuture<'a, Result<Value, ServiceError>> {
        let command = packed(arguments);
        async move { self.0.ask(&command, repeat).await }.boxed()
    }
}

#[cfg(test)]
mod tests;
