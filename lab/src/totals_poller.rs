//! Reads a store's totals at an interval while it is loaded, as an operator would, and checks that each answer adds up.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::audit::totals;
use crate::client::Client;
use crate::clock::Clock;
use crate::figures::rounded;

/// Statistics of the reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TotalsReads {
    /// Number of reads.
    pub reads: u64,
    /// Longest read, microseconds.
    pub longest_us: f64,
}

/// Thread that reads the totals. It ends when this is finished or dropped.
#[derive(Debug)]
pub struct TotalsPoller {
    thread: JoinHandle<Result<TotalsReads>>,
    end: Sender<()>,
}

impl TotalsPoller {
    /// Starts the thread; the first read follows after one interval.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(mut client: Client, unit: &str, seconds: f64) -> Result<TotalsPoller> {
        let (end, ended) = channel::<()>();
        let unit = unit.to_owned();
        let every = Duration::try_from_secs_f64(seconds)?;
        let thread = std::thread::Builder::new().name("totals".to_owned()).spawn(move || {
            let mut told = TotalsReads::default();
            loop {
                match ended.recv_timeout(every) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(told),
                }
                let clock = Clock::start();
                let replies = client.call_each(&["SCUR.TOTALS"])?;
                let took = rounded(clock.nanos() as f64 / 1_000.0, 2);
                totals(&replies, &unit)?.check_conserved("the totals under load")?;
                told.reads += 1;
                told.longest_us = told.longest_us.max(took);
            }
        })?;
        Ok(TotalsPoller { thread, end })
    }

    /// Stops, and returns the statistics.
    ///
    /// # Errors
    /// When an answer did not add up, or a read failed.
    pub fn finish(self) -> Result<TotalsReads> {
        // Ignore the error: the thread may have ended already, and its own error is returned below.
        let _ = self.end.send(());
        let outcome = self.thread.join().map_err(|_| anyhow!("asking for totals panicked"))?;
        outcome.context("asking for totals")
    }
}
