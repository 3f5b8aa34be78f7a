//! Asks a store for its totals again and again while it is loaded, as an operator would, and checks
//! that each answer adds up.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::audit::totals;
use crate::client::Client;
use crate::clock::Clock;
use crate::figures::rounded;

/// Counts that were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// How often the totals were read.
    pub reads: u64,
    /// The longest that one took, microseconds.
    pub longest_us: f64,
}

/// The thread that asks. It ends when this is finished or dropped.
#[derive(Debug)]
pub struct Teller {
    thread: JoinHandle<Result<Told>>,
    end: Sender<()>,
}

impl Teller {
    /// Begins: the first question comes after as long as lies between two.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(mut client: Client, unit: &str, seconds: f64) -> Result<Teller> {
        let (end, ended) = channel::<()>();
        let unit = unit.to_owned();
        let every = Duration::try_from_secs_f64(seconds)?;
        let thread = std::thread::Builder::new().name("totals".to_owned()).spawn(move || {
            let mut told = Told::default();
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
        Ok(Teller { thread, end })
    }

    /// Asks no more.
    ///
    /// # Errors
    /// When an answer did not add up, or none came.
    pub fn finish(self) -> Result<Told> {
        // It may have ended by itself, with an error that is given below.
        let _ = self.end.send(());
        let outcome = self.thread.join().map_err(|_| anyhow!("asking for totals panicked"))?;
        outcome.context("asking for totals")
    }
}
