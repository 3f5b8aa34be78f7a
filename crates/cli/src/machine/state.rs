//! The file in which a tool records the processes that it has started.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, TryLockError};
use std::path::Path;

/// Reads this file of the directory. None if it does not exist.
pub(crate) fn read<T: DeserializeOwned>(dir: &Path, file: &str) -> Result<Option<T>> {
    let path = dir.join(file);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let state = toml::from_str(&text);
            state.map(Some).with_context(|| format!("{} cannot be understood", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Locks a directory until the returned file is dropped. Two commands at once would start and stop processes that the
/// other has not recorded yet.
pub(crate) fn lock_directory(dir: &Path) -> Result<File> {
    let cannot = || format!("{} cannot be locked", dir.display());
    let file = File::open(dir).with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another command starts or stops nodes in {}: wait for its end", dir.display())
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(cannot),
    }
}

/// Writes the state to a new file and renames it, so that the old state stays until the new one is complete.
pub(crate) fn write(dir: &Path, file: &str, state: &impl Serialize) -> Result<()> {
    let (path, new) = (dir.join(file), dir.join(format!("{file}.new")));
    fs::write(&new, toml::to_string(state)?)
        .and_then(|()| fs::rename(&new, &path))
        .with_context(|| format!("{} cannot be written", path.display()))
}
