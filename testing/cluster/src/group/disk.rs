//! What a node's directory is on: the directory of the test, or a device of its own, which can become full and can
//! stand still. It is mounted in the test's own namespace, so it goes with the last process there.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of a device: a node sets 128 MiB aside for the log of each thread, and a round may need 64 more.
const DEVICE: &str = "1200M";

/// A kind of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    /// As it is.
    Plain,
    /// A device on a file.
    Device,
}

/// A device of a node.
pub(crate) struct Mounted {
    at: PathBuf,
    is_frozen: bool,
}

impl Disk {
    /// Makes it there; none for what needs nothing.
    pub(crate) fn mount(self, at: &Path) -> Result<Option<Mounted>> {
        fs::create_dir_all(at)?;
        if self == Disk::Plain {
            return Ok(None);
        }
        let (path, file) = (text(at)?, at.with_extension("img"));
        let file = text(&file)?;
        run(&["truncate", "-s", DEVICE, file])?;
        run(&["mkfs.ext4", "-q", "-F", file])?;
        run(&["mount", "-o", "loop", file, path])?;
        Ok(Some(Mounted { at: at.to_owned(), is_frozen: false }))
    }

    /// An error, where it cannot be made, says why.
    pub(crate) fn possible(self, dir: &Path) -> Result<()> {
        let at = dir.join("try");
        if let Some(mut mounted) = self.mount(&at)? {
            mounted.freeze()?;
        }
        Ok(())
    }
}

impl Mounted {
    /// Takes all the room that is left.
    pub(crate) fn fill(&self) -> Result<()> {
        let file = self.ballast();
        let (file, mut taken) = (text(&file)?, 0_u64);
        for len in [64 << 20, 1 << 20, 64 << 10, 4 << 10] {
            let (at, bytes) = (|taken: u64| taken.to_string(), len.to_string());
            while run(&["fallocate", "-o", &at(taken), "-l", &bytes, file]).is_ok() {
                taken += len;
            }
        }
        ensure!(taken > 0, "there was no room to take");
        Ok(())
    }

    /// Makes it stand still: all that is written waits.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        self.is_frozen = true;
        run(&["fsfreeze", "--freeze", text(&self.at)?])
    }

    /// Undoes all of it.
    pub(crate) fn heal(&mut self) {
        if self.is_frozen {
            self.is_frozen = false;
            // It may be so already.
            let _ = run(&["fsfreeze", "--unfreeze", &self.at.to_string_lossy()]);
        }
        // It may not be there.
        let _ = fs::remove_file(self.ballast());
    }

    fn ballast(&self) -> PathBuf {
        self.at.join("ballast")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.heal();
        // Whoever has files open there keeps it for as long as that; it goes with the test in any case.
        let _ = run(&["umount", "--lazy", &self.at.to_string_lossy()]);
        let _ = fs::remove_file(self.at.with_extension("img"));
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is text")
}

fn run(words: &[&str]) -> Result<()> {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{} cannot be started", words[0]))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` fails: {}", words.join(" "), said.trim());
    Ok(())
}
