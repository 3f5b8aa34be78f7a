//! Reads the scripts of this crate.

use crate::Script;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// A script with its file.
#[derive(Debug)]
pub struct Source {
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file.
    pub text: String,
    /// The parsed script.
    pub script: Script,
}

/// Reads all scripts of this crate, in the order of their names.
pub fn scripts() -> Result<Vec<Source>> {
    // A binary that runs without the sources finds the scripts through this variable.
    let dir = match std::env::var_os("SCURRY_SCENARIOS") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"),
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&dir).with_context(|| format!("no {}", dir.display()))? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "scn"));
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path)?;
        let name = path.file_name().context("a file name")?.to_string_lossy();
        let script = Script::parse(&format!("scenarios/{name}"), &text)?;
        sources.push(Source { path, text, script });
    }
    Ok(sources)
}
