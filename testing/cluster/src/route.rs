//! How a client sends a request: repeatedly with the same id, until it has a clear answer.
//!
//! An answer is clear if it is a reply that is on the requested number of copies, or a refusal because of the request
//! itself. A timeout, too few copies, and an error of a node that does not serve the key now are not clear: the request
//! is sent again, and that must be safe.

use anyhow::{Result, ensure};
use scurry_cluster_client::redis::{self, Cmd};
use scurry_cluster_client::{Address, ClientError, Copies, CopiesOutcome, Store};
use scurry_conformance::Value;
use scurry_crash::clock;
use scurry_crash::wire::RequestWords;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// Copies of an account in this cluster: M.
pub(crate) const COPIES: u32 = 2;
/// Timeout of WAIT, ms.
const WAIT_MS: u64 = 400;
/// Timeouts of a reply. A client with the long one receives the answer of a primary that was paused and continues as if
/// it were still primary; one with the short one has asked another node by then.
pub(crate) const PATIENCE: [Duration; 2] = [Duration::from_secs(8), Duration::from_millis(2_500)];
/// Pause between two attempts.
pub(crate) const TRY_EVERY: Duration = Duration::from_millis(10);
/// Time after the end of the load within which a request must have a clear answer, s.
const LAST_PATIENCE_S: i64 = 60;
/// Errors of nodes that have not executed the request: they may serve the key later, or never.
const UNDONE: [&str; 8] =
    ["CLUSTERDOWN", "TRYAGAIN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK"];

/// Signals shared by all clients of a round.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Set when the load is over: requests under way are still finished.
    pub(crate) stop: AtomicBool,
    /// Time at which the load ended, ns. 0 before.
    pub(crate) stopped_at: AtomicI64,
    /// Set on a failure: clients give up.
    pub(crate) give_up: AtomicBool,
    /// Set while clients begin no request.
    hold: AtomicBool,
    /// How far the server's clock may be ahead of the clients', ms.
    pub(crate) ahead_ms: i64,
    /// Time of the last answer to any client, ns. 0 before.
    answered_at: AtomicI64,
    /// Longest time without an answer to any client, ns.
    pub(crate) gap_ns: AtomicI64,
}

impl Signals {
    /// Makes signals for clients with a clock that may be up to `ahead_ms` slower than the server's, ms.
    pub(crate) fn of_clients_behind(ahead_ms: i64) -> Signals {
        Signals { ahead_ms, ..Signals::default() }
    }

    pub(crate) fn stop(&self) {
        self.stopped_at.store(clock::ns(), Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Notes a clear answer to a client.
    pub(crate) fn answered(&self) {
        let now = clock::ns();
        let before = self.answered_at.fetch_max(now, Ordering::Relaxed);
        if before > 0 && !self.is_over() && !self.holds() {
            self.gap_ns.fetch_max(now - before, Ordering::Relaxed);
        }
    }

    /// Sets whether clients pause. A pause does not count as a gap.
    pub(crate) fn hold(&self, is: bool) {
        self.hold.store(is, Ordering::Relaxed);
        self.answered_at.store(0, Ordering::Relaxed);
    }

    pub(crate) fn holds(&self) -> bool {
        self.hold.load(Ordering::Relaxed)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Fails if a request must not be sent again.
    pub(crate) fn go_on(&self) -> Result<()> {
        let since = self.stopped_at.load(Ordering::Relaxed);
        let late = since > 0 && clock::ns() - since > LAST_PATIENCE_S * 1_000_000_000;
        ensure!(!late, "no clear answer within {LAST_PATIENCE_S} s after the load");
        ensure!(!self.give_up.load(Ordering::Relaxed), "given up");
        Ok(())
    }
}

/// Counts of one client in a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientCounts {
    /// Requests with a clear answer.
    pub(crate) acknowledged: u64,
    /// Repetitions of requests.
    pub(crate) resent: u64,
    /// Replies marked `replayed`.
    pub(crate) replayed: u64,
    /// Longest time between two clear answers, ns.
    pub(crate) gap_ns: i64,
    last_ns: Option<i64>,
}

impl ClientCounts {
    /// Ends the measurement of a gap: silence from here on does not count.
    pub(crate) fn rest(&mut self) {
        self.last_ns = None;
    }

    pub(crate) fn answered(&mut self) {
        let now = clock::ns();
        if let Some(last) = self.last_ns.replace(now) {
            self.gap_ns = self.gap_ns.max(now - last);
        }
        self.acknowledged += 1;
    }
}

/// A clear answer and the replies before it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) reply: Value,
    /// Replies that were not on enough copies.
    pub(crate) earlier: Vec<Value>,
    /// True if it was sent more than once.
    pub(crate) again: bool,
}

enum Routing {
    /// K = M: every answer is on all copies.
    All(Box<Copies>),
    /// K = 1, through the client that repeats requests by itself. Connected on first use.
    One(Option<Box<Store>>),
}

/// A client's connection to the system under test.
pub(crate) trait Ask: Send {
    /// Sends a request until it has a clear answer.
    fn ask(&mut self, key: &str, request: &RequestWords, signals: &Signals) -> Result<Answered>;

    /// Returns the counts of this client.
    fn seen(&mut self) -> &mut ClientCounts;
}

/// A client's connection to the cluster.
pub(crate) struct Route {
    address: Address,
    how: Routing,
    seen: ClientCounts,
}

impl Route {
    /// Makes a route that waits until an answer is on all copies.
    pub(crate) fn all(address: &str, patience: Duration) -> Route {
        let address = Address::new(address, None, None).with_patience(patience);
        let copies = Box::new(Copies::new(&address, COPIES, WAIT_MS));
        Route { address, how: Routing::All(copies), seen: ClientCounts::default() }
    }

    /// Makes a route that waits for the primary only.
    pub(crate) fn one(address: &str, patience: Duration) -> Route {
        let address = Address::new(address, None, None).with_patience(patience);
        Route { address, how: Routing::One(None), seen: ClientCounts::default() }
    }
}

impl Ask for Route {
    fn ask(&mut self, key: &str, request: &RequestWords, signals: &Signals) -> Result<Answered> {
        let mut command = Cmd::new();
        request.iter().for_each(|word| {
            command.arg(word);
        });
        let (mut earlier, mut tries) = (Vec::new(), 0);
        loop {
            tries += 1;
            match self.send(key, &command) {
                Sent::Clear(reply) => {
                    self.seen.answered();
                    self.note(&reply);
                    return Ok(Answered { reply, earlier, again: tries > 1 });
                }
                Sent::TooFew(reply) => {
                    self.note(&reply);
                    earlier.push(reply);
                }
                Sent::Nothing => {}
            }
            signals.go_on()?;
            self.seen.resent += 1;
            std::thread::sleep(TRY_EVERY); // tidy: allow (a cluster says nothing when it is ready again)
        }
    }

    fn seen(&mut self) -> &mut ClientCounts {
        &mut self.seen
    }
}

impl Route {
    fn note(&mut self, reply: &Value) {
        self.seen.replayed += u64::from(is_replay(reply));
    }

    fn send(&mut self, key: &str, command: &Cmd) -> Sent {
        match &mut self.how {
            Routing::All(copies) => match copies.run(key.as_bytes(), command) {
                Ok(CopiesOutcome::Enough { reply, .. }) => Sent::Clear(value(&reply)),
                Ok(CopiesOutcome::NotEnough { reply, .. }) => Sent::TooFew(value(&reply)),
                Ok(CopiesOutcome::Refused(reply)) => refused(value(&reply)),
                Err(_) => Sent::Nothing,
            },
            Routing::One(store) => {
                if store.is_none() {
                    *store = Store::connect(&self.address).ok().map(Box::new);
                }
                match store.as_mut().map(|store| store.ask(command)) {
                    Some(Ok(reply)) => Sent::Clear(value(&reply)),
                    Some(Err(ClientError::Failed(_, error))) => match error.code() {
                        Some(code) => {
                            let detail = error.detail().unwrap_or_default();
                            refused(Value::Error(format!("{code} {detail}")))
                        }
                        None => Sent::Nothing,
                    },
                    Some(Err(_)) | None => Sent::Nothing,
                }
            }
        }
    }
}

enum Sent {
    Clear(Value),
    TooFew(Value),
    Nothing,
}

fn refused(reply: Value) -> Sent {
    if is_undone(&reply) { Sent::Nothing } else { Sent::Clear(reply) }
}

/// Reports whether a reply is an error of a node that has not executed the request.
pub(crate) fn is_undone(reply: &Value) -> bool {
    let Value::Error(text) = reply else { return false };
    UNDONE.iter().any(|code| text.split(' ').next() == Some(code))
}

/// Reports whether a reply is a stored answer.
pub(crate) fn is_replay(reply: &Value) -> bool {
    matches!(reply, Value::Array(parts) if parts.len() == 4 && parts[1] == Value::Int(1))
}

/// Converts a reply to the type that tests compare.
fn value(reply: &redis::Value) -> Value {
    match reply {
        redis::Value::Nil => Value::Nil,
        redis::Value::Int(number) => Value::Int((*number).into()),
        redis::Value::BulkString(bytes) => Value::Word(bytes.clone()),
        redis::Value::SimpleString(text) => Value::Word(text.clone().into_bytes()),
        redis::Value::Okay => Value::Word(b"OK".to_vec()),
        redis::Value::Array(parts) => Value::Array(parts.iter().map(value).collect()),
        redis::Value::ServerError(error) => {
            Value::Error(format!("{} {}", error.code(), error.details().unwrap_or_default()))
        }
        other => Value::Error(format!("a reply of another kind: {other:?}")),
    }
}
