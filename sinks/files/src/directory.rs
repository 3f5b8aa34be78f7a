//! The directory of the files, which one shipper has at a time.

use crate::{FileKind, FileName};
use scurry_ship::{Positions, SinkError, StoreId};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const LOCK: &str = ".scurry-ship.lock";
const PART: &str = ".part";

/// The directory of the files.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    kind: FileKind,
    /// Locked as long as the directory is in use.
    _lock: File,
}

impl Directory {
    /// Opens the directory, creates it if it is missing, and removes files that an earlier shipper has not finished.
    pub fn open(path: &Path, kind: FileKind) -> Result<Directory, SinkError> {
        let fault = |error: io::Error| fault(path, &error);
        fs::create_dir_all(path).map_err(fault)?;
        let lock = File::create(path.join(LOCK)).map_err(fault)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(SinkError::Refused(format!(
                    "{}: another shipper writes to this directory",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(fault(error)),
        }
        let directory = Directory { path: path.to_owned(), kind, _lock: lock };
        for name in directory.names().map_err(fault)? {
            if let Some(stem) = name.strip_suffix(PART)
                && FileName::parse(kind, stem).is_some()
            {
                fs::remove_file(path.join(name)).map_err(fault)?;
            }
        }
        Ok(directory)
    }

    /// Returns the positions up to which there are files of this store.
    pub fn reached(&self, store: StoreId) -> Result<Positions, SinkError> {
        let mut ranges: BTreeMap<u16, Vec<FileName>> = BTreeMap::new();
        for name in self.names().map_err(|error| fault(&self.path, &error))? {
            let Some(name) = FileName::parse(self.kind, &name) else { continue };
            if name.store != store {
                return Err(SinkError::Refused(format!(
                    "{} has events of store {}, and these are of store {store}: ship into another directory",
                    self.path.display(),
                    name.store
                )));
            }
            ranges.entry(name.to.thread).or_default().push(name);
        }
        let mut reached = Positions::none(store);
        for names in ranges.values_mut() {
            // A file without events, or with a state, ends where it begins: it comes before the one that follows.
            names.sort_by_key(|FileName { from, to, .. }| {
                (to.generation, from.sequence, from.index, to.sequence, to.index)
            });
            for pair in names.windows(2) {
                self.compare(&pair[0], &pair[1])?;
            }
            if let Some(last) = names.last() {
                reached.set(last.to);
            }
        }
        Ok(reached)
    }

    /// Checks that a file follows another one of its thread.
    fn compare(&self, before: &FileName, after: &FileName) -> Result<(), SinkError> {
        if before.to.generation != after.to.generation || before.to == after.from {
            return Ok(());
        }
        let order = |at: scurry_service::Position| (at.sequence, at.index);
        if order(before.to) > order(after.from) {
            return Err(SinkError::Refused(format!(
                "{}: {before} and {after} have the same events: remove one of them",
                self.path.display()
            )));
        }
        tracing::warn!("{}: the file between {before} and {after} is missing", self.path.display());
        Ok(())
    }

    /// Begins a file that is not complete yet.
    pub fn begin(&self, name: &FileName) -> io::Result<File> {
        File::create_new(self.path.join(format!("{name}{PART}")))
    }

    /// Removes a file that was begun.
    pub fn drop_part(&self, name: &FileName) -> io::Result<()> {
        fs::remove_file(self.path.join(format!("{name}{PART}")))
    }

    /// Makes a file that was begun under one name a complete one under another.
    pub fn complete(&self, file: &File, begun: &FileName, name: &FileName) -> io::Result<()> {
        file.sync_all()?;
        fs::rename(self.path.join(format!("{begun}{PART}")), self.path.join(name.to_string()))
    }

    /// Makes the names of the files last.
    pub fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.path)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }
}

/// Returns the error of a file or directory. Only a place that is wrong does not pass by itself.
pub(crate) fn fault(path: &Path, error: &io::Error) -> SinkError {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            SinkError::Refused(text)
        }
        _ => SinkError::Unavailable(text),
    }
}
