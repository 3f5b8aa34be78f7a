//! The directory of a store: `LOCK`, `MANIFEST`, the files of each core in `g<generation>/<core>`, and
//! `reach-g<generation>` with the reach of each log. A node of a group also has `GROUP`, and `ballot-g<generation>`
//! with its votes. `mark.rs` describes `BEGIN`, `RETIRED` and `PROTOCOL`.

use crate::ballot;
use crate::directory::{Directory, FILE_MODE};
use crate::durably::{create, make_directory, replace, sync, sync_above};
use crate::fault::cannot;
use crate::file::DiskFile;
use crate::group_file::{GROUP_LEN_MAX, GroupFile};
use crate::lock::Lock;
use crate::manifest::{LEN_MAX, Manifest};
use crate::mark;
use crate::reach::{self, read_least};
use crate::sealed::Unreadable;
use crate::store_error::StoreError;
use scurry_codec::ByteCount;
use scurry_engine::{LogBallot, LogReach, Note, NoteFile, RequiredExtent, Term, Vote};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "MANIFEST";
const MANIFEST_NEW: &str = "MANIFEST.new";
const REACH_NEW: &str = "reach.new";
const BALLOT_NEW: &str = "ballot.new";
const GROUP: &str = "GROUP";
const GROUP_NEW: &str = "GROUP.new";

/// A locked store. A first start writes the reach file, which notes empty logs, then the manifest, then the first
/// core's directory. So data without a manifest is always damage, and so is a manifest with neither data nor a reach
/// file.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    _lock: Lock,
}

impl Store {
    /// Opens and locks the directory and checks that it can be written. Creates it with mode 0700, but not its parents:
    /// that would hide a typing mistake or a disk that is not mounted.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        make_directory(path).map_err(|source| StoreError::not_writable(path, source))?;
        let store = Store { path: path.to_owned(), _lock: Lock::acquire(path)? };
        store.try_to_write()?;
        // When a manifest exists, an earlier start has made the directory durable.
        if !path.join(MANIFEST).exists() {
            sync_above(path)?;
        }
        Ok(store)
    }

    /// Reads the manifest, None in a new store. Fails when it is damaged, newer, or missing beside data.
    pub fn manifest(&self) -> Result<Option<Manifest>, StoreError> {
        read_manifest(&self.path)
    }

    /// Replaces the manifest durably. After a crash either the old one or the new one is there.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let (new, path) = (self.path.join(MANIFEST_NEW), self.path.join(MANIFEST));
        let text = manifest.to_text();
        // Without its manifest no start finds the store.
        let is_readable = Manifest::from_bytes(text.as_bytes()).as_ref() == Ok(manifest);
        assert!(is_readable, "a manifest would not be read as it is written: {manifest:?}");
        Ok(replace(&self.path, (&new, FILE_MODE), &path, text.as_bytes())?)
    }

    /// Returns the lower bound on what each core's files hold: [`read_least`].
    pub fn least(&self, manifest: &Manifest) -> Result<Vec<RequiredExtent>, StoreError> {
        (0..manifest.threads).map(|core| read_least(&self.path, manifest, core)).collect()
    }

    /// Raises the noted reach of the cores' logs, which are on the device up to there. Returns false when the reach
    /// file was missing and a new one was written.
    pub fn raise_reach(&self, manifest: &Manifest, sequences: &[u64]) -> Result<bool, StoreError> {
        let is_there = reach::raise(&self.path, manifest, sequences)?;
        if !is_there {
            self.write_reach(manifest, sequences)?;
        }
        Ok(is_there)
    }

    /// Writes the reach of the logs of a new generation, replacing any earlier note.
    pub fn write_reach(&self, manifest: &Manifest, sequences: &[u64]) -> Result<(), StoreError> {
        let (new, path) =
            (self.path.join(REACH_NEW), reach::path_of(&self.path, manifest.generation));
        Ok(replace(&self.path, (&new, FILE_MODE), &path, &reach::bytes_of(manifest, sequences))?)
    }

    /// Opens the reach note of a core's log, None when the file is missing.
    pub fn reach(
        &self,
        manifest: &Manifest,
        core: u16,
    ) -> Result<Option<LogReach<DiskFile>>, StoreError> {
        reach::open(&self.path, manifest, core)
    }

    /// Rewrites damaged copies of notes whose other copy is whole: of the logs' reach, and of a node's votes. Returns
    /// messages for the log.
    pub fn mend_notes(&self, manifest: &Manifest) -> Result<Vec<String>, StoreError> {
        let mut said = Vec::new();
        let ballots = ballot::path_of(&self.path, manifest.generation);
        for core in 0..manifest.threads {
            if let Some(reach) = self.reach(manifest, core)? {
                said.extend(repair_damaged_copy(
                    reach,
                    core,
                    &reach::path_of(&self.path, manifest.generation),
                ));
            }
            if ballots.exists() {
                said.extend(repair_damaged_copy(self.ballot(manifest, core)?, core, &ballots));
            }
        }
        Ok(said)
    }

    /// Refuses a node of a group whose reach file is missing. A node has one from its first start. Without it a missing
    /// end of the log would go unnoticed: the node would go on with less than it has acknowledged, and the group could
    /// lose committed entries.
    pub fn require_reach(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let path = reach::path_of(&self.path, manifest.generation);
        if path.exists() { Ok(()) } else { Err(StoreError::NoReach { path }) }
    }

    /// Refuses the votes of a node whose log has entries of a later term: a vote is on the device before any entry of
    /// its term, so a vote was lost.
    pub fn check_vote(
        &self,
        manifest: &Manifest,
        vote: Vote,
        logged: Term,
    ) -> Result<(), StoreError> {
        let path = ballot::path_of(&self.path, manifest.generation);
        let voted = vote.term;
        if logged <= voted { Ok(()) } else { Err(StoreError::OldBallot { path, voted, logged }) }
    }

    /// Reads the identity of this node of a group, None in a single server's store and in a new one. Fails when it is
    /// damaged, newer, or missing beside votes.
    pub fn group(&self) -> Result<Option<GroupFile>, StoreError> {
        read_group(&self.path)
    }

    /// Replaces the identity of this node and the addresses of the others, durably. After a crash either the old file
    /// or the new one is there. A new node writes it last, after the manifest and the ballot.
    pub fn write_group(&self, group: &GroupFile) -> Result<(), StoreError> {
        assert!(group.node > 0 && group.founder > 0, "a node has no identity: {group:?}");
        let (new, path) = (self.path.join(GROUP_NEW), self.path.join(GROUP));
        let text = group.to_text();
        // The members are what other nodes have told: no start would read a list with a node twice.
        if GroupFile::from_bytes(text.as_bytes()).as_ref() != Ok(group) {
            let text = format!("the members cannot be written to {}: {group:?}", path.display());
            return Err(io::Error::new(ErrorKind::InvalidInput, text).into());
        }
        Ok(replace(&self.path, (&new, FILE_MODE), &path, text.as_bytes())?)
    }

    /// Refuses a node of a group, for a server that was started without a group.
    pub fn refuse_group(&self) -> Result<(), StoreError> {
        match self.group()? {
            None => Ok(()),
            Some(_) => Err(StoreError::Grouped { directory: self.path.clone() }),
        }
    }

    /// Writes the ballot file of a new generation, without votes.
    pub fn write_ballots(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let (new, path) =
            (self.path.join(BALLOT_NEW), ballot::path_of(&self.path, manifest.generation));
        Ok(replace(&self.path, (&new, FILE_MODE), &path, &ballot::bytes_of(manifest))?)
    }

    /// Opens the ballot of a core's log: the vote that this node has given, and the place for later votes.
    pub fn ballot(
        &self,
        manifest: &Manifest,
        core: u16,
    ) -> Result<LogBallot<DiskFile>, StoreError> {
        ballot::open(&self.path, manifest, core)
    }

    /// Reports whether an operator has ordered this directory to begin a group and it has not begun yet:
    /// [`crate::order_begin`].
    pub fn is_to_begin(&self) -> Result<bool, StoreError> {
        Ok(mark::is_to_begin(&self.path)?)
    }

    /// Removes the order to begin a group, durably. Called once the group's file is written.
    pub fn end_begin(&self) -> Result<(), StoreError> {
        Ok(mark::end_begin(&self.path)?)
    }

    /// Refuses a node that was retired from its group: [`Store::retire`].
    pub fn refuse_retired(&self) -> Result<(), StoreError> {
        mark::refuse_retired(&self.path)
    }

    /// Marks the node of this directory, durably, as retired from its group, with the reason: no later start serves it.
    pub fn retire(&self, why: &str) -> Result<(), StoreError> {
        Ok(mark::retire(&self.path, why)?)
    }

    /// Notes, durably, the version of the protocol between nodes that each node of the group has to speak.
    pub fn require_protocol(&self, version: u16) -> Result<(), StoreError> {
        Ok(mark::require_protocol(&self.path, version)?)
    }

    /// Returns the version that [`Store::require_protocol`] has noted; 1 without a note.
    pub fn required_protocol(&self) -> Result<u16, StoreError> {
        Ok(mark::required_protocol(&self.path)?)
    }

    /// Keeps a text under a name in this directory, durably, for a person to look at.
    pub fn keep_text(&self, name: &str, text: &str) -> Result<(), StoreError> {
        Ok(mark::keep_text(&self.path, name, text)?)
    }

    /// Opens the directory of one core in a generation. Creates it durably if needed.
    pub fn core(&self, generation: u32, core: u16) -> io::Result<Directory> {
        let outer = self.path_of(generation);
        let inner = outer.join(core.to_string());
        make_directory(&outer)?;
        make_directory(&inner)?;
        // Synced even when they existed: an earlier start may have ended before its sync.
        sync(&outer)?;
        sync(&self.path)?;
        Directory::open(&inner)
    }

    /// Lists the generations that have a directory, in order: the current one, and any that an interrupted change of
    /// the number of threads has left.
    pub fn generations(&self) -> io::Result<Vec<u32>> {
        generations(&self.path)
    }

    /// Removes a generation with everything in it, durably.
    pub fn remove_generation(&self, generation: u32) -> io::Result<()> {
        let in_use = self.manifest().ok().flatten().map(|manifest| manifest.generation);
        assert!(in_use != Some(generation), "generation {generation} is in use and to be removed");
        let path = self.path_of(generation);
        fs::remove_dir_all(&path).map_err(cannot("remove", &path))?;
        reach::remove(&self.path, generation)?;
        ballot::remove(&self.path, generation)?;
        sync(&self.path)
    }

    fn path_of(&self, generation: u32) -> PathBuf {
        self.path.join(format!("g{generation}"))
    }

    /// Checks that files can be created: an existing lock file can be opened even where nothing new can be created.
    fn try_to_write(&self) -> Result<(), StoreError> {
        let path = self.path.join(MANIFEST_NEW);
        create(&path, FILE_MODE)
            .map_err(cannot("create", &path))
            .and_then(|_| fs::remove_file(&path).map_err(cannot("remove", &path)))
            .map_err(|source| StoreError::not_writable(&self.path, source))
    }
}

/// Reads the manifest as [`Store::manifest`] does, without the lock and without writing: another process may serve the
/// store.
pub fn read_manifest(directory: &Path) -> Result<Option<Manifest>, StoreError> {
    let path = directory.join(MANIFEST);
    let Some(bytes) = read_whole(&path, LEN_MAX)? else {
        return match left_without_manifest(directory)? {
            None => Ok(None),
            Some(left) => Err(StoreError::NoManifest { directory: directory.to_owned(), left }),
        };
    };
    match Manifest::from_bytes(&bytes) {
        Ok(manifest) => Ok(Some(manifest)),
        Err(Unreadable::Damaged(what)) => Err(StoreError::DamagedManifest { path, what }),
        Err(Unreadable::Format(found)) => Err(StoreError::ManifestFormat { path, found }),
    }
}

/// Orders a directory to begin a group. A server with `--replicate` does so at its start, or, if it already runs there
/// and waits for admission to a group, when it next checks. Creates the directory if it is missing. Takes no lock: a
/// server may hold it. Fails when the directory is a node of a group, or cannot be written.
pub fn order_begin(directory: &Path) -> Result<(), StoreError> {
    let not_writable = |source| StoreError::not_writable(directory, source);
    make_directory(directory).map_err(not_writable)?;
    mark::refuse_retired(directory)?;
    if read_group(directory)?.is_some() {
        return Err(StoreError::Begun { directory: directory.to_owned() });
    }
    mark::order_begin(directory).map_err(not_writable)?;
    Ok(sync_above(directory)?)
}

/// Reads the identity of a node as [`Store::group`] does, without the lock and without writing: another process may
/// serve the store.
pub fn read_group(directory: &Path) -> Result<Option<GroupFile>, StoreError> {
    let path = directory.join(GROUP);
    let Some(bytes) = read_whole(&path, GROUP_LEN_MAX)? else {
        return match begun(directory, ballot::has_begun)? {
            None => Ok(None),
            Some(left) => Err(StoreError::NoGroup { directory: directory.to_owned(), left }),
        };
    };
    match GroupFile::from_bytes(&bytes) {
        Ok(file) => Ok(Some(file)),
        Err(Unreadable::Damaged(what)) => Err(StoreError::DamagedGroup { path, what }),
        Err(Unreadable::Format(found)) => Err(StoreError::NewerGroup { path, found }),
    }
}

/// Reads a file, at most `len_max` + 1 bytes. None when it does not exist.
fn read_whole(path: &Path, len_max: ByteCount) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => {
            file.take(len_max.get() + 1).read_to_end(&mut bytes).map_err(cannot("read", path))?;
            Ok(Some(bytes))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("open", path)(error)),
    }
}

/// Returns the name of a remnant that shows that the manifest was lost: a directory with data, a reach file of logs
/// that held data, or a file with a node's identity.
fn left_without_manifest(directory: &Path) -> io::Result<Option<String>> {
    if let Some(number) = generations(directory)?.first() {
        return Ok(Some(format!("g{number}")));
    }
    if let Some(reach) = begun(directory, reach::has_begun)? {
        return Ok(Some(reach));
    }
    if directory.join(GROUP).exists() {
        return Ok(Some(GROUP.to_owned()));
    }
    begun(directory, ballot::has_begun)
}

/// Finds a file for which `has_begun`, called with the directory and the name, returns true.
fn begun(
    path: &Path,
    has_begun: impl Fn(&Path, &str) -> io::Result<bool>,
) -> io::Result<Option<String>> {
    for entry in fs::read_dir(path).map_err(cannot("list", path))? {
        let name = entry.map_err(cannot("list", path))?.file_name();
        if let Some(name) = name.to_str()
            && has_begun(path, name)?
        {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

fn generations(path: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(path).map_err(cannot("list", path))? {
        let name = entry.map_err(cannot("list", path))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix('g')?.parse::<u32>().ok());
        numbers.extend(number.filter(|number| name == *format!("g{number}")));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Rewrites the damaged copy of a note, if one is damaged. Returns a message about it.
fn repair_damaged_copy<N: Note>(
    mut noted: NoteFile<DiskFile, N>,
    core: u16,
    path: &Path,
) -> Option<String> {
    if !noted.is_damaged() {
        return None;
    }
    let path = path.display();
    let found =
        format!("{path}: one of the two copies of what it says of thread {core} was damaged");
    Some(match noted.repair_damaged_copy() {
        Ok(_) => {
            assert!(!noted.is_damaged(), "a copy was rewritten and is still damaged");
            format!("{found}: the other one was used, and it was written again")
        }
        // The damaged copy is still ignored, as before.
        Err(error) => {
            format!("{found}: the other one was used, and it was not written again: {error}")
        }
    })
}
