//! Reasons to refuse a start: damaged or missing files.

use crate::ReplayError;
use crate::log::{DiscardedTail, LogError, segment_name};
use crate::snapshot::{SnapshotError, snapshot_name};
use scurry_codec::{HeaderError, Index, RecordError};
use std::io;
use thiserror::Error;

/// Why a shard cannot be recovered.
#[derive(Debug, Error)]
pub enum RecoveryError {
    /// The thread that reads ahead cannot be started.
    #[error("a thread that reads ahead: {0}")]
    Thread(io::Error),
    /// The log is damaged, or its end is missing.
    #[error(transparent)]
    Log(#[from] LogError),
    /// No snapshot can be used, and the log alone does not reach back far enough.
    #[error("no snapshot can be used: {}", list(.0))]
    Snapshots(Vec<SnapshotError>),
    /// A record that a log cannot contain.
    #[error("the log is damaged at sequence {sequence}: {error}; restore from a backup")]
    Record {
        /// The sequence.
        sequence: u64,
        /// The fault.
        error: RecordError,
    },
    /// A record that cannot be applied to the current state.
    #[error("sequence {sequence} does not fit what is there: {error}; restore from a backup")]
    Replay {
        /// The sequence of the record, or that of the snapshot.
        sequence: u64,
        /// The fault.
        error: ReplayError,
    },
    /// The log ends before a sequence that is known to have been durable.
    #[error(
        "the log ends at sequence {last}, and {wanted} was synced once: {missing} is missing; put \
         the files back, or restore from a backup"
    )]
    Lost {
        /// The last sequence of the log.
        last: u64,
        /// The sequence that a snapshot shows, or that the reach file notes.
        wanted: u64,
        /// Missing or incomplete files.
        missing: String,
    },
    /// The log begins after a snapshot, and the snapshot is missing.
    #[error(
        "there is no snapshot, and these files were begun with one: {} was removed; put the file \
         back, or restore from a backup",
        snapshot_name(0)
    )]
    NoSnapshot,
    /// The log was written by a server without a group.
    #[error(
        "{file} was written by a server without a group: files were mixed; put the files of this node back, or let \
         it join again with an empty directory"
    )]
    Single {
        /// The segment's file.
        file: String,
    },
    /// The log does not begin with the group's first entry.
    #[error(
        "{file} begins with entry {} of another history: files were mixed; put the files of this node \
         back, or let it join again with an empty directory",
        .index.get()
    )]
    Beginning {
        /// The segment's file.
        file: String,
        /// The index of the first entry.
        index: Index,
    },
    /// The log does not continue at its base.
    #[error(
        "base belongs to another log than the segments: the node takes a log from another node just now; look again \
         when it has, or start it where it does not run"
    )]
    Exchange,
}

impl RecoveryError {
    /// Reports whether files are damaged, as opposed to an I/O error or a newer format.
    pub fn is_damage(&self) -> bool {
        match self {
            RecoveryError::Log(LogError::Header { error, .. }) => {
                !matches!(error, HeaderError::Newer { .. })
            }
            RecoveryError::Log(LogError::Directory(_) | LogError::Io { .. })
            | RecoveryError::Exchange
            | RecoveryError::Thread(_) => false,
            RecoveryError::Snapshots(errors) => errors.iter().all(SnapshotError::is_damage),
            _ => true,
        }
    }

    /// Returns the error for a log that ends at `last` although `wanted` was synced: where it is damaged, or which file
    /// is missing. `cut` is the part after its end, `newest` the first sequence of its last segment.
    pub fn lost(
        last: u64,
        wanted: u64,
        cut: Option<&DiscardedTail>,
        newest: Option<u64>,
    ) -> RecoveryError {
        let next = segment_name(last + 1);
        if let Some(DiscardedTail { file, offset, .. }) = cut.filter(|cut| cut.bytes > 0) {
            return RecoveryError::Log(LogError::Damaged {
                file: file.clone(),
                offset: *offset,
                sequence: last + 1,
                why: format!("these bytes are no frame; {wanted} was noted as synced"),
            });
        }
        let missing = match newest {
            Some(newest) if newest <= last => {
                format!("{next}, or the end of {}", segment_name(newest))
            }
            _ => next,
        };
        RecoveryError::Lost { last, wanted, missing }
    }
}

fn list(errors: &[SnapshotError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
