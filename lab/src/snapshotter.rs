//! Keeps a server writing snapshots: the next is asked for as soon as the last one is done.

use std::net::SocketAddr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use crate::client::Client;
use crate::resp::Value;

/// How often it is asked for: a refusal while one is written costs the server next to nothing.
const EVERY: Duration = Duration::from_millis(20);

/// The thread that asks. It ends when this is finished or dropped.
#[derive(Debug)]
pub struct Snapshotter {
    thread: JoinHandle<Result<()>>,
    end: Sender<()>,
}

impl Snapshotter {
    /// Connects and begins.
    ///
    /// # Errors
    /// When the server does not take the connection.
    pub fn start(address: SocketAddr) -> Result<Snapshotter> {
        let mut client = Client::connect(address)?;
        let (end, ended) = channel::<()>();
        let thread = std::thread::Builder::new().name("snapshots".to_owned()).spawn(move || {
            loop {
                let reply = client.call(&["SCUR.SNAPSHOT"])?;
                let busy = matches!(&reply, Value::Error(text) if text.contains("already"));
                let begun = !matches!(reply, Value::Error(_));
                ensure!(begun || busy, "SCUR.SNAPSHOT answers {reply}");
                match ended.recv_timeout(EVERY) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
            }
        })?;
        Ok(Snapshotter { thread, end })
    }

    /// Asks no more.
    ///
    /// # Errors
    /// When the server has refused.
    pub fn finish(self) -> Result<()> {
        // It may have ended by itself, with an error that is given below.
        let _ = self.end.send(());
        let outcome = self.thread.join().map_err(|_| anyhow!("asking for snapshots panicked"))?;
        outcome.context("asking for snapshots")
    }
}
