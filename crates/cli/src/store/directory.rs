//! What a path is: a data directory, the directory of a core, or a file of one.

use super::pinned::{Pinned, cannot};
use anyhow::{Context, Result, bail, ensure};
use scurry_codec::{HeaderError, SegmentHeader, SnapshotHeader};
use scurry_disk::{GroupFile, Manifest, StoreError, read_group, read_least, read_manifest};
use scurry_engine::{BASE_NAME, Least, checksum, segment_of, snapshot_of};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A data directory, looked at from outside: it is not locked.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    pub(crate) path: PathBuf,
    /// None where a server has never finished its first start.
    pub(crate) manifest: Option<Manifest>,
}

/// Kind of a path.
#[derive(Debug)]
pub(crate) enum PathKind {
    /// All of a server's data.
    Data(DataDirectory),
    /// A core's.
    Core(PathBuf),
    /// One segment of a log, and the sequence of its first record.
    Segment(PathBuf, u64),
    /// One snapshot, and the sequence at which it was begun.
    Snapshot(PathBuf, u64),
}

/// Name of a core's directory within the data directory.
pub(crate) fn core_name(generation: u32, core: u16) -> String {
    format!("g{generation}/{core}")
}

impl DataDirectory {
    /// Opens a data directory; anything else is an error that says what it is instead.
    pub(crate) fn open(path: &Path) -> Result<DataDirectory> {
        match PathKind::of(path)? {
            PathKind::Data(directory) => Ok(directory),
            PathKind::Core(_) => bail!(
                "{} is the directory of one core: give the data directory, which holds MANIFEST",
                path.display()
            ),
            PathKind::Segment(..) | PathKind::Snapshot(..) => {
                bail!("{} is a file: give the data directory, which holds MANIFEST", path.display())
            }
        }
    }

    /// The manifest; an error where there is none yet.
    pub(crate) fn manifest(&self) -> Result<Manifest> {
        self.manifest.with_context(|| {
            format!("nothing was ever written to {}: there is nothing to copy", self.path.display())
        })
    }

    /// The least that the files of a core hold; an error where its directory is missing.
    pub(crate) fn least(&self, core: u16) -> Result<Least, StoreError> {
        match &self.manifest {
            Some(manifest) => {
                let least = read_least(&self.path, manifest, core)?;
                // What a node that joins begins with has yet to come.
                let base = self.path.join(core_name(manifest.generation, core)).join(BASE_NAME);
                let begins = self.is_node() && !base.exists();
                Ok(Least { snapshot: least.snapshot && !begins, ..least })
            }
            None => Ok(Least::default()),
        }
    }

    /// The identity of the node whose directory it is; none of a store of one machine, and of a copy.
    pub(crate) fn group(&self) -> Result<Option<GroupFile>, StoreError> {
        read_group(&self.path)
    }

    /// True for the directory of a node of a group, also where it has lost its identity.
    pub(crate) fn is_node(&self) -> bool {
        self.group().map_or(true, |group| group.is_some())
    }

    /// True where the logs are those of a group: in the directory of a node, and in a copy of it.
    pub(crate) fn is_of_group(&self) -> Result<bool> {
        let mut is_so = self.is_node();
        for (_, path) in self.cores().iter().filter(|(_, path)| path.is_dir()) {
            is_so |= Pinned::open(path)?.is_of_group();
        }
        Ok(is_so)
    }

    /// Refuses a node that has joined a group and got nothing of it yet.
    pub(crate) fn ensure_begun(&self) -> Result<()> {
        if !self.is_node() {
            return Ok(());
        }
        for (name, path) in self.cores() {
            ensure!(
                path.is_dir() && Pinned::open(&path)?.is_of_group(),
                "{name} is empty: this node has got nothing of its group yet. Take another node, or wait until it \
                 has caught up"
            );
        }
        Ok(())
    }

    /// The directories of the cores, by their names, in the order of the cores.
    pub(crate) fn cores(&self) -> Vec<(String, PathBuf)> {
        let Some(manifest) = self.manifest else { return Vec::new() };
        let name = |core| core_name(manifest.generation, core);
        (0..manifest.threads).map(|core| (name(core), self.path.join(name(core)))).collect()
    }
}

impl PathKind {
    pub(crate) fn of(path: &Path) -> Result<PathKind> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "there is no {}: check the path, and that its file system is mounted",
                path.display()
            ),
            Err(error) => return Err(error).with_context(|| cannot("look at", path)),
        };
        if metadata.is_dir() { directory(path) } else { file(path) }
    }
}

fn directory(path: &Path) -> Result<PathKind> {
    let entries = fs::read_dir(path).with_context(|| cannot("read", path))?;
    let (mut is_core, mut is_data) = (is_core_by_name(path), false);
    for entry in entries {
        let name = entry.with_context(|| cannot("read", path))?.file_name();
        let Some(name) = name.to_str() else { continue };
        is_core |= segment_of(name).is_some() || snapshot_of(name).is_some();
        is_data |= matches!(name, "MANIFEST" | "LOCK") || name.starts_with("reach-g");
        is_data |= generation_of(name);
    }
    if is_data {
        let manifest = read_manifest(path)?;
        return Ok(PathKind::Data(DataDirectory { path: path.to_owned(), manifest }));
    }
    if is_core {
        return Ok(PathKind::Core(path.to_owned()));
    }
    bail!(
        "{} is no data directory: it has no MANIFEST. Check the path, and that its file system is \
         mounted",
        path.display()
    )
}

/// True for `g<generation>/<core>`, also when nothing was written there.
fn is_core_by_name(path: &Path) -> bool {
    let name = |path: Option<&Path>| Some(path?.file_name()?.to_str()?.to_owned());
    name(Some(path)).is_some_and(|name| name.parse::<u16>().is_ok())
        && name(path.parent()).is_some_and(|name| generation_of(&name))
}

fn generation_of(name: &str) -> bool {
    name.strip_prefix('g').is_some_and(|digits| digits.parse::<u32>().is_ok())
}

/// A file says itself what it is: it may be a copy under another name. Where it is damaged its
/// name does.
fn file(path: &Path) -> Result<PathKind> {
    let mut head = [0; SnapshotHeader::LEN];
    let mut handle = fs::File::open(path).with_context(|| cannot("read", path))?;
    let mut len = 0;
    while len < head.len() {
        match handle.read(&mut head[len..]).with_context(|| cannot("read", path))? {
            0 => break,
            more => len += more,
        }
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match SegmentHeader::decode(checksum, &head[..len]) {
        Ok(header) => return Ok(PathKind::Segment(path.to_owned(), header.first)),
        Err(error @ HeaderError::Newer { .. }) => bail!("{}: {error}", path.display()),
        Err(_) => {}
    }
    match SnapshotHeader::decode(checksum, &head[..len]) {
        Ok(header) if header.log_next > 0 => {
            return Ok(PathKind::Snapshot(path.to_owned(), header.log_next - 1));
        }
        Err(error @ HeaderError::Newer { .. }) => bail!("{}: {error}", path.display()),
        Ok(_) | Err(_) => {}
    }
    match (segment_of(name), snapshot_of(name)) {
        (Some(first), _) => Ok(PathKind::Segment(path.to_owned(), first)),
        (None, Some(begun)) => Ok(PathKind::Snapshot(path.to_owned(), begun)),
        (None, None) => bail!(
            "{} is neither a log segment nor a snapshot: give one, or a data directory",
            path.display()
        ),
    }
}
