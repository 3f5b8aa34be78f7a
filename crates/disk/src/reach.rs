//! `reach-g<generation>`: how far the log of each core had come, beside the directories that hold
//! the logs, so that a start notices what is missing of them. docs/formats/reach.md.

use crate::directory::FILE_MODE;
use crate::fault::cannot;
use crate::file::DiskFile;
use crate::manifest::Manifest;
use crate::store_error::StoreError;
use scurry_engine::{Least, LogReach};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file of a generation.
pub(crate) fn path_of(directory: &Path, generation: u32) -> PathBuf {
    directory.join(format!("reach-g{generation}"))
}

/// The place of a core's log in the file of its generation. None where there is no such file:
/// it was removed.
pub(crate) fn open(
    directory: &Path,
    manifest: &Manifest,
    core: u16,
) -> Result<Option<LogReach<DiskFile>>, StoreError> {
    let path = path_of(directory, manifest.generation);
    // Who only looks may not be allowed to write.
    let open = |writes| OpenOptions::new().read(true).write(writes).mode(FILE_MODE).open(&path);
    let opened = match open(true) {
        Err(error) if error.kind() != ErrorKind::NotFound => open(false),
        opened => opened,
    };
    let file = match opened {
        Ok(file) => DiskFile::new(file, path.clone()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("open", &path)(error).into()),
    };
    let reach = LogReach::open(file, manifest.log(core));
    reach.map(Some).map_err(|source| StoreError::Reach { path, source })
}

/// The least that the files of a core hold, by the file of the generation and by the manifest.
/// Nothing is locked and nothing written. Errors: that file is damaged, or the core's directory is
/// missing.
pub fn read_least(directory: &Path, manifest: &Manifest, core: u16) -> Result<Least, StoreError> {
    let reach = open(directory, manifest, core)?.map(|reach| reach.sequence());
    let least = Least { sequence: reach.unwrap_or(0), snapshot: manifest.begins_with_snapshot() };
    let path = directory.join(format!("g{}/{core}", manifest.generation));
    // Only a first start that was cut short leaves a manifest without directories, and it has noted
    // by then that there is nothing in them.
    let is_new = reach == Some(0) && !least.snapshot;
    if path.is_dir() || is_new {
        return Ok(least);
    }
    Err(StoreError::MissingDirectory { path, reach })
}

/// The bytes of the file for a generation whose logs have come so far, in the order of the cores.
pub(crate) fn bytes_of(manifest: &Manifest, sequences: &[u64]) -> Vec<u8> {
    let logs = (0..manifest.threads).map(|core| manifest.log(core));
    LogReach::<DiskFile>::file_of(logs.zip(sequences.iter().copied()))
}

/// Raises what the file of the generation says, where it is whole. False where there is none.
pub(crate) fn raise(
    directory: &Path,
    manifest: &Manifest,
    sequences: &[u64],
) -> Result<bool, StoreError> {
    for (core, &sequence) in (0..manifest.threads).zip(sequences) {
        let Some(mut reach) = open(directory, manifest, core)? else { return Ok(false) };
        let raised = reach.raise(sequence);
        let path = path_of(directory, manifest.generation);
        raised.map_err(|source| StoreError::Reach { path, source })?;
    }
    Ok(true)
}

/// True where a file of this name says that logs beside it held something: a first start that was
/// cut short leaves one that does not, and a later generation begins with what an earlier one held.
pub(crate) fn has_begun(directory: &Path, name: &str) -> io::Result<bool> {
    let Some(generation) = name.strip_prefix("reach-g") else { return Ok(false) };
    let path = directory.join(name);
    let read = || std::fs::read(&path).map_err(cannot("read", &path));
    Ok(generation != "1" || LogReach::<DiskFile>::has_begun(&read()?))
}

/// Removes the file of a generation, if there is one.
pub(crate) fn remove(directory: &Path, generation: u32) -> io::Result<()> {
    let path = path_of(directory, generation);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot("remove", &path)(error)),
        _ => Ok(()),
    }
}
