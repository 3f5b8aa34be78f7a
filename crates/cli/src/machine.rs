//! Programs that `scurry cluster`, `scurry replica` and `scurry bench` start on this machine. Nodes of a cluster or a
//! group keep running when the tool ends; its next call finds them by a file in their directory.

mod ports;
mod process;
mod state;
mod table;
mod temporary_home;

pub(crate) use ports::free_ports;
pub(crate) use process::{Process, log_tail, start, stop};
pub(crate) use state::{lock_directory, read, write};
pub(crate) use table::print_table;
pub(crate) use temporary_home::ScratchDirectory;

use anyhow::{Result, ensure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Interval of polling, for conditions that have no event.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// Bound of polls: two minutes.
const POLLS: u32 = 2_400;

/// A bounded wait, which ends early on Ctrl-C or SIGTERM.
pub(crate) struct InterruptibleWait {
    interrupted: Arc<AtomicBool>,
}

impl InterruptibleWait {
    /// Registers the signals, which end waits from now on instead of the program.
    pub(crate) fn new() -> Result<InterruptibleWait> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, interrupted.clone())?;
        }
        Ok(InterruptibleWait { interrupted })
    }

    /// Fails if a signal has arrived.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Polls until `is_so` returns true. Returns false if that takes more than two minutes.
    pub(crate) fn until(&self, mut is_so: impl FnMut() -> Result<bool>) -> Result<bool> {
        for _ in 0..POLLS {
            self.check()?;
            if is_so()? {
                return Ok(true);
            }
            thread::sleep(POLL_EVERY); // tidy: allow (the condition has no event to wait for)
        }
        Ok(false)
    }
}

/// Lock between tests that start a process and tests that look for free ports: a child holds the sockets of its parent
/// until it executes its program.
#[cfg(test)]
pub(crate) static CHILDREN: std::sync::Mutex<()> = std::sync::Mutex::new(());
