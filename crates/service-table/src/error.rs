//! What is wrong with the rows of a table, in words for the author of the settings file.

use thiserror::Error;

/// A mistake in the rows of a table. `list` is the name of the list in the settings file: `services` or `subscribers`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// A key has a value that is not allowed, is missing, or does not apply to its row.
    #[error("[[{list}]] row {row}, `{key}`: {problem}")]
    Key {
        /// Name of the list.
        list: &'static str,
        /// Number of the row, from 1.
        row: usize,
        /// Name of the key.
        key: &'static str,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// Two rows are for the same.
    #[error("[[{list}]] row {row} is for the same {what} as row {first}: remove one of them")]
    Repeated {
        /// Name of the list.
        list: &'static str,
        /// Number of the later row, from 1.
        row: usize,
        /// Number of the earlier row, from 1.
        first: usize,
        /// What both are for.
        what: &'static str,
    },
    /// The list is too long.
    #[error("[[{list}]] has {rows} rows: at most {rows_max} are allowed")]
    TooMany {
        /// Name of the list.
        list: &'static str,
        /// How many rows it has.
        rows: usize,
        /// How many it may have.
        rows_max: usize,
    },
}
