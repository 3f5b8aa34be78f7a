//! Writes the file of a snapshot.

use super::{snapshot_name, snapshot_of};
use crate::{Disk, File};
use std::io;

/// Number of snapshots that are kept.
const KEPT: usize = 2;

/// Writes a snapshot under a temporary name, which recovery ignores, and renames it when it is complete.
#[derive(Debug)]
pub struct SnapshotWriter<D: Disk> {
    disk: D,
    file: D::File,
    begun: u64,
    offset: u64,
}

impl<D: Disk> SnapshotWriter<D> {
    /// Creates the file for the snapshot that was begun at this sequence.
    pub fn new(mut disk: D, begun: u64) -> io::Result<SnapshotWriter<D>> {
        let file = disk.create(&unfinished(begun), 0)?;
        Ok(SnapshotWriter { disk, file, begun, offset: 0 })
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(self.offset, bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Returns the bytes written.
    pub fn len(&self) -> u64 {
        self.offset
    }

    /// Reports whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.offset == 0
    }

    /// Makes the written bytes durable.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    /// Makes the snapshot valid. It must be synced, and the log durable up to the last change in it. Removes snapshots
    /// beyond the number that is kept. Returns the sequence at which the oldest kept one was begun: the log before it
    /// is no longer needed. Returns 0 when only one snapshot exists.
    pub fn publish(mut self) -> io::Result<u64> {
        self.disk.rename(&unfinished(self.begun), &snapshot_name(self.begun))?;
        self.disk.sync_dir()?;
        let names = self.disk.list()?;
        let mut begun: Vec<u64> = names.iter().filter_map(|name| snapshot_of(name)).collect();
        begun.sort_unstable();
        let gone = begun.len().saturating_sub(KEPT);
        for &old in &begun[..gone] {
            self.disk.remove(&snapshot_name(old))?;
        }
        // With a single snapshot the whole log is kept, as the fallback if that snapshot is damaged.
        Ok(if begun.len() < KEPT { 0 } else { begun[gone] })
    }

    /// Removes the unfinished file.
    pub fn abandon(mut self) -> io::Result<()> {
        self.disk.remove(&unfinished(self.begun))
    }
}

/// Returns the temporary name of a snapshot.
fn unfinished(begun: u64) -> String {
    format!("{}.new", snapshot_name(begun))
}
