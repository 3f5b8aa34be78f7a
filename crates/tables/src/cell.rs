//! Values of one row and one column.

use crate::{Column, Kind, TableError};
use std::borrow::Cow;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The value of one row in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// No value, for optional columns.
    Null,
    /// For [`Kind::Text`] and [`Kind::Json`].
    Text(Cow<'a, str>),
    /// For [`Kind::Bytes`].
    Bytes(Cow<'a, [u8]>),
    /// For [`Kind::Int`].
    Int(i64),
    /// For [`Kind::Wide`].
    Wide(i128),
    /// For [`Kind::Time`], ms since 1970 UTC.
    Time(i64),
    /// For [`Kind::Bool`].
    Bool(bool),
}

/// First integer beyond what a wide cell can have: 38 digits.
const WIDE_END: u128 = 10_u128.pow(38);

impl<'a> Cell<'a> {
    /// Returns a cell of text.
    pub fn text(text: &'a str) -> Cell<'a> {
        Cell::Text(Cow::Borrowed(text))
    }

    /// Returns a cell of text for an id, whose bytes may be no UTF-8 ([`text_of`]).
    pub fn id(bytes: &'a [u8]) -> Cell<'a> {
        Cell::Text(text_of(bytes))
    }

    /// Returns a cell of a number that the rules keep below 2^63; a greater one becomes 2^63 - 1.
    pub fn number(number: impl TryInto<i64>) -> Cell<'a> {
        Cell::Int(number.try_into().unwrap_or(i64::MAX))
    }

    /// Returns the cell of a value, or null.
    pub fn of<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell<'a>) -> Cell<'a> {
        value.map_or(Cell::Null, cell)
    }

    /// Checks that the cell fits its column.
    pub(crate) fn ensure_fits(&self, table: &str, column: &Column) -> Result<(), TableError> {
        let fits = match self {
            Cell::Null => column.is_optional,
            Cell::Text(_) => matches!(column.kind, Kind::Text | Kind::Json),
            Cell::Bytes(_) => column.kind == Kind::Bytes,
            Cell::Int(_) => column.kind == Kind::Int,
            Cell::Wide(wide) => column.kind == Kind::Wide && wide.unsigned_abs() < WIDE_END,
            Cell::Time(_) => column.kind == Kind::Time,
            Cell::Bool(_) => column.kind == Kind::Bool,
        };
        match fits {
            true => Ok(()),
            false => Err(TableError::Cell {
                table: table.to_owned(),
                column: column.name,
                cell: format!("{self:?}"),
            }),
        }
    }

    /// Returns the number of its bytes in memory, about.
    pub(crate) fn len(&self) -> usize {
        match self {
            Cell::Text(text) => text.len() + 8,
            Cell::Bytes(bytes) => bytes.len() + 8,
            Cell::Wide(_) => 16,
            Cell::Null | Cell::Int(_) | Cell::Time(_) | Cell::Bool(_) => 8,
        }
    }
}

/// Returns an id as text. Bytes that are not UTF-8 are shown as `\xNN`.
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    Cow::Owned(text)
}

/// Returns a moment, ms since 1970 UTC, as a date of RFC 3339. None after the year 9999, which RFC 3339 does not have.
pub fn rfc3339(ms: i64) -> Option<String> {
    let date = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok()?;
    date.format(&Rfc3339).ok()
}
