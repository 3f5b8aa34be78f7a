//! Data directory that a copy is written to. The manifest is written last, so every server refuses an incomplete copy.

use super::pinned::cannot;
use anyhow::{Context, Result, bail};
use scurry_disk::{Directory, Manifest, Store};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// An empty data directory, locked.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    store: Store,
    manifest: Manifest,
}

impl Target {
    /// Creates the directory, or uses an existing one if it is empty.
    pub(crate) fn open(path: &Path, source: &Path, manifest: Manifest) -> Result<Target> {
        match fs::read_dir(path) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    bail!(
                        "{} is not empty: give a directory that is empty or not there yet",
                        path.display()
                    );
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                bail!("{} is a file: give a directory that is not there yet", path.display())
            }
            Err(error) => return Err(error).with_context(|| cannot("write to", path)),
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        if let (Ok(above), Ok(source)) = (above.canonicalize(), source.canonicalize())
            && above.starts_with(&source)
        {
            bail!(
                "{} is within {}: a server would take it for its own; give another place",
                path.display(),
                source.display()
            );
        }
        let store = Store::open(path)?;
        Ok(Target { path: path.to_owned(), store, manifest })
    }

    /// Opens the directory of a core and creates it if missing. Each writer needs its own handle.
    pub(crate) fn core(&self, core: u16) -> Result<Directory> {
        Ok(self.store.core(self.manifest.generation, core)?)
    }

    /// Returns the path of a core's directory.
    pub(crate) fn core_path(&self, core: u16) -> PathBuf {
        self.path.join(super::core_name(self.manifest.generation, core))
    }

    /// Completes the data directory: writes how far each log reaches, in the order of the cores, then the manifest.
    pub(crate) fn finish(self, sequences: &[u64]) -> Result<()> {
        self.store.write_reach(&self.manifest, sequences)?;
        Ok(self.store.write_manifest(&self.manifest)?)
    }
}
