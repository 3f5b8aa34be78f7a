//! Checks of single values in rows, which name the row and the key in their errors.

use crate::TableError;
use scurry_ledger::{NAME_LEN_MAX, Name, is_printable};
use std::fmt::Display;

/// The row that is being checked.
#[derive(Clone, Copy)]
pub(crate) struct RowCheck {
    /// Name of its list in the settings file.
    pub(crate) list: &'static str,
    /// Its number, from 1.
    pub(crate) row: usize,
}

impl RowCheck {
    /// Returns an error about a key of the row.
    pub(crate) fn error(self, key: &'static str, problem: impl Into<String>) -> TableError {
        TableError::Key { list: self.list, row: self.row, key, problem: problem.into() }
    }

    /// Checks that a number is within bounds.
    ///
    /// # Errors
    /// What is allowed, if it is not.
    pub(crate) fn within<T: PartialOrd + Display + Copy>(
        self,
        key: &'static str,
        value: T,
        [least, most]: [T; 2],
    ) -> Result<T, TableError> {
        if least <= value && value <= most {
            return Ok(value);
        }
        Err(self
            .error(key, format!("{value} is not allowed: give a number from {least} to {most}")))
    }

    /// Checks that a text is printable ASCII without spaces, of 1 to `len_max` bytes.
    ///
    /// # Errors
    /// What is allowed, if it is not.
    pub(crate) fn printable(
        self,
        key: &'static str,
        text: &str,
        len_max: usize,
    ) -> Result<(), TableError> {
        if !text.is_empty() && text.len() <= len_max && is_printable(text.as_bytes()) {
            return Ok(());
        }
        let allowed = format!("give 1 to {len_max} characters of ASCII without spaces");
        Err(self.error(key, format!("{} is not allowed: {allowed}", quoted(text))))
    }

    /// Makes a name of a text.
    ///
    /// # Errors
    /// What is allowed, if it is none.
    pub(crate) fn name(self, key: &'static str, text: &str) -> Result<Name, TableError> {
        self.printable(key, text, NAME_LEN_MAX)?;
        Name::new(text.as_bytes()).ok_or_else(|| self.error(key, "this is no name"))
    }
}

/// Returns a text in quotes for an error, shortened if it is long.
pub(crate) fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 64;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
