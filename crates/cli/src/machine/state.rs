//! The file in which a tool writes down what it has started.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, TryLockError};
use std::path::Path;

/// The content of this file of the directory; none where there is no such file.
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

/// The sole use of a directory, for as long as this is kept: of two commands at once each would start and stop what
/// the other has not written down.
pub(crate) fn alone(dir: &Path) -> Result<File> {
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

/// Writes it down. What was there before stays until this is whole.
pub(crate) fn write(dir: &Path, file: &str, state: &impl Serialize) -> Result<()> {
    let (path, new) = (dir.join(file), dir.join(format!("{file}.new")));
    fs::write(&new, toml::to_string(state)?)
        .and_then(|()| fs::rename(&new, &path))
        .with_context(|| format!("{} cannot be written", path.display()))
}
