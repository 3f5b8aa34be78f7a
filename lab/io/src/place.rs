//! Where a process runs and when it ends.

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Binds the calling thread, and whatever it starts, to one core.
///
/// # Errors
/// When this process may not use that core.
pub(crate) fn bind_to(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("binding to core {core}"))
}

/// Asks the kernel to end this process with its parent.
///
/// # Errors
/// When the parent has ended already.
pub(crate) fn end_with(parent: i32) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("tying the server to its parent")?;
    ensure!(Pid::as_raw(getppid()) == parent, "the parent has ended");
    Ok(())
}
