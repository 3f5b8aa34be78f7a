//! Files of a core, held open read-only. They stay readable when a server removes them after a newer snapshot, and
//! changes that recovery makes to a log do not reach them.

use anyhow::{Context, Result, bail};
use scurry_codec::{LogFormat, SegmentHeader};
use scurry_engine::{BASE_NAME, Disk, File, checksum, is_spare, segment_of, snapshot_of};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Attempts at opening files that vanish meanwhile, before that is an error.
const TRIES: usize = 10;

/// Open files of one core.
#[derive(Debug)]
pub(crate) struct CoreFiles {
    files: BTreeMap<String, PinnedFile>,
    /// Names of files that are neither log nor snapshot.
    others: Vec<String>,
}

/// One open file.
#[derive(Clone, Debug)]
pub(crate) struct PinnedFile {
    file: Arc<fs::File>,
    path: PathBuf,
}

impl CoreFiles {
    /// Opens all segments and snapshots of a core, and the base of its log.
    pub(crate) fn open(directory: &Path) -> Result<CoreFiles> {
        for _ in 0..TRIES {
            match CoreFiles::try_open(directory) {
                Ok(pinned) => return Ok(pinned),
                // A server finished a snapshot meanwhile and removed the files that it replaces.
                Err(error) if error.kind() == ErrorKind::NotFound && directory.is_dir() => {}
                Err(error) => return Err(error).with_context(|| cannot("read", directory)),
            }
        }
        bail!("the files in {} change all the time: try again", directory.display())
    }

    /// Opens one file, under the name that it would have in a core's directory.
    pub(crate) fn open_file(path: &Path, name: String) -> Result<CoreFiles> {
        let file = PinnedFile::open(path).with_context(|| cannot("read", path))?;
        Ok(CoreFiles { files: BTreeMap::from([(name, file)]), others: Vec::new() })
    }

    fn try_open(directory: &Path) -> io::Result<CoreFiles> {
        let mut pinned = CoreFiles { files: BTreeMap::new(), others: Vec::new() };
        // Snapshots first: the log that they need then still exists when the segments are listed.
        let is_snapshot = |name: &str| snapshot_of(name).is_some();
        pinned.pin(directory, is_snapshot)?;
        pinned.pin(directory, |name| segment_of(name).is_some())?;
        // The base last: a newer base belongs to a log with fewer entries at its start, never to one with more.
        pinned.pin(directory, |name| name == BASE_NAME)?;
        let is_known = |name: &str| is_snapshot(name) || segment_of(name).is_some();
        let is_other = |name: &String| !is_known(name) && !is_spare(name) && name != BASE_NAME;
        pinned.others = names(directory)?.into_iter().filter(is_other).collect();
        pinned.others.sort_unstable();
        Ok(pinned)
    }

    fn pin(&mut self, directory: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<()> {
        for name in names(directory)?.into_iter().filter(|name| wanted(name)) {
            let file = PinnedFile::open(&directory.join(&name))?;
            self.files.insert(name, file);
        }
        Ok(())
    }

    /// Returns the first sequences of the segments, in order.
    pub(crate) fn segments(&self) -> Vec<u64> {
        self.files.keys().filter_map(|name| segment_of(name)).collect()
    }

    /// Returns the sequences at which the snapshots were begun, in order.
    pub(crate) fn snapshots(&self) -> Vec<u64> {
        self.files.keys().filter_map(|name| snapshot_of(name)).collect()
    }

    /// Reports whether the files belong to a group's log.
    pub(crate) fn is_of_group(&self) -> bool {
        let replicated = |file: &PinnedFile| {
            let mut head = [0; SegmentHeader::LEN];
            let len = file.clone().read_at(0, &mut head).unwrap_or(0);
            let header = SegmentHeader::decode(checksum, &head[..len]);
            header.is_ok_and(|header| header.format == LogFormat::Replicated)
        };
        self.files.contains_key(BASE_NAME) || self.files.values().any(replicated)
    }

    /// Returns the other files: unfinished snapshots and unknown names.
    pub(crate) fn others(&self) -> &[String] {
        &self.others
    }

    /// Reports whether a file no longer has the name under which it was opened. A server may have reused an old segment
    /// for a new one while it was read.
    pub(crate) fn is_overtaken(&self) -> bool {
        self.files.values().any(|file| !file.is_in_place())
    }

    /// Returns the bytes of all files, including preallocated space.
    pub(crate) fn len(&self) -> Result<u64> {
        let mut sum = 0;
        for file in self.files.values() {
            sum += file.clone().len()?;
        }
        Ok(sum)
    }
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Returns the text of an access error, with advice if it is about permissions.
pub(crate) fn cannot(what: &str, path: &Path) -> String {
    let readable = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => false,
        Err(_) => true,
        Ok(meta) if meta.is_dir() => fs::read_dir(path).is_ok(),
        Ok(_) => fs::File::open(path).is_ok(),
    };
    let cure = if readable { "" } else { " (run this as the user that scurry runs as)" };
    format!("cannot {what} {}{cure}", path.display())
}

impl PinnedFile {
    fn open(path: &Path) -> io::Result<PinnedFile> {
        Ok(PinnedFile { file: Arc::new(fs::File::open(path)?), path: path.to_owned() })
    }

    fn is_in_place(&self) -> bool {
        let named = fs::metadata(&self.path).map(|meta| (meta.dev(), meta.ino()));
        let open = self.file.metadata().map(|meta| (meta.dev(), meta.ino()));
        matches!((named, open), (Ok(named), Ok(open)) if named == open)
    }

    fn refusal<T>(&self) -> io::Result<T> {
        let text = format!("{} is only read here", self.path.display());
        Err(io::Error::new(ErrorKind::ReadOnlyFilesystem, text))
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot read {}: {error}", self.path.display()))
    }
}

impl Disk for CoreFiles {
    type File = PinnedFile;

    fn create(&mut self, name: &str, _room: u64) -> io::Result<PinnedFile> {
        self.open(name)?.refusal()
    }

    fn open(&mut self, name: &str) -> io::Result<PinnedFile> {
        let file = self.files.get(name).cloned();
        file.ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("there is no {name}")))
    }

    fn list(&mut self) -> io::Result<Vec<String>> {
        Ok(self.files.keys().cloned().collect())
    }

    fn rename(&mut self, from: &str, _to: &str) -> io::Result<()> {
        self.open(from)?.refusal()
    }

    /// Forgets a file without removing it. A log reader removes a segment that was created and not written; a running
    /// server may be about to write to it.
    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.files.remove(name);
        Ok(())
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl File for PinnedFile {
    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        self.refusal()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(len) => filled += len,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.named(&error)),
            }
        }
        Ok(filled)
    }

    fn len(&mut self) -> io::Result<u64> {
        Ok(self.file.metadata().map_err(|error| self.named(&error))?.len())
    }

    fn set_len(&mut self, _len: u64) -> io::Result<()> {
        self.refusal()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.refusal()
    }
}

#[cfg(test)]
mod tests {
    use super::CoreFiles;
    use scurry_engine::segment_name;
    use std::fs;

    #[test]
    fn a_file_that_got_another_name_or_was_replaced_is_overtaken() {
        let place = tempfile::TempDir::new().expect("a place for files");
        let path = |first: u64| place.path().join(segment_name(first));
        for first in [1, 9] {
            fs::write(path(first), "a segment").expect("written");
        }
        let pinned = CoreFiles::open(place.path()).expect("opened");
        assert!(!pinned.is_overtaken());
        fs::rename(path(1), place.path().join("spare-1")).expect("renamed");
        assert!(pinned.is_overtaken());
        fs::write(path(1), "another one").expect("written");
        assert!(pinned.is_overtaken());
        assert!(!CoreFiles::open(place.path()).expect("opened").is_overtaken());
    }
}
