//! The file's side of a snapshot.

use super::{snapshot_name, snapshot_of};
use crate::{Disk, File};
use std::io;

/// Snapshots that are kept.
const KEPT: usize = 2;

/// Writes a snapshot under a name that recovery does not look at, and gives it its own when it
/// counts.
#[derive(Debug)]
pub struct SnapshotWriter<D: Disk> {
    disk: D,
    file: D::File,
    begun: u64,
    offset: u64,
}

impl<D: Disk> SnapshotWriter<D> {
    /// Begins the file of the snapshot that was begun at this sequence.
    pub fn new(mut disk: D, begun: u64) -> io::Result<SnapshotWriter<D>> {
        let file = disk.create(&unfinished(begun), 0)?;
        Ok(SnapshotWriter { disk, file, begun, offset: 0 })
    }

    /// Appends.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(self.offset, bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Bytes that were written.
    pub fn len(&self) -> u64 {
        self.offset
    }

    /// True before the first byte.
    pub fn is_empty(&self) -> bool {
        self.offset == 0
    }

    /// Makes what was written durable.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    /// The snapshot counts from now on: it is synced, and the log is durable up to what it
    /// shows. Older ones beyond the kept go. Returns the sequence at which the oldest kept one
    /// was begun: the log before it is not needed any more.
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
        // With one alone the whole log stays: it is what the second would be made of.
        Ok(if begun.len() < KEPT { 0 } else { begun[gone] })
    }

    /// Gives the snapshot up.
    pub fn abandon(mut self) -> io::Result<()> {
        self.disk.remove(&unfinished(self.begun))
    }
}

/// The name of a snapshot until it counts.
fn unfinished(begun: u64) -> String {
    format!("{}.new", snapshot_name(begun))
}
