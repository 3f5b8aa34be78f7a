//! Where servers keep what they keep: a directory whose file system must be on a device, because
//! one in memory makes every sync free.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::missing::Missing;

/// File systems that keep nothing.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// A directory for the directories of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataDirectory {
    /// Where it is.
    pub path: PathBuf,
    /// The kind of its file system, as the kernel calls it; empty where it does not say.
    pub filesystem: String,
}

impl DataDirectory {
    /// The one that was asked for, or the system's for temporary files.
    ///
    /// # Errors
    /// When it is not there.
    pub fn find(asked: Option<&Path>) -> Result<DataDirectory> {
        let path = asked.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = path.canonicalize().with_context(|| {
            format!("--directory {} cannot be used: make it, or name another", path.display())
        })?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let filesystem = filesystem(&mounts, &path).unwrap_or_default().to_owned();
        Ok(DataDirectory { path, filesystem })
    }

    /// Says why nothing can be kept here.
    ///
    /// # Errors
    /// When the file system is in memory.
    pub fn check(&self) -> Result<(), Missing> {
        if !IN_MEMORY.contains(&self.filesystem.as_str()) {
            return Ok(());
        }
        let why =
            format!("{} is on {}, where syncing is free", self.path.display(), self.filesystem);
        Err(Missing { why, cure: "give --directory a directory on a disk".to_owned() })
    }
}

/// A directory in another that goes when it is dropped.
///
/// # Errors
/// When it cannot be made.
pub fn temporary(place: &Path) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("scurry-lab-").tempdir_in(place);
    made.with_context(|| format!("making a directory in {}", place.display()))
}

/// The kind of the file system that a path is on: that of the longest mount point above it, the
/// last of several.
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
