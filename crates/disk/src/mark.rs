//! Marker files of a data directory. `BEGIN`: an operator has ordered this directory to begin a group. `RETIRED`: its
//! node no longer takes part in its group, with the reason. `PROTOCOL`: each node of its group has to speak this version
//! of the protocol between nodes. docs/formats/group.md.

use crate::directory::FILE_MODE;
use crate::durably::{replace, sync};
use crate::fault::cannot;
use crate::store_error::StoreError;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

const BEGIN: &str = "BEGIN";
const BEGIN_NEW: &str = "BEGIN.new";
const RETIRED: &str = "RETIRED";
const RETIRED_NEW: &str = "RETIRED.new";
const PROTOCOL: &str = "PROTOCOL";
const PROTOCOL_NEW: &str = "PROTOCOL.new";
/// The version that is required without a note.
const PROTOCOL_FIRST: u16 = 1;

/// Mode of `BEGIN`: another user than the server's may write it; the directory's mode keeps others out.
const BEGIN_MODE: u32 = 0o644;
const BEGIN_TEXT: &str = "scurry replica init: the next server with --replicate begins a group here, and removes this.\n";
/// Most bytes that are shown of the reason why a node was retired.
const WHY_LEN_MAX: u64 = 4 << 10;

/// Orders a directory to begin a group.
pub(crate) fn order_begin(directory: &Path) -> io::Result<()> {
    let (new, path) = (directory.join(BEGIN_NEW), directory.join(BEGIN));
    replace(directory, (&new, BEGIN_MODE), &path, BEGIN_TEXT.as_bytes())
}

/// Reports whether [`order_begin`] was called and no group has begun since.
pub(crate) fn is_to_begin(directory: &Path) -> io::Result<bool> {
    let path = directory.join(BEGIN);
    path.try_exists().map_err(cannot("look for", &path))
}

/// Removes the order to begin after it was carried out, durably.
pub(crate) fn end_begin(directory: &Path) -> io::Result<()> {
    let path = directory.join(BEGIN);
    match fs::remove_file(&path) {
        Ok(()) => sync(directory),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot("remove", &path)(error)),
    }
}

/// Marks a directory as retired: it is never served again as a node of its group.
pub(crate) fn retire(directory: &Path, why: &str) -> io::Result<()> {
    assert!(!why.trim().is_empty(), "a node is retired without a reason");
    let (new, path) = (directory.join(RETIRED_NEW), directory.join(RETIRED));
    replace(directory, (&new, FILE_MODE), &path, format!("{why}\n").as_bytes())
}

/// Notes the version of the protocol between nodes that each node of the group has to speak.
pub(crate) fn require_protocol(directory: &Path, version: u16) -> io::Result<()> {
    let (new, path) = (directory.join(PROTOCOL_NEW), directory.join(PROTOCOL));
    replace(directory, (&new, FILE_MODE), &path, format!("{version}\n").as_bytes())
}

/// Returns the version that [`require_protocol`] has noted. The first one, which every node speaks, without a note and
/// where it is no number: a leader then waits again until all nodes are connected.
pub(crate) fn required_protocol(directory: &Path) -> io::Result<u16> {
    let path = directory.join(PROTOCOL);
    match fs::read(&path) {
        Ok(text) => {
            let number = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
            Ok(number.unwrap_or(PROTOCOL_FIRST))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(PROTOCOL_FIRST),
        Err(error) => Err(cannot("read", &path)(error)),
    }
}

/// Keeps a text beside the marks.
pub(crate) fn keep_text(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let (new, path) = (directory.join(format!("{name}.new")), directory.join(name));
    replace(directory, (&new, FILE_MODE), &path, text.as_bytes())
}

/// Refuses a directory whose node was retired.
pub(crate) fn refuse_retired(directory: &Path) -> Result<(), StoreError> {
    let path = directory.join(RETIRED);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot("open", &path)(error).into()),
    };
    let mut why = Vec::new();
    file.take(WHY_LEN_MAX).read_to_end(&mut why).map_err(cannot("read", &path))?;
    let why = String::from_utf8_lossy(&why).trim().to_owned();
    Err(StoreError::Retired { path, why })
}
