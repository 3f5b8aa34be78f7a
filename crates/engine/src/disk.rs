//! The seam to files. Blocking calls; whoever hosts a shard decides on which thread they run.

use std::io;

/// A directory of files that a shard's log and snapshots live in. Names are plain file names.
pub trait Disk: Send {
    /// An open file.
    type File: File;

    /// Creates an empty file (truncates one that is there), with room set aside for `room`
    /// bytes where the file system can. The length stays 0 or becomes `room`: readers see zeros
    /// there.
    fn create(&mut self, name: &str, room: u64) -> io::Result<Self::File>;

    /// Opens a file that exists.
    fn open(&mut self, name: &str) -> io::Result<Self::File>;

    /// Names of the files, in any order.
    fn list(&mut self) -> io::Result<Vec<String>>;

    /// Renames a file, over one that is there.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals durable.
    fn sync_dir(&mut self) -> io::Result<()>;
}

/// An open file of a [`Disk`].
#[expect(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
pub trait File: Send {
    /// A write that ends at a multiple of this needs nothing read first: the rest of a page that
    /// is not in the cache would be.
    const BLOCK_LEN: u64 = 1;

    /// Writes all of `bytes` at an offset, or fails; how much was written then is unknown.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes zeros to a range that nobody waits for: past the page cache where that is possible,
    /// so that a later sync has little to write. An implementation may ask for whole blocks of
    /// 4096 bytes to do it well.
    fn fill(&mut self, offset: u64, len: usize) -> io::Result<()> {
        self.write_at(offset, &vec![0; len])
    }

    /// Reads up to `buffer.len()` bytes; fewer only at the end of the file.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Bytes of the file.
    fn len(&mut self) -> io::Result<u64>;

    /// Cuts the file, or fills it up with zeros.
    fn set_len(&mut self, len: u64) -> io::Result<()>;

    /// Makes contents durable.
    fn sync(&mut self) -> io::Result<()>;
}
