//! A directory that implements the engine's `Disk`.

use crate::fault::cannot;
use crate::file::DiskFile;
use nix::sys::statvfs::fstatvfs;
use scurry_engine::Disk;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Mode of files: balances are readable by their owner only.
pub(crate) const FILE_MODE: u32 = 0o600;

/// An existing directory. Its files are created with mode 0600.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    handle: fs::File,
}

impl Directory {
    /// Opens a directory. Fails when it is missing or not readable.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let handle = fs::File::open(path).map_err(cannot("open", path))?;
        Ok(Directory { path: path.to_owned(), handle })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes that are free on its file system, for this process.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let found =
            fstatvfs(&self.handle).map_err(|errno| cannot("look at", &self.path)(errno.into()))?;
        Ok(found.blocks_available() * found.fragment_size())
    }

    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            let text = format!("{name:?} is not a plain file name");
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        Ok(self.path.join(name))
    }
}

impl Disk for Directory {
    type File = DiskFile;

    fn create(&mut self, name: &str, room: u64) -> io::Result<DiskFile> {
        let path = self.path_of(name)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(FILE_MODE);
        let file = options.open(&path).map_err(cannot("create", &path))?;
        if let Err(error) = set_aside(&file, room) {
            // Removes the file, which frees the blocks that were reserved before the disk was full. The first error is
            // reported.
            let _ = fs::remove_file(&path);
            return Err(cannot("set room aside for", &path)(error));
        }
        Ok(DiskFile::new(file, path))
    }

    fn open(&mut self, name: &str) -> io::Result<DiskFile> {
        let path = self.path_of(name)?;
        let file = OpenOptions::new().read(true).write(true).open(&path);
        Ok(DiskFile::new(file.map_err(cannot("open", &path))?, path))
    }

    fn list(&mut self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(cannot("list", &self.path))? {
            let entry = entry.map_err(cannot("list", &self.path))?;
            if entry.file_type().map_err(cannot("list", &self.path))?.is_dir() {
                continue;
            }
            names.push(entry.file_name().into_string().map_err(|name| {
                let text = format!("{name:?} is not UTF-8, and so not a file of ours: remove it");
                cannot("list", &self.path)(io::Error::new(ErrorKind::InvalidData, text))
            })?);
        }
        Ok(names)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path_of(from)?, self.path_of(to)?);
        fs::rename(&from, &to).map_err(cannot("rename", &from))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let path = self.path_of(name)?;
        fs::remove_file(&path).map_err(cannot("remove", &path))
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        self.handle.sync_all().map_err(cannot("sync", &self.path))
    }
}

/// Reserves blocks and extends the file, so that writing within it does not change its length.
#[cfg(target_os = "linux")]
fn set_aside(file: &fs::File, room: u64) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{FallocateFlags, fallocate};
    if room == 0 {
        return Ok(());
    }
    let room = i64::try_from(room).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, room) {
            Err(Errno::EINTR) => {}
            // Some file systems cannot reserve; the space is then allocated by the writes.
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Other systems have no common call to reserve space.
#[cfg(not(target_os = "linux"))]
fn set_aside(_: &fs::File, _: u64) -> io::Result<()> {
    Ok(())
}
