//! The directory that holds a store: `LOCK`, `MANIFEST`, the files of each core in
//! `g<generation>/<core>`, and `reach-g<generation>`, which says how far each had come. A node of a group has
//! `GROUP` beside them, and `ballot-g<generation>` with the votes that it has given. What `BEGIN` and `RETIRED` say is
//! in `mark.rs`.

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
use scurry_engine::{Least, LogBallot, LogReach, Note, Noted, Vote};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "MANIFEST";
const MANIFEST_NEW: &str = "MANIFEST.new";
const REACH_NEW: &str = "reach.new";
const BALLOT_NEW: &str = "ballot.new";
const GROUP: &str = "GROUP";
const GROUP_NEW: &str = "GROUP.new";

/// A locked store. Whoever starts an empty one writes how far its logs have come, which is nowhere,
/// then its manifest, then the first core's directory: so data without a manifest is always damage,
/// and a manifest without data and without that file as well.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    _lock: Lock,
}

impl Store {
    /// Makes the directory (mode 0700; not those above it, which would hide a typing mistake or a
    /// disk that is not mounted), checks that it can be written, and locks it.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        make_directory(path).map_err(|source| StoreError::not_writable(path, source))?;
        let store = Store { path: path.to_owned(), _lock: Lock::take(path)? };
        store.try_to_write()?;
        // Once there is a manifest the directory is known to last.
        if !path.join(MANIFEST).exists() {
            sync_above(path)?;
        }
        Ok(store)
    }

    /// The manifest; none in a store that nothing was written to. Errors: it is damaged, or
    /// newer, or absent beside data.
    pub fn manifest(&self) -> Result<Option<Manifest>, StoreError> {
        read_manifest(&self.path)
    }

    /// Replaces the manifest. After a crash there is the old one or this one; after this returns
    /// there is this one.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let (new, path) = (self.path.join(MANIFEST_NEW), self.path.join(MANIFEST));
        Ok(replace(&self.path, (&new, FILE_MODE), &path, manifest.to_text().as_bytes())?)
    }

    /// The least that the files of each core hold: [`read_least`].
    pub fn least(&self, manifest: &Manifest) -> Result<Vec<Least>, StoreError> {
        (0..manifest.threads).map(|core| read_least(&self.path, manifest, core)).collect()
    }

    /// Notes how far the logs of the cores have come, all of it on the device, unless as much was
    /// noted before. A store whose note was removed gets a new one: false.
    pub fn raise_reach(&self, manifest: &Manifest, sequences: &[u64]) -> Result<bool, StoreError> {
        let is_there = reach::raise(&self.path, manifest, sequences)?;
        if !is_there {
            self.write_reach(manifest, sequences)?;
        }
        Ok(is_there)
    }

    /// Notes how far the logs of a new generation have come, in the place of whatever was noted.
    pub fn write_reach(&self, manifest: &Manifest, sequences: &[u64]) -> Result<(), StoreError> {
        let (new, path) =
            (self.path.join(REACH_NEW), reach::path_of(&self.path, manifest.generation));
        Ok(replace(&self.path, (&new, FILE_MODE), &path, &reach::bytes_of(manifest, sequences))?)
    }

    /// The place of a core's log in what says how far the logs have come; none where there is
    /// nothing yet.
    pub fn reach(
        &self,
        manifest: &Manifest,
        core: u16,
    ) -> Result<Option<LogReach<DiskFile>>, StoreError> {
        reach::open(&self.path, manifest, core)
    }

    /// Writes damaged copies of notes anew whose other copy is whole: of how far the logs have come, and of the votes
    /// of a node of a group. Returns what is to be said of it.
    pub fn mend_notes(&self, manifest: &Manifest) -> Result<Vec<String>, StoreError> {
        let mut said = Vec::new();
        let ballots = ballot::path_of(&self.path, manifest.generation);
        for core in 0..manifest.threads {
            if let Some(reach) = self.reach(manifest, core)? {
                said.extend(mend(reach, core, &reach::path_of(&self.path, manifest.generation)));
            }
            if ballots.exists() {
                said.extend(mend(self.ballot(manifest, core)?, core, &ballots));
            }
        }
        Ok(said)
    }

    /// Refuses a node of a group without a note of how far its logs have come. It has one from its first moment on,
    /// and an end of its log that went with it would not be missed: the node would go on with less than it has
    /// acknowledged, and the group lose what it has counted on.
    pub fn want_reach(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let path = reach::path_of(&self.path, manifest.generation);
        if path.exists() { Ok(()) } else { Err(StoreError::NoReach { path }) }
    }

    /// Refuses votes of a node whose log has entries of a later term: a vote is on the device before any entry of
    /// its term.
    pub fn want_vote(
        &self,
        manifest: &Manifest,
        vote: Vote,
        logged: u64,
    ) -> Result<(), StoreError> {
        let path = ballot::path_of(&self.path, manifest.generation);
        let voted = vote.term;
        if logged <= voted { Ok(()) } else { Err(StoreError::OldBallot { path, voted, logged }) }
    }

    /// The identity of this node of a group; none in a store of one machine, and in an empty one. Errors:
    /// it is damaged, or newer, or absent beside votes that were given.
    pub fn group(&self) -> Result<Option<GroupFile>, StoreError> {
        read_group(&self.path)
    }

    /// Replaces the identity of this node, and where others are. After a crash there is the old one or
    /// this one; after this returns there is this one. In a new node it is written last, behind the manifest
    /// and the ballot.
    pub fn write_group(&self, group: &GroupFile) -> Result<(), StoreError> {
        let (new, path) = (self.path.join(GROUP_NEW), self.path.join(GROUP));
        Ok(replace(&self.path, (&new, FILE_MODE), &path, group.to_text().as_bytes())?)
    }

    /// Refuses a node of a group, for a server that was told of none.
    pub fn refuse_group(&self) -> Result<(), StoreError> {
        match self.group()? {
            None => Ok(()),
            Some(_) => Err(StoreError::Grouped { directory: self.path.clone() }),
        }
    }

    /// Writes that this node has given no vote, for the logs of a new generation.
    pub fn write_ballots(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let (new, path) =
            (self.path.join(BALLOT_NEW), ballot::path_of(&self.path, manifest.generation));
        Ok(replace(&self.path, (&new, FILE_MODE), &path, &ballot::bytes_of(manifest))?)
    }

    /// The vote that this node has given in the group of a core's log, and the place for those to come.
    pub fn ballot(
        &self,
        manifest: &Manifest,
        core: u16,
    ) -> Result<LogBallot<DiskFile>, StoreError> {
        ballot::open(&self.path, manifest, core)
    }

    /// True where a person has told this directory to begin a group, and it has not yet: [`crate::order_begin`].
    pub fn is_to_begin(&self) -> Result<bool, StoreError> {
        Ok(mark::is_to_begin(&self.path)?)
    }

    /// Takes the order to begin a group back, durably. It is called when the group's file is there.
    pub fn end_begin(&self) -> Result<(), StoreError> {
        Ok(mark::end_begin(&self.path)?)
    }

    /// Refuses a node that takes no part in its group any more: [`Store::retire`].
    pub fn refuse_retired(&self) -> Result<(), StoreError> {
        mark::refuse_retired(&self.path)
    }

    /// Notes durably that the node of this directory takes no part in its group any more, and why: no later start
    /// serves it.
    pub fn retire(&self, why: &str) -> Result<(), StoreError> {
        Ok(mark::retire(&self.path, why)?)
    }

    /// The files of one core in a generation. Makes the directories, durably.
    pub fn core(&self, generation: u32, core: u16) -> io::Result<Directory> {
        let outer = self.path_of(generation);
        let inner = outer.join(core.to_string());
        make_directory(&outer)?;
        make_directory(&inner)?;
        // Also when they were there: an earlier start may have ended before it came to this.
        sync(&outer)?;
        sync(&self.path)?;
        Directory::open(&inner)
    }

    /// The generations that have a directory, in order: the one in use, and what a change of the
    /// number of threads left behind when it was cut short.
    pub fn generations(&self) -> io::Result<Vec<u32>> {
        generations(&self.path)
    }

    /// Removes a generation with everything in it, durably.
    pub fn remove_generation(&self, generation: u32) -> io::Result<()> {
        let path = self.path_of(generation);
        fs::remove_dir_all(&path).map_err(cannot("remove", &path))?;
        reach::remove(&self.path, generation)?;
        ballot::remove(&self.path, generation)?;
        sync(&self.path)
    }

    fn path_of(&self, generation: u32) -> PathBuf {
        self.path.join(format!("g{generation}"))
    }

    /// A lock that was there already can be opened where nothing new can be made.
    fn try_to_write(&self) -> Result<(), StoreError> {
        let path = self.path.join(MANIFEST_NEW);
        create(&path, FILE_MODE)
            .map_err(cannot("create", &path))
            .and_then(|_| fs::remove_file(&path).map_err(cannot("remove", &path)))
            .map_err(|source| StoreError::not_writable(&self.path, source))
    }
}

/// The manifest of a store that somebody else may serve: nothing is locked and nothing written.
/// Otherwise as [`Store::manifest`].
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
        Err(Unreadable::Newer(found)) => Err(StoreError::NewerManifest { path, found }),
    }
}

/// Orders a directory to begin a group when a server is started there with `--replicate`, or when one that waits there
/// to be admitted to a group looks. Makes the directory where there is none. Nothing is locked: a server may have it.
/// Errors: it is a node of a group, or cannot be written.
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

/// The identity of a node that somebody else may serve: nothing is locked and nothing written. Otherwise as
/// [`Store::group`].
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
        Err(Unreadable::Newer(found)) => Err(StoreError::NewerGroup { path, found }),
    }
}

/// The bytes of a file, one more than `len_max` at most; none where there is no such file.
fn read_whole(path: &Path, len_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => {
            file.take(len_max + 1).read_to_end(&mut bytes).map_err(cannot("read", path))?;
            Ok(Some(bytes))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("open", path)(error)),
    }
}

/// Something of a store that has lost its manifest: a directory with data, a file that says of logs which are
/// gone how far they had come, or one that says which node this was.
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

/// A file that has begun, as `has_begun` tells by the directory and its name.
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

/// Writes the damaged copy of a note anew, if there is one; words about it.
fn mend<N: Note>(mut noted: Noted<DiskFile, N>, core: u16, path: &Path) -> Option<String> {
    if !noted.is_damaged() {
        return None;
    }
    let path = path.display();
    let found =
        format!("{path}: one of the two copies of what it says of thread {core} was damaged");
    Some(match noted.mend() {
        Ok(_) => format!("{found}: the other one was used, and it was written anew"),
        // It counts for nothing, as before.
        Err(error) => {
            format!("{found}: the other one was used, and it was not written anew: {error}")
        }
    })
}
