//! The load of a quickstart: sessions that reserve an estimate, report what they use and end.

use anyhow::Result;
use scurry_cluster_client::redis::{Cmd, Value, cmd};
use scurry_cluster_client::{Address, Node};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Accounts that are made.
pub(super) const ACCOUNTS: u64 = 8;
/// Units of each, but of the last, which has too little for its sessions after a while.
const CREDIT: u64 = 1_000_000_000;
const LITTLE: u64 = 20_000;
/// Units that a session asks for, and those that it has used in the middle and at its end.
const ESTIMATE: u64 = 300;
/// Sessions that are open at a time.
const OPEN: usize = 50;
const UNIT: &str = "ucent";
const ITEM: &str = "gpt-x";

/// An account's id.
pub(super) fn account(number: u64) -> String {
    format!("org-{number}")
}

/// The thread that makes the load. It ends with this.
pub(super) struct Load {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    /// Makes the accounts, in a thread of its own since the server serves only later, and begins so many sessions a second.
    pub(super) fn start(store: SocketAddr, rate: u32) -> Result<Load> {
        let (stop, stopped) = mpsc::channel();
        let address = Address::new(&store.to_string(), None, None);
        let thread = thread::Builder::new().name("load".to_owned()).spawn(move || {
            let outcome =
                Node::connect(&address).map_err(anyhow::Error::from).and_then(|mut node| {
                    for number in 1..=ACCOUNTS {
                        node.ask(&create(number))?;
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
            // The server may stop first.
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
            // It has told what there was to tell.
            let _ = thread.join();
        }
    }
}

fn create(number: u64) -> Cmd {
    let credit = if number == ACCOUNTS { LITTLE } else { CREDIT };
    let mut command = cmd("SCUR.CREATE");
    command.arg(account(number)).arg(&["BUCKET", "main", UNIT]).arg(credit);
    command
}

/// Sessions that are open, the oldest first.
#[derive(Default)]
struct Sessions {
    open: VecDeque<u64>,
    begun: u64,
}

impl Sessions {
    /// Begins a session, lets one in the middle report, and ends the oldest where there are enough.
    fn go_on(&mut self, node: &mut Node) -> Result<()> {
        self.begun += 1;
        let number = self.begun;
        let reply = node.ask(request("SCUR.RESERVE", number, 0).arg("REQUESTED").arg(ESTIMATE))?;
        if is_ok(&reply) {
            self.open.push_back(number);
        }
        if let Some(&middle) = self.open.get(OPEN / 2) {
            let used = ESTIMATE / 2 + middle % 100;
            let mut update = request("SCUR.UPDATE", middle, 1);
            node.ask(update.arg("USED").arg(used).arg("REQUESTED").arg(ESTIMATE))?;
        }
        if self.open.len() > OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            let used = oldest % ESTIMATE;
            node.ask(request("SCUR.TERMINATE", oldest, 2).arg("USED").arg(used))?;
        }
        Ok(())
    }
}

/// The beginning of a request about a session's one item.
fn request(name: &str, session: u64, number: u64) -> Cmd {
    let mut command = cmd(name);
    let account = account(1 + session % ACCOUNTS);
    command.arg(account).arg(format!("chat-{session}")).arg(number).arg(&["ITEM", ITEM, UNIT]);
    command
}

fn is_ok(reply: &Value) -> bool {
    match reply {
        Value::Array(parts) => parts.first().is_some_and(is_ok),
        Value::SimpleString(text) => text == "OK",
        Value::Okay => true,
        Value::BulkString(bytes) => bytes == b"OK",
        _ => false,
    }
}
