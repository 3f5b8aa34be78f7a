//! Which cores the loader and the system under test run on: never the same one, where there
//! are two.

use anyhow::{Context, Result};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The placement of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The loader's core.
    pub loader: usize,
    /// The core of the system under test.
    pub target: usize,
}

impl Cores {
    /// The first two cores that this process may use: the loader takes the lower one. `None`
    /// on a machine with one.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn choose() -> Result<Option<Cores>> {
        let allowed = sched_getaffinity(None).context("asking which cores may be used")?;
        let mut usable = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        Ok(match (usable.next(), usable.next()) {
            (Some(loader), Some(target)) => Some(Cores { loader, target }),
            _ => None,
        })
    }
}

/// Binds the calling thread, and whatever it starts, to one core.
///
/// # Errors
/// When this process may not use that core.
pub fn bind_this_thread(core: usize) -> Result<()> {
    bind(None, core)
}

/// Binds one thread of another process to one core.
///
/// # Errors
/// When the thread has gone.
pub fn bind(thread: Option<Pid>, core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(thread, &set).with_context(|| format!("binding a thread to core {core}"))
}
