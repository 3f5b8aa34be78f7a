//! Why a table was not written.

use std::io;
use std::path::Path;
use thiserror::Error;

/// Why a table was not written. The text says what happened and what to do.
#[derive(Debug, Error)]
pub enum TableError {
    /// A file or directory failed.
    #[error("{path} cannot be written: {cause}{advice}")]
    File {
        /// The file or directory.
        path: String,
        /// The error.
        cause: io::Error,
        /// What to do about it.
        advice: &'static str,
    },
    /// The directory of the tables is in use.
    #[error("{0} is not empty: give a directory that is empty or not there yet")]
    NotEmpty(String),
    /// A cell does not fit its column: a fault of the program.
    #[error("the table {table} cannot have {cell} in its column {column}: please report this")]
    Cell {
        /// Name of the table.
        table: String,
        /// Name of the column.
        column: &'static str,
        /// The cell.
        cell: String,
    },
    /// A row has another number of cells than its table has columns: a fault of the program.
    #[error("a row of the table {0} has {1} cells, and it has {2} columns: please report this")]
    Row(String, usize, usize),
}

impl TableError {
    /// Returns the error of a file or directory.
    pub(crate) fn of_file(path: &Path, cause: io::Error) -> TableError {
        let advice = match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                ". Make room, or give a directory of another disk"
            }
            io::ErrorKind::FileTooLarge => ". Raise the limit of a file's size (ulimit -f)",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ". Give a directory that this user may write to"
            }
            io::ErrorKind::NotFound => ". Make the directory above it first",
            _ => "",
        };
        TableError::File { path: path.display().to_string(), cause, advice }
    }
}
