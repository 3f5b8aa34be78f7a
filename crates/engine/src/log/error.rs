//! Errors of reading a log. Each names the file, and the offset where one is known.

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
    /// A file that is not a segment of this log, or has a later format.
    #[error("{file}: {error}")]
    Header {
        /// The segment's file.
        file: String,
        /// The fault.
        error: HeaderError,
    },
    /// The header is of an older segment, but the frames are of this one.
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
    /// A segment of a node of a group, read by a server without a group.
    #[error(
        "{file} was written by a node of a group: `scurry restore` makes a store of one machine of a copy of its \
         directory"
    )]
    Replicated {
        /// The segment's file.
        file: String,
    },
    /// A part that was acknowledged as synced cannot be read.
    #[error(
        "{file} is damaged at byte {offset}: sequence {sequence} was synced once and cannot be \
         read ({why}); restore from a backup"
    )]
    Damaged {
        /// The segment's file.
        file: String,
        /// Byte offset at which the damage begins.
        offset: u64,
        /// The first sequence that is missing.
        sequence: u64,
        /// The proof.
        why: String,
    },
    /// Segments are missing.
    #[error("the log begins at sequence {first}, and {wanted} is needed: files were removed")]
    Missing {
        /// The first sequence that exists.
        first: u64,
        /// The first sequence that is needed.
        wanted: u64,
    },
}

impl LogError {
    /// Converts an I/O error of a file.
    pub(super) fn io(file: &str) -> impl FnOnce(io::Error) -> LogError + use<'_> {
        move |error| LogError::Io { file: file.to_owned(), error }
    }
}
