//! `ballot-g<generation>`: the votes that a node of a group has given, for the log of each core, beside the
//! directories that hold the logs. docs/formats/ballot.md.

use crate::directory::FILE_MODE;
use crate::fault::cannot;
use crate::file::DiskFile;
use crate::manifest::Manifest;
use crate::store_error::StoreError;
use scurry_engine::{LogBallot, NoteError, Vote};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const PREFIX: &str = "ballot-g";

/// The file of a generation.
pub(crate) fn path_of(directory: &Path, generation: u32) -> PathBuf {
    directory.join(format!("{PREFIX}{generation}"))
}

/// The place of a core's log in the file of its generation. Without it nobody knows what the node has
/// promised.
pub(crate) fn open(
    directory: &Path,
    manifest: &Manifest,
    core: u16,
) -> Result<LogBallot<DiskFile>, StoreError> {
    open_to(directory, manifest, core, true)
}

/// The vote that a node has given in the group of a core's log. Nothing is locked and nothing written.
pub fn read_vote(directory: &Path, manifest: &Manifest, core: u16) -> Result<Vote, StoreError> {
    open_to(directory, manifest, core, false).map(|ballot| ballot.newest())
}

fn open_to(
    directory: &Path,
    manifest: &Manifest,
    core: u16,
    writes: bool,
) -> Result<LogBallot<DiskFile>, StoreError> {
    let path = path_of(directory, manifest.generation);
    let opened = OpenOptions::new().read(true).write(writes).mode(FILE_MODE).open(&path);
    let ballot = opened
        .map_err(NoteError::Io)
        .and_then(|file| LogBallot::open(DiskFile::new(file, path.clone()), manifest.log(core)));
    ballot.map_err(|source| StoreError::Ballot { path, source })
}

/// The bytes of the file of a node that has given no vote.
pub(crate) fn bytes_of(manifest: &Manifest) -> Vec<u8> {
    let logs = (0..manifest.threads).map(|core| (manifest.log(core), Vote::default()));
    LogBallot::<DiskFile>::file_of(logs)
}

/// True where a file of this name may hold a vote: a first start that was cut short leaves one that holds
/// none.
pub(crate) fn has_begun(directory: &Path, name: &str) -> io::Result<bool> {
    if !name.starts_with(PREFIX) {
        return Ok(false);
    }
    let path = directory.join(name);
    let bytes = std::fs::read(&path).map_err(cannot("read", &path))?;
    Ok(LogBallot::<DiskFile>::has_begun(&bytes))
}

/// Removes the file of a generation, if there is one.
pub(crate) fn remove(directory: &Path, generation: u32) -> io::Result<()> {
    let path = path_of(directory, generation);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot("remove", &path)(error)),
        _ => Ok(()),
    }
}
