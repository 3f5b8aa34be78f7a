//! One process per store: two that write one log would destroy it. Two things are locked: the directory itself, which
//! stays the same when files in it are moved or removed; and a file in it, which names the process, and is the only
//! lock on file systems that cannot lock directories.

use crate::directory::FILE_MODE;
use crate::fault::cannot;
use crate::store_error::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const NAME: &str = "LOCK";
/// Longest process id in the file, with room to spare.
const PID_LEN_MAX: u64 = 32;
/// Digits of the greatest process id, and the end of the line.
const _: () = assert!(PID_LEN_MAX > u32::MAX.ilog10() as u64 + 2);

/// The lock of a store, held until it is dropped or the process ends. The file stays: if it were removed, another
/// process could lock a new one while this lock is held.
#[derive(Debug)]
pub(crate) struct Lock {
    /// None on file systems that cannot lock directories, such as NFS.
    _directory: Option<File>,
    _file: File,
}

impl Lock {
    /// Locks a directory, or fails with the id of the process that holds the lock.
    pub(crate) fn acquire(directory: &Path) -> Result<Lock, StoreError> {
        let path = directory.join(NAME);
        let locked_by = |pid| StoreError::Locked { directory: directory.to_owned(), pid };
        let handle = File::open(directory).map_err(|source| {
            StoreError::not_writable(directory, cannot("open", directory)(source))
        })?;
        let handle = match handle.try_lock() {
            Ok(()) => Some(handle),
            Err(TryLockError::WouldBlock) => {
                return Err(locked_by(File::open(&path).ok().as_ref().and_then(holder)));
            }
            Err(TryLockError::Error(_)) => None,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        let mut file = options
            .open(&path)
            .map_err(|source| StoreError::not_writable(directory, cannot("open", &path)(source)))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(locked_by(holder(&file))),
            Err(TryLockError::Error(source)) => return Err(cannot("lock", &path)(source).into()),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(
            |source| StoreError::not_writable(directory, cannot("write", &path)(source)),
        )?;
        Ok(Lock { _directory: handle, _file: file })
    }
}

/// Returns the id of the process that holds the lock, if it has written one yet.
fn holder(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_LEN_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
