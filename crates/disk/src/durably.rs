//! Operations on files and directories that are durable when the call returns.

use crate::fault::cannot;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const DIRECTORY_MODE: u32 = 0o700;

/// Creates an empty file, or truncates an existing one.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)
}

/// Replaces a file of a directory atomically, by renaming `new`, which gets this mode. After a crash the file has
/// either its old bytes or the new ones.
pub(crate) fn replace(
    directory: &Path,
    (new, mode): (&Path, u32),
    path: &Path,
    bytes: &[u8],
) -> io::Result<()> {
    // Only this directory is synced: a rename within another one could be lost.
    assert!(path.parent() == Some(directory), "{} is in another directory", path.display());
    assert!(new.parent() == Some(directory), "{} is in another directory", new.display());
    // A crash while `path` itself is written would leave neither the old bytes nor the new ones.
    assert!(new != path, "{} would be written in its place", path.display());
    let mut file = create(new, mode).map_err(cannot("create", new))?;
    file.write_all(bytes).map_err(cannot("write", new))?;
    file.sync_all().map_err(cannot("sync", new))?;
    fs::rename(new, path).map_err(cannot("rename", new))?;
    sync(directory)
}

/// Creates a directory, unless it exists.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.map_err(cannot("create", path)),
    }
}

/// Makes a directory's own entry durable, by syncing its parent.
pub(crate) fn sync_above(directory: &Path) -> io::Result<()> {
    let Some(above) = directory.parent() else { return Ok(()) };
    sync(if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

/// Makes creations, renames and removals in a directory durable.
pub(crate) fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|handle| handle.sync_all()).map_err(cannot("sync", directory))
}
