//! The directory for the data of servers. Its file system must be on a device, because in memory every sync is free.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::missing::Missing;

/// File systems that are in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Parent of the data directories of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataDirectory {
    /// Canonical path.
    pub path: PathBuf,
    /// Type of its file system, as the kernel calls it; empty when unknown.
    pub filesystem: String,
}

impl DataDirectory {
    /// Returns the given directory, or the system's directory for temporary files.
    ///
    /// # Errors
    /// When the directory does not exist.
    pub fn find(asked: Option<&Path>) -> Result<DataDirectory> {
        let path = asked.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = path.canonicalize().with_context(|| {
            format!("--directory {} cannot be used: make it, or name another", path.display())
        })?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let filesystem = filesystem(&mounts, &path).unwrap_or_default().to_owned();
        Ok(DataDirectory { path, filesystem })
    }

    /// Checks that the file system is not in memory.
    ///
    /// # Errors
    /// When it is; the error says how to fix that.
    pub fn check(&self) -> Result<(), Missing> {
        if !IN_MEMORY.contains(&self.filesystem.as_str()) {
            return Ok(());
        }
        let why =
            format!("{} is on {}, where syncing is free", self.path.display(), self.filesystem);
        Err(Missing { why, cure: "give --directory a directory on a disk".to_owned() })
    }
}

/// Creates a temporary directory in another one; it is removed when dropped.
///
/// # Errors
/// When it cannot be created.
pub fn temporary(place: &Path) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("scurry-lab-").tempdir_in(place);
    made.with_context(|| format!("making a directory in {}", place.display()))
}

/// Returns the type of the file system of a path: that of the longest mount point above it, the last one if several are
/// equal.
fn filesystem<'m>(mounts: &'m str, path: &Path) -> Option<&'m str> {
    let mount = |line: &'m str| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?.replace("\\040", " ");
        let kind = right.split(' ').next()?;
        path.starts_with(&point).then_some((point.len(), kind))
    };
    mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 0:26 / /dev/shm rw - tmpfs tmpfs rw\n\
        31 22 0:27 / /a\\040b rw shared:9 master:1 - xfs /dev/vdb rw\n";

    #[test]
    fn the_longest_mount_point_counts() {
        let kind = |path: &str| filesystem(MOUNTS, Path::new(path));
        assert_eq!(kind("/tmp"), Some("ext4"));
        assert_eq!(kind("/dev/shm/x"), Some("tmpfs"));
        assert_eq!(kind("/dev/shmx"), Some("ext4"));
        assert_eq!(kind("/a b/c"), Some("xfs"));
    }

    #[test]
    fn memory_is_refused_and_a_disk_is_not() {
        let place = |kind: &str| DataDirectory { path: "/d".into(), filesystem: kind.to_owned() };
        let error = place("tmpfs").check().unwrap_err().to_string();
        assert!(error.contains("/d is on tmpfs") && error.contains("--directory"), "{error}");
        assert!(place("ext4").check().is_ok());
        let absent = DataDirectory::find(Some(Path::new("/no/such"))).unwrap_err().to_string();
        assert!(absent.contains("/no/such"), "{absent}");
    }
}
