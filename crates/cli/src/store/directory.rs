//! Determines whether a path is a data directory, the directory of a core, or one of its files.

use super::pinned::{CoreFiles, cannot};
use anyhow::{Context, Result, bail, ensure};
use scurry_codec::{HeaderError, SegmentHeader, SnapshotHeader};
use scurry_disk::{GroupFile, Manifest, StoreError, read_group, read_least, read_manifest};
use scurry_engine::{BASE_NAME, RequiredExtent, checksum, segment_of, snapshot_of};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// A data directory, read without locking it.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    pub(crate) path: PathBuf,
    /// None if no server has finished its first start there.
    pub(crate) manifest: Option<Manifest>,
}

/// Kind of a path.
#[derive(Debug)]
pub(crate) enum PathKind {
    /// Data directory of a server.
    Data(DataDirectory),
    /// Directory of a core.
    Core(PathBuf),
    /// Segment of a log, and the sequence of its first record.
    Segment(PathBuf, u64),
    /// Snapshot, and the sequence at which it was begun.
    Snapshot(PathBuf, u64),
}

/// Returns the name of a core's directory within the data directory.
pub(crate) fn core_name(generation: u32, core: u16) -> String {
    format!("g{generation}/{core}")
}

impl DataDirectory {
    /// Opens a data directory. The error for any other path says what it is instead.
    pub(crate) fn open(path: &Path) -> Result<DataDirectory> {
        match PathKind::find(path)? {
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

    /// Returns the manifest. Fails if nothing was ever written.
    pub(crate) fn manifest(&self) -> Result<Manifest> {
        self.manifest.with_context(|| {
            format!("nothing was ever written to {}: there is nothing to copy", self.path.display())
        })
    }

    /// Returns the least extent that the files of a core must have. Fails if the core's directory is missing.
    pub(crate) fn least(&self, core: u16) -> Result<RequiredExtent, StoreError> {
        match &self.manifest {
            Some(manifest) => {
                let least = read_least(&self.path, manifest, core)?;
                // A node that is joining has not received its first snapshot yet.
                let base = self.path.join(core_name(manifest.generation, core)).join(BASE_NAME);
                let begins = self.is_node() && !base.exists();
                Ok(RequiredExtent { snapshot: least.snapshot && !begins, ..least })
            }
            None => Ok(RequiredExtent::default()),
        }
    }

    /// Returns the identity of the node. None for a store of one machine and for a copy.
    pub(crate) fn group(&self) -> Result<Option<GroupFile>, StoreError> {
        read_group(&self.path)
    }

    /// Reports whether this is the directory of a node of a group, also if its identity cannot be read.
    pub(crate) fn is_node(&self) -> bool {
        self.group().map_or(true, |group| group.is_some())
    }

    /// Reports whether the logs belong to a group: true for a node's directory and for a copy of it.
    pub(crate) fn is_of_group(&self) -> Result<bool> {
        let mut is_so = self.is_node();
        for (_, path) in self.cores().iter().filter(|(_, path)| path.is_dir()) {
            is_so |= CoreFiles::open(path)?.is_of_group();
        }
        Ok(is_so)
    }

    /// Refuses a node that has joined a group and received no data yet.
    pub(crate) fn ensure_begun(&self) -> Result<()> {
        if !self.is_node() {
            return Ok(());
        }
        for (name, path) in self.cores() {
            ensure!(
                path.is_dir() && CoreFiles::open(&path)?.is_of_group(),
                "{name} is empty: this node has got nothing of its group yet. Take another node, or wait until it \
                 has caught up"
            );
        }
        Ok(())
    }

    /// Returns the names and the directories of the cores, in their order.
    pub(crate) fn cores(&self) -> Vec<(String, PathBuf)> {
        let Some(manifest) = self.manifest else { return Vec::new() };
        let name = |core| core_name(manifest.generation, core);
        (0..manifest.threads).map(|core| (name(core), self.path.join(name(core)))).collect()
    }
}

impl PathKind {
    pub(crate) fn find(path: &Path) -> Result<PathKind> {
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

/// Reports whether the path ends with `g<generation>/<core>`, also if the directory is empty.
fn is_core_by_name(path: &Path) -> bool {
    let name = |path: Option<&Path>| Some(path?.file_name()?.to_str()?.to_owned());
    name(Some(path)).is_some_and(|name| name.parse::<u16>().is_ok())
        && name(path.parent()).is_some_and(|name| generation_of(&name))
}

fn generation_of(name: &str) -> bool {
    name.strip_prefix('g').is_some_and(|digits| digits.parse::<u32>().is_ok())
}

/// Identifies a file by its header, since a copy may have another name. The name decides if the header is damaged.
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
        // A file of a newer version is not tried as another kind.
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
