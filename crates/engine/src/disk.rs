//! The interface to files. Calls block; the host of a shard decides on which thread they run.

use std::io;

/// A directory with the files of a shard's log and snapshots. Names are plain file names.
pub trait Disk: Send {
    /// An open file.
    type File: File;

    /// Creates an empty file, or truncates an existing one, and reserves `room` bytes if the file system can. The
    /// length is then 0 or `room`; readers see zeros there.
    fn create(&mut self, name: &str, room: u64) -> io::Result<Self::File>;

    /// Opens a file that exists.
    fn open(&mut self, name: &str) -> io::Result<Self::File>;

    /// Names of the files, in any order.
    fn list(&mut self) -> io::Result<Vec<String>>;

    /// Renames a file; an existing file of the new name is replaced.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals durable.
    fn sync_dir(&mut self) -> io::Result<()>;
}

impl<D: Disk> Disk for &mut D {
    type File = D::File;

    fn create(&mut self, name: &str, room: u64) -> io::Result<D::File> {
        (**self).create(name, room)
    }

    fn open(&mut self, name: &str) -> io::Result<D::File> {
        (**self).open(name)
    }

    fn list(&mut self) -> io::Result<Vec<String>> {
        (**self).list()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        (**self).rename(from, to)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        (**self).remove(name)
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        (**self).sync_dir()
    }
}

/// An open file of a [`Disk`].
#[expect(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
pub trait File: Send {
    /// Block length. A write that ends at a multiple of it never has to read the rest of a page first.
    const BLOCK_LEN: u64 = 1;

    /// Writes all of `bytes` at an offset. After an error it is unknown how much was written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes zeros to a range in advance: past the page cache if possible, so that a later sync has little to write.
    /// An implementation may need whole blocks of 4096 bytes for that.
    fn fill(&mut self, offset: u64, len: usize) -> io::Result<()> {
        self.write_at(offset, &vec![0; len])
    }

    /// Reads up to `buffer.len()` bytes; fewer only at the end of the file.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns the length in bytes.
    fn len(&mut self) -> io::Result<u64>;

    /// Truncates the file, or extends it with zeros.
    fn set_len(&mut self, len: u64) -> io::Result<()>;

    /// Makes the content durable.
    fn sync(&mut self) -> io::Result<()>;
}
