//! What the file is before the log is written to it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate, syncfs};
use serde::{Deserialize, Serialize};

/// Bytes that preparing writes at once.
pub(crate) const PIECE: usize = 1 << 20;

/// What was done to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ground {
    /// Nothing: it is empty and grows.
    Append,
    /// Its room is reserved, and never was written.
    Fallocate,
    /// Zeros were written and synced.
    Zeroed,
    /// An old segment, written and synced, whose pages are in the cache.
    Recycled,
    /// An old segment whose pages have left the cache.
    RecycledCold,
}

impl Ground {
    /// The name in tables and arguments.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Makes the file with room for `len` bytes. Nothing is left to be written to the disk.
    pub(crate) fn make(self, path: &Path, len: usize, is_direct: bool) -> Result<()> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        match self {
            Ground::Append => {}
            Ground::Fallocate => reserve(&file, len)?,
            Ground::Zeroed => fill(&file, 0, len)?,
            Ground::Recycled | Ground::RecycledCold => fill(&file, 0x5a, len)?,
        }
        syncfs(&file)?;
        // Direct writes would have to push cached pages out.
        if is_direct || self == Ground::RecycledCold {
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }
}

/// Reserves room, and makes the file as long.
pub(crate) fn reserve(file: &File, len: usize) -> Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, len as u64)?)
}

/// Writes the same byte everywhere, and syncs.
pub(crate) fn fill(file: &File, byte: u8, len: usize) -> Result<()> {
    let piece = vec![byte; PIECE];
    for start in (0..len).step_by(PIECE) {
        file.write_all_at(&piece[..PIECE.min(len - start)], start as u64)?;
    }
    Ok(file.sync_data()?)
}
