//! The file in which a tool writes down what it has started.

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
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

/// Writes it down. What was there before stays until this is whole.
pub(crate) fn write(dir: &Path, file: &str, state: &impl Serialize) -> Result<()> {
    let (path, new) = (dir.join(file), dir.join(format!("{file}.new")));
    fs::write(&new, toml::to_string(state)?)
        .and_then(|()| fs::rename(&new, &path))
        .with_context(|| format!("{} cannot be written", path.display()))
}
