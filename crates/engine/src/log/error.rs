//! Why a log is refused. Whoever reads it has to find the place.

use scurry_codec::HeaderError;
use std::io;
use thiserror::Error;

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// The files cannot be listed, or their names not be made durable.
    #[error("the directory of the log: {0}")]
    Directory(io::Error),
    /// A file cannot be read or written.
    #[error("{file}: {error}")]
    Io {
        /// The segment's file.
        file: String,
        /// The fault.
        error: io::Error,
    },
    /// A file that is no segment of this log, or of a later format.
    #[error("{file}: {error}")]
    Header {
        /// The segment's file.
        file: String,
        /// The fault.
        error: HeaderError,
    },
    /// Frames of its own follow a header that is not its own.
    #[error(
        "{file} is damaged at byte 0: it has the header of an older segment, from sequence {first}, \
         and frames of its own; restore from a backup"
    )]
    Stale {
        /// The segment's file.
        file: String,
        /// The first sequence by the header.
        first: u64,
    },
    /// A segment of another log.
    #[error("{file} belongs to another log: files of two stores were mixed")]
    Foreign {
        /// The segment's file.
        file: String,
    },
    /// A segment that a node of a group has written, where there is no group.
    #[error(
        "{file} was written by a node of a group: `scurry restore` makes a store of one machine of a copy of its \
         directory"
    )]
    Replicated {
        /// The segment's file.
        file: String,
    },
    /// A part that was promised to be on the device is not there.
    #[error(
        "{file} is damaged at byte {offset}: sequence {sequence} was synced once and cannot be \
         read ({why}); restore from a backup"
    )]
    Damaged {
        /// The segment's file.
        file: String,
        /// Where the damage begins.
        offset: u64,
        /// The first sequence that is missing.
        sequence: u64,
        /// The proof.
        why: String,
    },
    /// Segments are missing.
    #[error("the log begins at sequence {first}, and {wanted} is needed: files were removed")]
    Missing {
        /// The first sequence that is there.
        first: u64,
        /// The first that is needed.
        wanted: u64,
    },
}

impl LogError {
    /// An error of a file.
    pub(super) fn io(file: &str) -> impl FnOnce(io::Error) -> LogError + use<'_> {
        move |error| LogError::Io { file: file.to_owned(), error }
    }
}
