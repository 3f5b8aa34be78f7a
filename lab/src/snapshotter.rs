//! Makes a server write a snapshot under load, and measures how long that takes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use crate::client::Client;
use crate::clock::Clock;
use crate::figures::rounded;
use crate::log_growth::LogCounts;
use crate::resp::Value;

/// Polling interval; the server rejects a request during a snapshot at almost no cost.
const EVERY: Duration = Duration::from_millis(20);

/// Snapshots that are requested under a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Snapshots {
    /// None: the server writes one when its log has grown enough.
    #[default]
    None,
    /// One, and the load ends when it is written.
    One,
}

/// Thread that requests the snapshot. It ends when this is finished or dropped.
#[derive(Debug)]
pub struct Snapshotter {
    thread: JoinHandle<Result<Option<f64>>>,
    end: Sender<()>,
    over: Arc<AtomicBool>,
}

impl Snapshotter {
    /// Connects and starts; returns None when no snapshot is requested.
    ///
    /// # Errors
    /// When the server does not accept the connection.
    pub fn start(address: SocketAddr, snapshots: Snapshots) -> Result<Option<Snapshotter>> {
        if snapshots == Snapshots::None {
            return Ok(None);
        }
        let mut client = Client::connect(address)?;
        let (end, ended) = channel::<()>();
        let over = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&over);
        let thread = std::thread::Builder::new().name("snapshots".to_owned()).spawn(move || {
            let outcome = one(&mut client, &ended);
            done.store(true, Ordering::Relaxed);
            outcome
        })?;
        Ok(Some(Snapshotter { thread, end, over }))
    }

    /// Returns the flag that is set when the thread is done: the snapshot is written, or the server has refused.
    pub fn over(&self) -> &AtomicBool {
        &self.over
    }

    /// Stops, and returns the seconds that the snapshot took.
    ///
    /// # Errors
    /// When the server refused, or the snapshot was not written.
    pub fn finish(self) -> Result<Option<f64>> {
        // Ignore the error: the thread may have ended already, and its own error is returned below.
        let _ = self.end.send(());
        let outcome = self.thread.join().map_err(|_| anyhow!("asking for snapshots panicked"))?;
        outcome.context("asking for snapshots")
    }
}

/// Requests a snapshot. Returns true when it has started, false while the server writes another.
fn begins(client: &mut Client) -> Result<bool> {
    let reply = client.call(&["SCUR.SNAPSHOT"])?;
    let is_busy = matches!(&reply, Value::Error(text) if text.contains("already"));
    let is_begun = !matches!(reply, Value::Error(_));
    ensure!(is_begun || is_busy, "SCUR.SNAPSHOT answers {reply}");
    Ok(is_begun)
}

/// Waits for the polling interval; returns true when the thread is to end.
fn is_ended(ended: &Receiver<()>) -> bool {
    !matches!(ended.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout))
}

fn one(client: &mut Client, ended: &Receiver<()>) -> Result<Option<f64>> {
    let mut written = count(client)?;
    if !begins(client)? {
        // Under this load the server may write snapshots one after the other by itself. So wait for the end of one:
        // then the next starts, requested or not.
        written = next(client, ended, written)?;
        begins(client)?;
    }
    let clock = Clock::start();
    next(client, ended, written)?;
    Ok(Some(rounded(clock.elapsed().as_secs_f64(), 3)))
}

/// Waits until the number of written snapshots exceeds `written`, and returns it.
fn next(client: &mut Client, ended: &Receiver<()>, written: u64) -> Result<u64> {
    loop {
        ensure!(!is_ended(ended), "a snapshot is not written before the load ends");
        let found = count(client)?;
        if found > written {
            return Ok(found);
        }
    }
}

/// Returns how many snapshots the server has written.
fn count(client: &mut Client) -> Result<u64> {
    let counts = LogCounts::ask(client)?.context("the server keeps nothing: use fsync or write")?;
    ensure!(counts.snapshots_failed == 0, "the server could not write one");
    Ok(counts.snapshots)
}
