//! A directory that is removed when its guard is dropped.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    /// Creates a directory whose name ends with the pid of this process.
    pub(crate) fn make(parent: &Path, name: &str) -> Result<ScratchDirectory> {
        let path = parent.join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        Ok(ScratchDirectory(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("scurry: {} was not removed: {error}", self.0.display());
        }
    }
}
