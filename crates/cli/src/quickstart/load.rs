//! The load of a quickstart: sessions that reserve an estimate, report their use and end.

use anyhow::Result;
use scurry_cluster_client::{Address, Node};
use scurry_ledger::{
    BucketAttributes, Code, Command, Create, ItemKey, ItemRequest, Name, NewBucket, SessionRequest,
};
use scurry_service::{CallError, Reply, Request, SessionStep};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Number of accounts.
pub(super) const ACCOUNTS: u64 = 8;
/// Units of each account. The last one gets `LITTLE`, which its sessions use up after a while, so that denials can be
/// seen.
const CREDIT: i64 = 1_000_000_000;
const LITTLE: i64 = 20_000;
/// Units that a session requests.
const ESTIMATE: i64 = 300;
/// Sessions open at a time.
const OPEN: usize = 50;
const BUCKET: Name = Name::literal("main");
const UNIT: Name = Name::literal("ucent");
const ITEM: &str = "gpt-x";

/// Returns the id of an account.
pub(super) fn account(number: u64) -> String {
    format!("org-{number}")
}

/// The thread that makes the load. Dropping this stops it.
pub(super) struct Load {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    /// Starts a thread that creates the accounts and begins `rate` sessions per second. The accounts are created there
    /// and not here, because the server begins to serve only later.
    pub(super) fn start(store: SocketAddr, rate: u32) -> Result<Load> {
        let (stop, stopped) = mpsc::channel();
        let address = Address::new(&store.to_string(), None, None);
        let thread = thread::Builder::new().name("load".to_owned()).spawn(move || {
            let outcome =
                Node::connect(&address).map_err(anyhow::Error::from).and_then(|mut node| {
                    for number in 1..=ACCOUNTS {
                        is_ok(node.call(&create(number)))?;
                    }
                    let Some(pause) = Duration::from_secs(1).checked_div(rate) else {
                        return Ok(());
                    };
                    let mut sessions = Sessions::default();
                    while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                        sessions.go_on(&mut node)?;
                    }
                    Ok(())
                });
            // The server may stop before the load does.
            if let Err(error) = outcome {
                tracing::debug!("the load has ended: {error}");
            }
        })?;
        Ok(Load { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The thread has already logged its error.
            let _ = thread.join();
        }
    }
}

fn create(number: u64) -> Request {
    let credit = if number == ACCOUNTS { LITTLE } else { CREDIT };
    let attributes = BucketAttributes::default();
    let main = NewBucket { bucket: BUCKET, unit: UNIT, amount: credit, attributes };
    Request::write(account(number).as_bytes(), &Command::Create(Create::active(&[main])))
}

/// Open sessions, the oldest first.
#[derive(Default)]
struct Sessions {
    open: VecDeque<u64>,
    begun: u64,
}

impl Sessions {
    /// Begins a session, sends an update for one in the middle, and ends the oldest if enough are open.
    fn go_on(&mut self, node: &mut Node) -> Result<()> {
        self.begun += 1;
        let number = self.begun;
        let item = session_item(None, Some(ESTIMATE));
        let reply = node.call(&request(number, 0, SessionStep::Reserve, item));
        if is_ok(reply)? {
            self.open.push_back(number);
        }
        if let Some(&middle) = self.open.get(OPEN / 2) {
            let used = ESTIMATE / 2 + signed(middle % 100);
            let item = session_item(Some(used), Some(ESTIMATE));
            is_ok(node.call(&request(middle, 1, SessionStep::Update, item)))?;
        }
        if self.open.len() > OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            let item = session_item(Some(signed(oldest) % ESTIMATE), None);
            is_ok(node.call(&request(oldest, 2, SessionStep::Terminate, item)))?;
        }
        Ok(())
    }
}

/// A small number as an amount.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or_default()
}

/// The one item of a session.
fn session_item(used: Option<i64>, requested: Option<i64>) -> ItemRequest {
    let key = ItemKey::new(ITEM.as_bytes()).unwrap_or(ItemKey::Number(0));
    ItemRequest { key, unit: UNIT, used, requested, min: None }
}

/// A request about a session.
fn request(session: u64, number: u32, step: SessionStep, item: ItemRequest) -> Request {
    let id = format!("chat-{session}");
    let items = [item];
    let asked = SessionRequest {
        session: id.as_bytes(),
        request: number,
        items: &items,
        ..SessionRequest::default()
    };
    Request::write(account(1 + session % ACCOUNTS).as_bytes(), &step.command(asked))
}

/// Reports whether the answer is OK; a denial and a refusal are not.
fn is_ok(reply: Result<Reply, CallError>) -> Result<bool> {
    match reply {
        Ok(Reply::Answer(answered)) => Ok(answered.code() == Code::Ok),
        Ok(_) | Err(CallError::Refused(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
