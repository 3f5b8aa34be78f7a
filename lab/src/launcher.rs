//! `scurry-lab launch`, hidden: becomes the server that it is told to start, after binding itself to its cores and
//! asking the kernel to kill it when the lab ends. So a server that the lab started never outlives it, even when the
//! lab is killed, and no unsafe code is needed between fork and exec.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::cores::bind;

/// Command to launch, and where it runs.
#[derive(Debug)]
pub struct Launch {
    /// Cores to run on; empty means any.
    pub cores: Vec<usize>,
    /// Process id that must still be the parent.
    pub parent: i32,
    /// Program and its arguments.
    pub command: Vec<OsString>,
}

/// Replaces this process by the command. Returns only with an error.
///
/// # Errors
/// When the cores cannot be used or the program cannot be started.
pub fn launch(launch: &Launch) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("tying the server to the lab")?;
    let parent = Pid::as_raw(getppid());
    ensure!(parent == launch.parent, "the lab has gone");
    if !launch.cores.is_empty() {
        bind(None, &launch.cores)?;
    }
    let (program, arguments) = launch.command.split_first().context("no program to start")?;
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}
