//! `reach-g<generation>`: the reach of each core's log, in a file beside the directories of the logs, so that a start
//! notices missing files. docs/formats/reach.md.

use crate::directory::FILE_MODE;
use crate::fault::cannot;
use crate::file::DiskFile;
use crate::manifest::Manifest;
use crate::store_error::StoreError;
use scurry_engine::{LogReach, RequiredExtent};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Returns the path of a generation's file.
pub(crate) fn path_of(directory: &Path, generation: u32) -> PathBuf {
    directory.join(format!("reach-g{generation}"))
}

/// Opens the note of a core's log in the file of its generation. None when that file was removed.
pub(crate) fn open(
    directory: &Path,
    manifest: &Manifest,
    core: u16,
) -> Result<Option<LogReach<DiskFile>>, StoreError> {
    let path = path_of(directory, manifest.generation);
    // Falls back to reading only: a tool may lack the permission to write.
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

/// Returns the lower bound on what the files of a core hold, from the reach file and the manifest. Takes no lock and
/// writes nothing. Fails when the reach file is damaged or the core's directory is missing.
pub fn read_least(
    directory: &Path,
    manifest: &Manifest,
    core: u16,
) -> Result<RequiredExtent, StoreError> {
    let reach = open(directory, manifest, core)?.map(|reach| reach.sequence());
    let least =
        RequiredExtent { sequence: reach.unwrap_or(0), snapshot: manifest.begins_with_snapshot() };
    let path = directory.join(format!("g{}/{core}", manifest.generation));
    // Only an interrupted first start leaves a manifest without directories, and by then its reach file notes that they
    // are empty.
    let is_new = reach == Some(0) && !least.snapshot;
    if path.is_dir() || is_new {
        return Ok(least);
    }
    Err(StoreError::MissingDirectory { path, reach })
}

/// Returns the bytes of the file for a generation whose logs have this reach, in the order of the cores.
pub(crate) fn bytes_of(manifest: &Manifest, sequences: &[u64]) -> Vec<u8> {
    let logs = (0..manifest.threads).map(|core| manifest.log(core));
    // Without a note, a start would not notice that the files of a core are missing.
    assert!(sequences.len() == usize::from(manifest.threads), "a log has no reach, or two");
    LogReach::<DiskFile>::file_of(logs.zip(sequences.iter().copied()))
}

/// Raises the reach in the file of the generation. Returns false when the file is missing.
pub(crate) fn raise(
    directory: &Path,
    manifest: &Manifest,
    sequences: &[u64],
) -> Result<bool, StoreError> {
    assert!(sequences.len() == usize::from(manifest.threads), "a log has no reach, or two");
    for (core, &sequence) in (0..manifest.threads).zip(sequences) {
        let Some(mut reach) = open(directory, manifest, core)? else { return Ok(false) };
        let raised = reach.raise(sequence);
        let path = path_of(directory, manifest.generation);
        raised.map_err(|source| StoreError::Reach { path, source })?;
        assert!(reach.sequence() >= sequence, "a reach was raised and is lower");
    }
    Ok(true)
}

/// Reports whether a file of this name proves that its logs held something. An interrupted first start leaves a file
/// that does not; a later generation always begins with the data of an earlier one.
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
