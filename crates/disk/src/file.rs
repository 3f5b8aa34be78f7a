//! An open file that implements the engine's `File`.

use crate::fault::cannot;
use crate::zeros;
use scurry_engine::File;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// A file of a [`crate::Directory`]. Its errors name the path under which it was opened.
#[derive(Debug)]
pub struct DiskFile {
    file: fs::File,
    path: PathBuf,
}

impl DiskFile {
    pub(crate) fn new(file: fs::File, path: PathBuf) -> DiskFile {
        DiskFile { file, path }
    }
}

impl File for DiskFile {
    const BLOCK_LEN: u64 = 4096;

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // Retries short and interrupted writes.
        self.file.write_all_at(bytes, offset).map_err(cannot("write", &self.path))
    }

    fn fill(&mut self, offset: u64, len: usize) -> io::Result<()> {
        zeros::fill(&self.file, offset, len).map_err(cannot("fill", &self.path))
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        fill(offset, buffer, |offset, rest| self.file.read_at(rest, offset))
            .map_err(cannot("read", &self.path))
    }

    fn len(&mut self) -> io::Result<u64> {
        Ok(self.file.metadata().map_err(cannot("ask for the length of", &self.path))?.len())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len).map_err(cannot("set the length of", &self.path))
    }

    fn sync(&mut self) -> io::Result<()> {
        let synced = self.file.sync_data().and_then(|()| still_there(&self.file));
        synced.map_err(cannot("sync", &self.path))
    }
}

/// Checks that the file still has a name. Without one its bytes are on the device, but no start would find them.
fn still_there(file: &fs::File) -> io::Result<()> {
    if file.metadata()?.nlink() > 0 {
        return Ok(());
    }
    let text = "the file was removed while this server runs, and a start would not find what is written to it";
    Err(io::Error::new(ErrorKind::NotFound, text))
}

/// Reads until the buffer is full or the file ends; std's `read_exact_at` treats the end as an error.
fn fill(
    mut offset: u64,
    buffer: &mut [u8],
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read(offset, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(len) => {
                assert!(len <= buffer.len() - filled, "a read has filled more than its buffer");
                filled += len;
                offset += len as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads three bytes at most, and is interrupted on every second call.
    fn reluctant(source: &[u8]) -> impl FnMut(u64, &mut [u8]) -> io::Result<usize> {
        let mut calls = 0;
        move |offset, buffer| {
            calls += 1;
            if calls % 2 == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
            let rest = &source[usize::try_from(offset).expect("small").min(source.len())..];
            let len = rest.len().min(buffer.len()).min(3);
            buffer[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        }
    }

    #[test]
    fn short_and_interrupted_reads_are_continued() {
        let mut buffer = [0; 7];
        let read = fill(1, &mut buffer, reluctant(b"0123456789")).expect("it goes on");
        assert_eq!((read, &buffer), (7, b"1234567"));
        let read = fill(6, &mut buffer, reluctant(b"0123456789")).expect("it goes on");
        assert_eq!((read, &buffer[..4]), (4, &b"6789"[..]));
    }

    #[test]
    fn other_errors_end_the_read() {
        let error = fill(0, &mut [0; 2], |_, _| Err(ErrorKind::PermissionDenied.into()));
        assert_eq!(error.expect_err("it fails").kind(), ErrorKind::PermissionDenied);
    }
}
