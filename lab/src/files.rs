//! The files of a data directory that a server reads at startup, and how fast the disk alone reads and writes as many
//! bytes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};

use crate::clock::Clock;
use crate::data_directory::temporary;

/// Bytes of a step: as many as a server writes of a snapshot between two syncs.
const STEP: usize = 1 << 20;

/// Newest snapshot, and the log segments that startup reads after it.
#[derive(Debug)]
pub struct StartFiles {
    /// Length of the snapshot, bytes.
    pub snapshot_bytes: u64,
    files: Vec<File>,
}

impl StartFiles {
    /// Finds the files below a directory, for a server with one thread.
    ///
    /// # Errors
    /// When there is no snapshot, or a file cannot be read.
    pub fn find(directory: &Path) -> Result<StartFiles> {
        let mut all = Vec::new();
        list(directory, &mut all)?;
        let numbered = |kind: &str| -> Vec<(u64, &PathBuf)> {
            let number =
                |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix(kind)?.parse().ok();
            let mut found: Vec<_> =
                all.iter().filter_map(|path| Some((number(path)?, path))).collect();
            found.sort();
            found
        };
        let snapshots = numbered("snapshot-");
        let (begun, snapshot) = *snapshots.last().context("there is no snapshot")?;
        let segments = numbered("log-");
        // The segment in which the snapshot began, and all later ones.
        let first = segments.partition_point(|(first, _)| *first <= begun).saturating_sub(1);
        let paths =
            std::iter::once(snapshot).chain(segments[first..].iter().map(|(_, path)| *path));
        let files: Vec<File> = paths
            .map(|path| File::open(path).with_context(|| format!("opening {}", path.display())))
            .collect::<Result<_>>()?;
        Ok(StartFiles { snapshot_bytes: files[0].metadata()?.len(), files })
    }

    /// Returns the length of all files, bytes. A log segment includes preallocated space.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn bytes(&self) -> Result<u64> {
        let length = |file: &File| Ok(file.metadata()?.len());
        self.files.iter().map(length).sum()
    }

    /// Drops the files from the kernel's page cache.
    ///
    /// # Errors
    /// When a file cannot be synced.
    pub fn forget(&self) -> Result<()> {
        for file in &self.files {
            // The kernel keeps dirty pages, so sync first.
            file.sync_all()?;
            fadvise(file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }

    /// Returns the seconds in which the disk reads the files one after the other, with nothing cached.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read_alone(&mut self) -> Result<f64> {
        self.forget()?;
        let mut buffer = vec![0; STEP];
        let clock = Clock::start();
        for file in &mut self.files {
            while file.read(&mut buffer)? > 0 {}
        }
        Ok(clock.elapsed().as_secs_f64())
    }
}

/// Returns the seconds in which the disk writes a new file of this many bytes, in steps that are each synced.
///
/// # Errors
/// When the file cannot be written.
pub fn write_alone(directory: &Path, bytes: u64) -> Result<f64> {
    let directory = temporary(directory)?;
    let mut file = File::create_new(directory.path().join("alone"))?;
    // No two blocks are equal and none is zero, so that no device can deduplicate or skip them.
    let mut step: Vec<u8> =
        (0..STEP as u64).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 13) as u8 | 1).collect();
    let clock = Clock::start();
    let mut left = bytes;
    while left > 0 {
        let len = left.min(STEP as u64);
        step.rotate_left(1);
        file.write_all(&step[..usize::try_from(len)?])?;
        file.sync_data()?;
        left -= len;
    }
    Ok(clock.elapsed().as_secs_f64())
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).context("reading the server's directory")? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_reads_the_newest_snapshot_and_the_log_behind_it() {
        let directory = tempfile::tempdir().unwrap();
        let thread = directory.path().join("g1").join("0");
        fs::create_dir_all(&thread).unwrap();
        let write = |name: &str, len: usize| fs::write(thread.join(name), vec![1; len]).unwrap();
        assert!(
            StartFiles::find(directory.path()).unwrap_err().to_string().contains("no snapshot")
        );
        for (name, len) in [
            ("snapshot-00000000000000000010", 3),
            ("snapshot-00000000000000000200", 5),
            ("snapshot-00000000000000000900.new", 1_000),
            ("log-00000000000000000001", 10_000),
            ("log-00000000000000000150", 70),
            ("log-00000000000000000250", 11),
            ("spare-next", 100_000),
        ] {
            write(name, len);
        }
        let mut files = StartFiles::find(directory.path()).unwrap();
        assert_eq!((files.snapshot_bytes, files.bytes().unwrap()), (5, 86));
        assert!(files.read_alone().unwrap() > 0.0);
    }

    #[test]
    fn what_is_written_to_try_the_disk_goes() {
        let directory = tempfile::tempdir().unwrap();
        assert!(write_alone(directory.path(), STEP as u64 + 1).unwrap() > 0.0);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
