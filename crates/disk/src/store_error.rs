//! Why a store does not open, and what to do about it.

use crate::group_file::GROUP_FORMAT;
use scurry_engine::{NoteError, Term};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Remedy for a node that cannot know its acknowledgements or votes.
const REJOIN: &str = "this node must join again: move its directory away, and start it with an empty one, --join \
                      and --replaces";

/// A store that is not opened, or whose manifest is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process serves the store.
    #[error(
        "another scurry{} serves {}: stop it, or choose another directory",
        pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(), directory.display()
    )]
    Locked {
        /// The directory of the store.
        directory: PathBuf,
        /// Id that the other process wrote into the lock, None when it has not yet.
        pid: Option<u32>,
    },
    /// The directory or files in it cannot be created.
    #[error("cannot keep a store in {}: {source}. {cure}", directory.display())]
    NotWritable {
        /// The directory of the store.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
        /// Remedy.
        cure: &'static str,
    },
    /// Accounts exist, but the manifest, which says how they are divided, is missing.
    #[error(
        "{} has data ({left}) but no MANIFEST: restore MANIFEST from the copy that these \
         files come from, or choose an empty directory",
        directory.display()
    )]
    NoManifest {
        /// The directory of the store.
        directory: PathBuf,
        /// A subdirectory with data, or a file that proves that data existed.
        left: String,
    },
    /// The manifest's bytes are not as written.
    #[error(
        "{} is damaged ({what}): restore it from a copy of this store; nothing was changed",
        path.display()
    )]
    DamagedManifest {
        /// The manifest.
        path: PathBuf,
        /// The fault.
        what: &'static str,
    },
    /// The manifest was written by a version with another format.
    #[error(
        "{} has format {found}, and this scurry reads format {} alone: start the version that wrote it; nothing was \
         changed",
        path.display(), crate::FORMAT
    )]
    ManifestFormat {
        /// The manifest.
        path: PathBuf,
        /// The format in the file.
        found: u32,
    },
    /// The files of a core are missing.
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
        /// The noted reach of its log, None when it is unknown.
        reach: Option<u64>,
    },
    /// The reach file cannot be read or written.
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
    /// The reach file of a node of a group is missing.
    #[error(
        "{} is missing. It says how far the logs of this node had come, and without it the node cannot tell whether they \
         have all that the node had acknowledged: put it back from a copy of this directory, or {REJOIN}",
        path.display()
    )]
    NoReach {
        /// The file.
        path: PathBuf,
    },
    /// The log of a node has entries of a later term than its last vote.
    #[error(
        "{} has votes up to term {}, and the log has entries of term {}: a vote that this node has given \
         since is lost, and {REJOIN}",
        path.display(),
        .voted.get(),
        .logged.get()
    )]
    OldBallot {
        /// The file.
        path: PathBuf,
        /// The term of the last vote.
        voted: Term,
        /// The term of the last entry.
        logged: Term,
    },
    /// A node of a group was started as a single server.
    #[error(
        "{} is a node of a group: start it with --replicate. Nothing was changed",
        directory.display()
    )]
    Grouped {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// A node of a group was ordered to begin one.
    #[error(
        "{} is a node of a group already: start it with --replicate, as before. Nothing was changed",
        directory.display()
    )]
    Begun {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The node has found that it must no longer take part in its group.
    #[error("{} says that this node takes no part in its group any more: {why}", path.display())]
    Retired {
        /// The file that says so.
        path: PathBuf,
        /// Reason that the node gave, with what to do.
        why: String,
    },
    /// The identity file of a node is missing.
    #[error(
        "{} has {left} but no GROUP, which says which node of its group this is: put GROUP back from a copy of \
         this directory, or {REJOIN}",
        directory.display()
    )]
    NoGroup {
        /// The directory of the store.
        directory: PathBuf,
        /// A remaining file that only a node has.
        left: String,
    },
    /// The identity file's bytes are not as written.
    #[error("{} is damaged ({what}): put it back from a copy of this directory, or {REJOIN}", path.display())]
    DamagedGroup {
        /// The file.
        path: PathBuf,
        /// The fault.
        what: &'static str,
    },
    /// The identity file was written by a newer version.
    #[error(
        "{} has format {found}, and this scurry reads formats up to {GROUP_FORMAT}: start the version that \
         wrote it, or a later one; nothing was changed",
        path.display()
    )]
    NewerGroup {
        /// The file.
        path: PathBuf,
        /// The format in the file.
        found: u32,
    },
    /// The ballot file cannot be read or written.
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
    /// Any other error of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl StoreError {
    /// Reports whether files are damaged or missing.
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

    /// Adds the remedy for an error of the system.
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
