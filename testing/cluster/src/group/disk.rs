//! What a node's directory is on: the directory of the test, or a device of its own, which can become full, stand
//! still and answer with errors. It is mounted in the test's own namespace, so it goes with the last process there.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of a device: a node sets 128 MiB aside for the log of each thread, and a round may need as much again.
const DEVICE: &str = "2G";
/// Bytes of which a thin device is made as they are written.
const THIN: &str = "size=400m";
/// Bytes of a page of it, KiB.
const PAGE_KIB: &str = "4";

/// The file that takes the room of others.
const BALLAST: &str = "ballast";

/// A kind of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    /// As it is.
    Plain,
    /// A device on a file.
    Device,
    /// A device on a file that may lack the bytes for it: then it answers with errors.
    Thin,
}

/// A device of a node.
pub(crate) struct Mounted {
    at: PathBuf,
    image: PathBuf,
    /// The file system of the file, where it is one of its own.
    under: Option<PathBuf>,
    is_frozen: bool,
}

impl Disk {
    /// Makes it there; none for what needs nothing.
    pub(crate) fn mount(self, at: &Path) -> Result<Option<Mounted>> {
        fs::create_dir_all(at)?;
        let under = at.with_extension("under");
        let (image, under) = match self {
            Disk::Plain => return Ok(None),
            Disk::Device => (at.with_extension("img"), None),
            Disk::Thin => (under.join("img"), Some(under)),
        };
        if let Some(under) = &under {
            fs::create_dir_all(under)?;
            run(&["mount", "-t", "tmpfs", "-o", THIN, "tmpfs", text(under)?])?;
        }
        run(&["truncate", "-s", DEVICE, text(&image)?])?;
        run(&["mkfs.ext4", "-q", "-F", text(&image)?])?;
        let mounted = Mounted { at: at.to_owned(), image, under, is_frozen: false };
        mounted.mount()?;
        Ok(Some(mounted))
    }

    /// An error, where it cannot be made, says why.
    pub(crate) fn possible(self, dir: &Path) -> Result<()> {
        let at = dir.join("try");
        match self.mount(&at)? {
            Some(mut mounted) if self == Disk::Device => mounted.freeze(),
            _ => Ok(()),
        }
    }
}

impl Mounted {
    fn mount(&self) -> Result<()> {
        run(&["mount", "-o", "loop,errors=remount-ro", text(&self.image)?, text(&self.at)?])?;
        if self.under.is_some() { self.write_pages() } else { Ok(()) }
    }

    /// Has a thin device ask for a page at a time. Linux's loop device answers that it is done to a longer write for
    /// which there was room in part, and so it would lose what it was told to sync: no device that fails, one that lies.
    fn write_pages(&self) -> Result<()> {
        let device = run(&["findmnt", "-n", "-o", "SOURCE", text(&self.at)?])?;
        let device = Path::new(device.trim()).file_name().context("a device without a name")?;
        let longest = Path::new("/sys/block").join(device).join("queue/max_sectors_kb");
        fs::write(&longest, PAGE_KIB)
            .with_context(|| format!("{} cannot be set", longest.display()))
    }

    /// Takes all the room that is left.
    pub(crate) fn fill(&self) -> Result<()> {
        fill(&self.at)
    }

    /// Makes it fail: what is written to new places is answered with an error from here on.
    pub(crate) fn fail(&self) -> Result<()> {
        fill(self.under.as_ref().context("a device that is not thin")?)
    }

    /// Looks for what the errors have left, while nobody uses it.
    pub(crate) fn repair(&mut self) -> Result<()> {
        self.heal();
        run(&["umount", text(&self.at)?])?;
        // It says with an error that it has repaired something.
        let _ = run(&["e2fsck", "-f", "-y", text(&self.image)?]);
        run(&["e2fsck", "-f", "-n", text(&self.image)?])?;
        self.mount()
    }

    /// Makes it stand still: all that is written waits.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        self.is_frozen = true;
        run(&["fsfreeze", "--freeze", text(&self.at)?]).map(drop)
    }

    /// Undoes all of it.
    pub(crate) fn heal(&mut self) {
        if self.is_frozen {
            self.is_frozen = false;
            // It may be so already.
            let _ = run(&["fsfreeze", "--unfreeze", &self.at.to_string_lossy()]);
        }
        for full in self.under.iter().chain([&self.at]) {
            // It may not be there.
            let _ = fs::remove_file(full.join(BALLAST));
        }
    }
}

/// Takes all the room that a file system has left.
fn fill(at: &Path) -> Result<()> {
    let file = at.join(BALLAST);
    let (file, mut taken) = (text(&file)?, 0_u64);
    for len in [64 << 20, 1 << 20, 64 << 10, 4 << 10] {
        let bytes = len.to_string();
        while run(&["fallocate", "-o", &taken.to_string(), "-l", &bytes, file]).is_ok() {
            taken += len;
        }
    }
    ensure!(taken > 0, "there was no room to take");
    Ok(())
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.heal();
        // Whoever has files open there keeps it for as long as that; it goes with the test in any case.
        for mounted in [&self.at].into_iter().chain(&self.under) {
            let _ = run(&["umount", "--lazy", &mounted.to_string_lossy()]);
        }
        let _ = fs::remove_file(&self.image);
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is text")
}

/// Runs a program to its end, and returns what it printed.
fn run(words: &[&str]) -> Result<String> {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{} cannot be started", words[0]))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` fails: {}", words.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
