//! A file system in memory for what is shipped, which can be full and have room again. It is mounted in the test's own mount
//! namespace, so it disappears with its last process.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOM: &str = "8g";
/// Attempts to make it as large as what is on it, while more is written.
const TRIES_MAX: u32 = 200;

pub(super) struct TightDisk {
    at: PathBuf,
}

impl TightDisk {
    pub(super) fn mount(at: &Path) -> Result<TightDisk> {
        let disk = TightDisk { at: at.to_owned() };
        run(&["mount", "-t", "tmpfs", "-o", &format!("size={ROOM}"), "tmpfs", disk.path()?])?;
        Ok(disk)
    }

    /// Leaves it no free page.
    pub(super) fn fill(&self) -> Result<()> {
        for _ in 0..TRIES_MAX {
            let shown = run(&["df", "--output=used", "-k", self.path()?])?;
            let used = shown.lines().last().context("no size")?.trim().to_owned();
            // It may not be smaller than what was written meanwhile.
            if run(&["mount", "-o", &format!("remount,size={used}k"), self.path()?]).is_ok() {
                return Ok(());
            }
        }
        bail!("{} cannot be made full", self.at.display())
    }

    /// Gives it room again.
    pub(super) fn free(&self) -> Result<()> {
        run(&["mount", "-o", &format!("remount,size={ROOM}"), self.path()?]).map(drop)
    }

    fn path(&self) -> Result<&str> {
        self.at.to_str().context("a path that is text")
    }
}

impl Drop for TightDisk {
    fn drop(&mut self) {
        // A directory that is still in use is unmounted with its last process.
        let _ = self.path().and_then(|path| run(&["umount", "--lazy", path]));
    }
}

/// Runs a program to its end and returns its output.
fn run(words: &[&str]) -> Result<String> {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{} cannot be started", words[0]))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` fails: {}", words.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
