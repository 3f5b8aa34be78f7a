//! The file with the positions up to which the receiver has the events. A new file is written aside, synced, and renamed
//! to the old one. Another file beside it is locked while a shipper runs.

use crate::fault::file_fault;
use scurry_ship::{Positions, SinkError, StoreId};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// First and last line of the file.
const HEAD: &str = "position of scurry ship http, format 1";
const END: &str = "end";
/// Longest file that is read: a position of each of 65,536 threads.
const LEN_MAX: u64 = 4 << 20;

/// The file with the positions, which one shipper has at a time.
#[derive(Debug)]
pub(crate) struct PlaceFile {
    path: PathBuf,
    _lock: File,
}

impl PlaceFile {
    /// Locks the file, which need not exist yet.
    pub(crate) fn open(path: &Path) -> Result<PlaceFile, SinkError> {
        let lock_path = beside(path, ".lock");
        let lock = File::create(&lock_path).map_err(|error| file_fault(&lock_path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(PlaceFile { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(SinkError::Refused(format!(
                "another shipper uses {}: end it, or give this one another --position",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(file_fault(&lock_path, &error)),
        }
    }

    /// Returns the positions; none of them if there is no file yet. Fails if they are of another store.
    pub(crate) fn read(&self, store: StoreId) -> Result<Positions, SinkError> {
        let len = match fs::metadata(&self.path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Positions::none(store)),
            Err(error) => return Err(file_fault(&self.path, &error)),
        };
        let text = match len <= LEN_MAX {
            true => fs::read(&self.path).map_err(|error| file_fault(&self.path, &error))?,
            false => Vec::new(),
        };
        let Some(reached) = parse(&text) else {
            return Err(SinkError::Refused(format!(
                "{} is no position of scurry ship http, or is damaged: give another --position, or delete it to ship \
                 everything again that the store keeps",
                self.path.display()
            )));
        };
        if reached.store() != store {
            return Err(SinkError::Refused(format!(
                "{} is the position in store {}, and these events are of store {store}: give another --position",
                self.path.display(),
                reached.store()
            )));
        }
        Ok(reached)
    }

    /// Replaces the positions, and returns when the disk keeps them.
    pub(crate) fn write(&self, reached: &Positions) -> Result<(), SinkError> {
        let aside = beside(&self.path, ".part");
        let write = || -> io::Result<()> {
            let mut file = File::create(&aside)?;
            file.write_all(format!("{HEAD}\n{reached}\n{END}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&aside, &self.path)?;
            let directory = self.path.parent().filter(|path| !path.as_os_str().is_empty());
            File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|error| file_fault(&self.path, &error))
    }
}

fn parse(text: &[u8]) -> Option<Positions> {
    let text = std::str::from_utf8(text).ok()?;
    let rest = text.strip_prefix(HEAD)?.strip_prefix('\n')?;
    rest.strip_suffix('\n')?.strip_suffix(END)?.strip_suffix('\n')?.parse().ok()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("place");
        let file = PlaceFile::open(&path).expect("it is locked");
        let store = StoreId(0xc0ffee);
        assert_eq!(file.read(store), Ok(Positions::none(store)));
        let reached: Positions = "0000000000c0ffee 1.0:17 1.1:20-3".parse().expect("positions");
        file.write(&reached).expect("it is written");
        assert_eq!(file.read(store), Ok(reached));
        let error = file.read(StoreId(1)).expect_err("another store").to_string();
        assert!(error.contains("is the position in store 0000000000c0ffee, and these"), "{error}");
        let error = PlaceFile::open(&path).expect_err("it is locked").to_string();
        assert!(error.starts_with("another shipper uses"), "{error}");
        // Every cut of the file is noticed.
        let whole = fs::read(&path).expect("bytes");
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).expect("it is written");
            let error = file.read(store).expect_err("it is cut").to_string();
            assert!(error.contains("or is damaged"), "{len}: {error}");
        }
    }
}
