//! `ballot-g<generation>`: the votes that a node of a group has given, for the log of each core, in a file beside the
//! directories of the logs. docs/formats/ballot.md.

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

/// Returns the path of a generation's file.
pub(crate) fn path_of(directory: &Path, generation: u32) -> PathBuf {
    directory.join(format!("{PREFIX}{generation}"))
}

/// Opens the note of a core's log in the file of its generation. The file must exist: without it the node's votes are
/// unknown.
pub(crate) fn open(
    directory: &Path,
    manifest: &Manifest,
    core: u16,
) -> Result<LogBallot<DiskFile>, StoreError> {
    open_to(directory, manifest, core, true)
}

/// Reads the vote that a node has given in the group of a core's log. Takes no lock and writes nothing.
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

/// Returns the bytes of the file of a node that has not voted.
pub(crate) fn bytes_of(manifest: &Manifest) -> Vec<u8> {
    let logs = (0..manifest.threads).map(|core| (manifest.log(core), Vote::default()));
    let bytes = LogBallot::<DiskFile>::file_of(logs);
    assert!(!LogBallot::<DiskFile>::has_begun(&bytes), "a node that has not voted has a vote");
    bytes
}

/// Reports whether a file of this name may hold a vote. A first start that was interrupted leaves one without votes.
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
