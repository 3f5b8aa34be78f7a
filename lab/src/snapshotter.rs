//! Has a server write snapshots under load: one, or the next as soon as the last one is done.

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

/// How often it is asked for: a refusal while one is written costs the server next to nothing.
const EVERY: Duration = Duration::from_millis(20);

/// Snapshots that are asked for under a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Snapshots {
    /// None: the server writes one when its log has grown enough.
    #[default]
    None,
    /// One, and the load ends with it.
    One,
}

/// The thread that asks. It ends when this is finished or dropped.
#[derive(Debug)]
pub struct Snapshotter {
    thread: JoinHandle<Result<Option<f64>>>,
    end: Sender<()>,
    over: Arc<AtomicBool>,
}

impl Snapshotter {
    /// Connects and begins; none where nothing is asked for.
    ///
    /// # Errors
    /// When the server does not take the connection.
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

    /// Set when nothing more is asked for: the one snapshot is written, or the server has refused.
    pub fn over(&self) -> &AtomicBool {
        &self.over
    }

    /// Asks no more. Gives the seconds that the one snapshot took.
    ///
    /// # Errors
    /// When the server has refused, or the one snapshot is not written.
    pub fn finish(self) -> Result<Option<f64>> {
        // It may have ended by itself, with an error that is given below.
        let _ = self.end.send(());
        let outcome = self.thread.join().map_err(|_| anyhow!("asking for snapshots panicked"))?;
        outcome.context("asking for snapshots")
    }
}

/// True when the server has begun one; false while it writes another.
fn begins(client: &mut Client) -> Result<bool> {
    let reply = client.call(&["SCUR.SNAPSHOT"])?;
    let is_busy = matches!(&reply, Value::Error(text) if text.contains("already"));
    let is_begun = !matches!(reply, Value::Error(_));
    ensure!(is_begun || is_busy, "SCUR.SNAPSHOT answers {reply}");
    Ok(is_begun)
}

/// True when nobody waits for more.
fn is_ended(ended: &Receiver<()>) -> bool {
    !matches!(ended.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout))
}

fn one(client: &mut Client, ended: &Receiver<()>) -> Result<Option<f64>> {
    let mut written = count(client)?;
    if !begins(client)? {
        // Under this load the server may write one after the other by itself: the next begins with the end
        // of this one, asked for or not.
        written = next(client, ended, written)?;
        begins(client)?;
    }
    let clock = Clock::start();
    next(client, ended, written)?;
    Ok(Some(rounded(clock.elapsed().as_secs_f64(), 3)))
}

/// Waits until more than so many are written, and gives how many.
fn next(client: &mut Client, ended: &Receiver<()>, written: u64) -> Result<u64> {
    loop {
        ensure!(!is_ended(ended), "a snapshot is not written before the load ends");
        let found = count(client)?;
        if found > written {
            return Ok(found);
        }
    }
}

/// Snapshots that the server has written.
fn count(client: &mut Client) -> Result<u64> {
    let counts = LogCounts::ask(client)?.context("the server keeps nothing: use fsync or write")?;
    ensure!(counts.snapshots_failed == 0, "the server could not write one");
    Ok(counts.snapshots)
}
