//! Why a store does not open, and what to do about it.

use crate::group_file::GROUP_FORMAT;
use scurry_engine::NoteError;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The way out for a node that does not know what it has promised.
const REJOIN: &str = "this node must join anew: move its directory away, and start it with an empty one, --join \
                      and --replaces";

/// A store that is not opened, or whose manifest is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else has it.
    #[error(
        "another scurry{} serves {}: stop it, or choose another directory",
        pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(), directory.display()
    )]
    Locked {
        /// The directory of the store.
        directory: PathBuf,
        /// Id that the other process wrote into the lock; none when it has not yet.
        pid: Option<u32>,
    },
    /// The directory cannot be made, or files cannot be made in it.
    #[error("cannot keep a store in {}: {source}. {cure}", directory.display())]
    NotWritable {
        /// The directory of the store.
        directory: PathBuf,
        /// Error of the system.
        source: io::Error,
        /// Advice: what to do.
        cure: &'static str,
    },
    /// There are accounts and nothing that says how they are spread.
    #[error(
        "{} has data ({left}) but no MANIFEST: restore MANIFEST from the copy that these \
         files come from, or choose an empty directory",
        directory.display()
    )]
    NoManifest {
        /// The directory of the store.
        directory: PathBuf,
        /// One of the subdirectories with data, or the file that tells how far their logs had come.
        left: String,
    },
    /// A file whose bytes are not what was written.
    #[error(
        "{} is damaged ({what}): restore it from a copy of this store; nothing was changed",
        path.display()
    )]
    DamagedManifest {
        /// The manifest.
        path: PathBuf,
        /// Where it is wrong.
        what: &'static str,
    },
    /// Written by a version to come.
    #[error(
        "{} has format {found}, and this scurry reads formats up to {}: start the version that \
         wrote it, or a later one; nothing was changed",
        path.display(), crate::FORMAT
    )]
    NewerManifest {
        /// The manifest.
        path: PathBuf,
        /// The format that it says.
        found: u32,
    },
    /// The files of a core are gone.
    #[error(
        "{} is missing{}: put it back, or restore from a backup; nothing was changed{}",
        path.display(),
        reach.map(|sequence| format!(", and its log had come to sequence {sequence}"))
            .unwrap_or_default(),
        if reach.is_some() { "" } else {
            ". (If the very first start was cut short and nothing was ever stored here, remove \
             MANIFEST instead.)"
        }
    )]
    MissingDirectory {
        /// The directory of the core.
        path: PathBuf,
        /// How far its log had come; none where nothing says it.
        reach: Option<u64>,
    },
    /// The note of how far logs had come cannot be read or written.
    #[error(
        "{}: {source}. It says how far the logs had come, so that missing files are noticed: put \
         it back from a copy of this store, or remove it, and the logs are taken as they are",
        path.display()
    )]
    Reach {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: NoteError,
    },
    /// The note of how far logs had come was removed from a node of a group.
    #[error(
        "{} is missing. It says how far the logs of this node had come, and without it nobody can tell whether they \
         have all that the node had acknowledged: put it back from a copy of this directory, or {REJOIN}",
        path.display()
    )]
    NoReach {
        /// The file.
        path: PathBuf,
    },
    /// The log of a node has entries of a term in which its votes are not known.
    #[error(
        "{} has votes up to term {voted}, and the log has entries of term {logged}: a vote that this node has given \
         since is lost, and {REJOIN}",
        path.display()
    )]
    OldBallot {
        /// The file.
        path: PathBuf,
        /// The term of the last vote.
        voted: u64,
        /// The term of the last entry.
        logged: u64,
    },
    /// A node of a group is started as a store of one machine.
    #[error(
        "{} is a node of a group: start it with --replicate. Nothing was changed",
        directory.display()
    )]
    Grouped {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// A node of a group is told to begin one.
    #[error(
        "{} is a node of a group already: start it with --replicate, as before. Nothing was changed",
        directory.display()
    )]
    Begun {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// A node has noticed that it must take no part in its group any more.
    #[error("{} says that this node takes no part in its group any more: {why}", path.display())]
    Retired {
        /// The file that says so.
        path: PathBuf,
        /// Reason that the node gave, with what to do.
        why: String,
    },
    /// The identity of a node was removed.
    #[error(
        "{} has {left} but no GROUP, which says which node of its group this is: put GROUP back from a copy of \
         this directory, or {REJOIN}",
        directory.display()
    )]
    NoGroup {
        /// The directory of the store.
        directory: PathBuf,
        /// The file that tells of a node.
        left: String,
    },
    /// The identity of a node has other bytes than were written.
    #[error("{} is damaged ({what}): put it back from a copy of this directory, or {REJOIN}", path.display())]
    DamagedGroup {
        /// The file.
        path: PathBuf,
        /// Where it is wrong.
        what: &'static str,
    },
    /// The identity of a node was written by a version to come.
    #[error(
        "{} has format {found}, and this scurry reads formats up to {GROUP_FORMAT}: start the version that \
         wrote it, or a later one; nothing was changed",
        path.display()
    )]
    NewerGroup {
        /// The file.
        path: PathBuf,
        /// The format that it says.
        found: u32,
    },
    /// The votes that a node has given cannot be read or written.
    #[error(
        "{}: {source}. It holds the votes that this node has given, and a copy may lack one: {}",
        path.display(),
        if matches!(source, NoteError::Newer(_)) { "start the version that wrote it" } else { REJOIN }
    )]
    Ballot {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: NoteError,
    },
    /// Anything else that the system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl StoreError {
    /// True where files are not what was written, or are gone.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Reach { source, .. } | StoreError::Ballot { source, .. } => {
                matches!(source, NoteError::Foreign | NoteError::Damaged { .. })
            }
            StoreError::NoManifest { .. }
            | StoreError::DamagedManifest { .. }
            | StoreError::MissingDirectory { .. }
            | StoreError::NoReach { .. }
            | StoreError::OldBallot { .. }
            | StoreError::Retired { .. } => true,
            _ => false,
        }
    }

    /// Says what lifts a refusal of the system.
    pub(crate) fn not_writable(directory: &Path, source: io::Error) -> StoreError {
        let cure = match source.kind() {
            ErrorKind::PermissionDenied => {
                "Let it belong to the user that scurry runs as (chown), or choose another directory"
            }
            ErrorKind::ReadOnlyFilesystem => {
                "Its file system is mounted read-only: mount it for writing, or choose another \
                 directory"
            }
            ErrorKind::NotFound => "Make the directory above it first, or choose another directory",
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
                "That is a file: choose a directory"
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "Free some room there, or choose another directory"
            }
            _ => "Choose another directory, or repair this one",
        };
        StoreError::NotWritable { directory: directory.to_owned(), source, cure }
    }
}
