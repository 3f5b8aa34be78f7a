//! Programs that `scurry cluster`, `scurry replica` and `scurry bench` start on this machine. Those of the first two
//! run on when the tool ends; its next call finds them by a file in their directory.

mod ports;
mod process;
mod state;
mod table;
mod temporary_home;

pub(crate) use ports::free_ports;
pub(crate) use process::{Process, last_words, start, stop};
pub(crate) use state::{alone, read, write};
pub(crate) use table::print_table;
pub(crate) use temporary_home::TemporaryHome;

use anyhow::{Result, ensure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often is looked for what nobody tells.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// Looks until something has come about, at most: two minutes.
const POLLS: u32 = 2_400;

/// A wait, which ends early when Ctrl-C or SIGTERM comes.
pub(crate) struct Patience {
    interrupted: Arc<AtomicBool>,
}

impl Patience {
    /// From now on these signals end waits, and not the program.
    pub(crate) fn new() -> Result<Patience> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, interrupted.clone())?;
        }
        Ok(Patience { interrupted })
    }

    /// Fails when a signal has come.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Looks again and again: false when it has not come about within two minutes.
    pub(crate) fn until(&self, mut is_so: impl FnMut() -> Result<bool>) -> Result<bool> {
        for _ in 0..POLLS {
            self.check()?;
            if is_so()? {
                return Ok(true);
            }
            thread::sleep(POLL_EVERY); // tidy: allow (nobody tells when it has come about)
        }
        Ok(false)
    }
}

/// A child holds the sockets of its parent until it executes its program: tests that start one and
/// tests that ask which ports are free exclude each other.
#[cfg(test)]
pub(crate) static CHILDREN: std::sync::Mutex<()> = std::sync::Mutex::new(());
