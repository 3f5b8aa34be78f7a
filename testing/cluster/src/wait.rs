//! Polls the state of processes, finds free ports, and prints tables of results.

use anyhow::{Context, Result, bail};
use scurry_crash::clock;
use std::fmt;
use std::net::TcpListener;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval of polling.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(40);
/// Timeout of a wait, unless the processes need longer, s.
pub(crate) const PATIENCE_S: i64 = 90;

/// Processes that a test waits for.
pub(crate) trait WatchedProcesses {
    /// Returns the flag that interrupts the wait.
    fn interrupted(&self) -> &AtomicBool;

    /// Fails if a process has ended without a signal of ours.
    fn check(&mut self) -> Result<()>;

    /// Returns the timeout of a wait, s.
    fn patience_s(&self) -> i64 {
        PATIENCE_S
    }
}

/// Waits until `look` succeeds. Fails at once if a process has ended by itself.
pub(crate) fn until<W: WatchedProcesses>(
    watched: &mut W,
    what: &str,
    mut look: impl FnMut(&W) -> Result<()>,
) -> Result<()> {
    let patience_s = watched.patience_s();
    let end = clock::ns() + patience_s * 1_000_000_000;
    loop {
        watched.check()?;
        let Err(error) = look(watched) else { return Ok(()) };
        if clock::ns() > end {
            return Err(error).with_context(|| format!("not within {patience_s} s: {what}"));
        }
        pass(watched, LOOK_EVERY)?;
    }
}

/// Sleeps, unless the test is interrupted.
pub(crate) fn pass(watched: &impl WatchedProcesses, time: Duration) -> Result<()> {
    if watched.interrupted().load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    std::thread::sleep(time); // tidy: allow (processes say nothing when they have become others)
    Ok(())
}

/// Returns the first of `count` consecutive free ports in this range.
pub(crate) fn free_ports(among: Range<u16>, count: u16) -> Result<u16> {
    let blocks = (among.end - among.start) / count;
    // Processes that start at the same time begin their search at different blocks.
    let begin = u16::try_from(std::process::id() % u32::from(blocks))?;
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    (0..blocks)
        .map(|block| among.start + (begin + block) % blocks * count)
        .find(|&first| (first..first + count).all(is_free))
        .context("no free ports")
}

/// Writes a table with this head. A skipped row has its name and the reason.
pub(crate) fn write_table<'r, const N: usize>(
    f: &mut fmt::Formatter<'_>,
    head: [&str; N],
    rows: impl Iterator<Item = Result<[String; N], (&'r str, &'r str)>>,
) -> fmt::Result {
    writeln!(f, "| {} |", head.join(" | "))?;
    writeln!(f, "|{}", "---|".repeat(N))?;
    for row in rows {
        match row {
            Ok(cells) => writeln!(f, "| {} |", cells.join(" | "))?,
            Err((name, why)) => writeln!(f, "| {name} | skipped: {why} |{}", " |".repeat(N - 2))?,
        }
    }
    Ok(())
}
