//! Files and directories that are there after a crash when a call has returned.

use crate::fault::cannot;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const DIRECTORY_MODE: u32 = 0o700;

/// Makes a file empty, or makes it.
pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)
}

/// Replaces a file of a directory, by way of `new`, which gets this mode. After a crash it has its old bytes or these.
pub(crate) fn replace(
    directory: &Path,
    (new, mode): (&Path, u32),
    path: &Path,
    bytes: &[u8],
) -> io::Result<()> {
    let mut file = create(new, mode).map_err(cannot("create", new))?;
    file.write_all(bytes).map_err(cannot("write", new))?;
    file.sync_all().map_err(cannot("sync", new))?;
    fs::rename(new, path).map_err(cannot("rename", new))?;
    sync(directory)
}

/// Makes a directory, unless it is there.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.map_err(cannot("create", path)),
    }
}

/// Makes the name of a directory durable.
pub(crate) fn sync_above(directory: &Path) -> io::Result<()> {
    let Some(above) = directory.parent() else { return Ok(()) };
    sync(if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

/// Makes what was created, renamed and removed in a directory durable.
pub(crate) fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|handle| handle.sync_all()).map_err(cannot("sync", directory))
}
