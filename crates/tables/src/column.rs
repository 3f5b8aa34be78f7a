//! Tables and their columns, which code, documents and tests read in one place.

/// A table: its name, which its file has too, and its columns.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of the table, for example `accounts`.
    pub name: &'static str,
    /// Meaning of a row.
    pub about: &'static str,
    /// Columns, in their order.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, unique in its table.
    pub name: &'static str,
    /// Type of its cells.
    pub kind: Kind,
    /// Whether a cell may be null.
    pub is_optional: bool,
    /// Meaning of a cell.
    pub about: &'static str,
}

/// Type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// JSON, as text.
    Json,
    /// Bytes; base64 in CSV.
    Bytes,
    /// Integer of 64 bits.
    Int,
    /// Integer of at most 38 digits, for sums.
    Wide,
    /// Moment, ms since 1970 UTC; RFC 3339 in CSV.
    Time,
    /// True or false.
    Bool,
}

impl Kind {
    /// Returns the name of the type in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Json => "JSON",
            Kind::Bytes => "bytes",
            Kind::Int => "int64",
            Kind::Wide => "decimal(38)",
            Kind::Time => "timestamp",
            Kind::Bool => "bool",
        }
    }
}

impl Column {
    /// Returns a column whose cells all have a value.
    pub const fn required(name: &'static str, kind: Kind, about: &'static str) -> Column {
        Column { name, kind, is_optional: false, about }
    }

    /// Returns a column whose cells may be null.
    pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Column {
        Column { name, kind, is_optional: true, about }
    }
}

impl Table {
    /// Returns the columns as a table of Markdown, as documents show them.
    pub fn markdown(&self) -> String {
        let mut text = "| column | type | meaning |\n|---|---|---|\n".to_owned();
        for Column { name, kind, is_optional, about } in self.columns {
            let null = if *is_optional { ", may be null" } else { "" };
            text += &format!("| `{name}` | {}{null} | {about} |\n", kind.name());
        }
        text
    }
}
