//! File systems of the nodes' directories: the directory of the test, or a separate device that can be full, frozen,
//! failing or without power. Devices are mounted in the test's own mount namespace, so they disappear with its last process.

use super::torn::{self, TornSectors};
use anyhow::{Context, Result, ensure};
use scurry_model::Random;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Size of a device: a node preallocates 128 MiB for the log of each thread, and a round may need as much again.
const DEVICE: &str = "2G";
/// Size of a device that stays: three snapshots of ten million accounts, and the log between them. The file under it
/// is sparse, and blocks of removed files are given back.
const LARGE_DEVICE: &str = "16G";
/// Mount option with the size of the memory under a thin device, which is allocated as it is written.
const THIN: &str = "size=400m";
/// Size of a page, KiB.
const PAGE_KIB: &str = "4";

/// File that takes up the free space.
const BALLAST: &str = "ballast";
/// File that is written before the power is cut, and not synced.
const UNSYNCED: &str = "unsynced";
/// Perl that shuts an ext4 down at once: EXT4_IOC_SHUTDOWN, with the flag to write nothing, also no journal.
const SHUT_DOWN: &str = r#"open(my $dir, "<", $ARGV[0]) or die "$!\n"; my $flags = pack("L", 2);
    ioctl($dir, 0x8004587d, $flags) or die "$!\n""#;

/// Kind of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    /// Directory of the test.
    Plain,
    /// Device on a file.
    Device,
    /// Large device on a file that stays when the test ends, and is mounted again if it is there.
    Kept,
    /// Device on a file in a file system that may become full: then it answers with errors.
    Thin,
}

/// A mounted device of a node.
pub(crate) struct MountedDevice {
    at: PathBuf,
    image: PathBuf,
    /// File system that holds the file. None if it is that of the test.
    under: Option<PathBuf>,
    is_kept: bool,
    is_frozen: bool,
}

impl Disk {
    /// Creates and mounts the device. None if the kind needs none.
    pub(crate) fn mount(self, at: &Path) -> Result<Option<MountedDevice>> {
        fs::create_dir_all(at)?;
        let under = at.with_extension("under");
        let (image, under) = match self {
            Disk::Plain => return Ok(None),
            Disk::Device | Disk::Kept => (at.with_extension("img"), None),
            Disk::Thin => (under.join("img"), Some(under)),
        };
        if let Some(under) = &under {
            fs::create_dir_all(under)?;
            run(&["mount", "-t", "tmpfs", "-o", THIN, "tmpfs", text(under)?])?;
        }
        let is_kept = self == Disk::Kept;
        if !(is_kept && image.exists()) {
            let size = if is_kept { LARGE_DEVICE } else { DEVICE };
            run(&["truncate", "-s", size, text(&image)?])?;
            run(&["mkfs.ext4", "-q", "-F", text(&image)?])?;
        }
        let mounted = MountedDevice { at: at.to_owned(), image, under, is_kept, is_frozen: false };
        mounted.mount()?;
        Ok(Some(mounted))
    }

    /// Checks that the device can be created here. The error says why not.
    pub(crate) fn possible(self, dir: &Path) -> Result<()> {
        let at = dir.join("try");
        match self.mount(&at)? {
            Some(mut mounted) if self == Disk::Device => mounted.freeze(),
            _ => Ok(()),
        }
    }
}

impl MountedDevice {
    fn mount(&self) -> Result<()> {
        let discard = if self.is_kept { ",discard" } else { "" };
        let options = format!("loop,errors=remount-ro{discard}");
        run(&["mount", "-o", &options, text(&self.image)?, text(&self.at)?])?;
        if self.under.is_some() { self.write_pages() } else { Ok(()) }
    }

    /// Limits writes to a thin device to one page. Linux's loop device reports success for a longer write that only
    /// found space in part, and would lose synced data: a false success instead of an error.
    fn write_pages(&self) -> Result<()> {
        let device = run(&["findmnt", "-n", "-o", "SOURCE", text(&self.at)?])?;
        let device = Path::new(device.trim()).file_name().context("a device without a name")?;
        let longest = Path::new("/sys/block").join(device).join("queue/max_sectors_kb");
        fs::write(&longest, PAGE_KIB)
            .with_context(|| format!("{} cannot be set", longest.display()))
    }

    /// Fills the free space.
    pub(crate) fn fill(&self) -> Result<()> {
        fill(&self.at)
    }

    /// Makes the device fail: writes to new blocks give errors from now on.
    pub(crate) fn fail(&self) -> Result<()> {
        fill(self.under.as_ref().context("a device that is not thin")?)
    }

    /// Undoes the failure and repairs the file system, which must not be in use.
    pub(crate) fn repair(&mut self) -> Result<()> {
        self.heal();
        run(&["umount", text(&self.at)?])?;
        // Its exit code is an error if it has repaired anything.
        let _ = run(&["e2fsck", "-f", "-y", text(&self.image)?]);
        run(&["e2fsck", "-f", "-n", text(&self.image)?])?;
        self.mount()
    }

    /// Cuts the power of the device, which no process may use: the file system is mounted again with what was synced.
    /// Fails if it has kept what was not.
    pub(crate) fn cut_power(&self) -> Result<()> {
        let unsynced = self.at.join(UNSYNCED);
        fs::write(&unsynced, UNSYNCED)?;
        run(&["perl", "-e", SHUT_DOWN, text(&self.at)?])?;
        run(&["umount", text(&self.at)?])?;
        self.mount()?;
        let kept = fs::read(&unsynced).unwrap_or_default();
        ensure!(kept.is_empty(), "{} keeps what was not synced", self.at.display());
        Ok(())
    }

    /// Cuts the power of the device as [`MountedDevice::cut_power`] does, in the middle of writes: afterwards it has a
    /// random part of the sectors that were written and not synced.
    pub(crate) fn tear(&self, random: &mut Random) -> Result<TornSectors> {
        let mut written = Vec::new();
        torn::read(&self.at, &mut written)?;
        self.cut_power()?;
        torn::keep_some(&written, random)
    }

    /// Freezes the file system: all writes wait.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        self.is_frozen = true;
        run(&["fsfreeze", "--freeze", text(&self.at)?]).map(drop)
    }

    /// Undoes all faults.
    pub(crate) fn heal(&mut self) {
        if self.is_frozen {
            self.is_frozen = false;
            // It may already be unfrozen.
            let _ = run(&["fsfreeze", "--unfreeze", &self.at.to_string_lossy()]);
        }
        for full in self.under.iter().chain([&self.at]) {
            // The file may not exist.
            let _ = fs::remove_file(full.join(BALLAST));
        }
    }
}

/// Syncs of a process that are delayed, each by the same time, until this is dropped or the process ends.
pub(crate) struct DelayedSyncs {
    strace: Child,
}

impl DelayedSyncs {
    /// Delays the syncs of this process from now on. They wait before they begin, with what was written before them.
    pub(crate) fn of(process: u32, ms: u32) -> Result<DelayedSyncs> {
        let inject = format!("inject=fdatasync,fsync:delay_enter={}", u64::from(ms) * 1_000);
        let strace = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "strace", "-f", "-qq", "-o", "/dev/null"])
            .args(["-e", "trace=fdatasync,fsync", "-e", &inject, "-p", &process.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("setpriv (util-linux) cannot be started")?;
        Ok(DelayedSyncs { strace })
    }
}

impl Drop for DelayedSyncs {
    fn drop(&mut self) {
        // A tracer that ends leaves its process. It ends by itself with its process, too.
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

/// Checks that syncs can be delayed here. The error says why not.
pub(crate) fn delays_possible() -> Result<()> {
    let inject = "inject=fdatasync:delay_enter=1";
    run(&["strace", "-f", "-qq", "-o", "/dev/null", "-e", inject, "true"]).map(drop)
}

/// Fills the free space of a file system.
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

impl Drop for MountedDevice {
    fn drop(&mut self) {
        self.heal();
        // A process with open files there keeps it mounted; it disappears with the test in any case.
        for mounted in [&self.at].into_iter().chain(&self.under) {
            let _ = run(&["umount", "--lazy", &mounted.to_string_lossy()]);
        }
        if !self.is_kept {
            let _ = fs::remove_file(&self.image);
        }
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is text")
}

/// Runs a program to its end and returns its output.
fn run(words: &[&str]) -> Result<String> {
    // Ctrl-C is for the test: a fault is undone to its end.
    let output =
        Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).process_group(0).output();
    let output = output.with_context(|| format!("{} cannot be started", words[0]))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` fails: {}", words.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
