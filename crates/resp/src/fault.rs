//! Errors in the arguments of a SCUR command, and their texts.

use scurry_ledger::{Code, NAME_LEN_MAX, TZDATA_VERSION};
use std::fmt;

/// Longest quotation of a client's argument in an error, bytes.
const QUOTE_LEN_MAX: usize = 32;

/// Reasons why the grammar does not allow the arguments. `Display` writes a whole RESP error text without `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// Not an integer, or not one that fits the field's width.
    NotAnInteger(&'static str),
    /// A name or an id that is empty, too long, or not printable ASCII without space.
    NotAnId {
        /// Name of the field.
        field: &'static str,
        /// Longest allowed length, bytes.
        len_max: usize,
    },
    /// A key that is empty or too long.
    NotAKey {
        /// Name of the field.
        field: &'static str,
        /// Longest allowed length, bytes.
        len_max: usize,
    },
    /// An argument that is neither an option nor expected in this position.
    Unexpected(&'a [u8]),
    /// An option in the wrong command or position.
    Misplaced {
        /// The argument.
        argument: &'a [u8],
        /// Where the argument belongs, or what is expected here.
        place: &'static str,
    },
    /// A missing field or option value.
    Missing(&'static str),
    /// An option given twice.
    Repeated(&'static str),
    /// A word that the field does not allow.
    NotOneOf {
        /// Name of the field.
        field: &'static str,
        /// The allowed words, as a list.
        words: &'static str,
    },
    /// A time zone that is not in the tables of this version.
    UnknownZone(&'a [u8]),
    /// More than any account can have.
    TooMany {
        /// Name of the field, in plural.
        field: &'static str,
        /// Greatest possible number.
        max: usize,
    },
    /// A number out of its range.
    OutOfRange {
        /// Name of the field.
        field: &'static str,
        /// Least allowed number.
        least: u16,
        /// Greatest allowed number.
        most: u16,
    },
    /// A short duration without a unit.
    Unitless {
        /// Name of the field.
        field: &'static str,
        /// The number, in ms without the unit.
        ms: i64,
    },
    /// An amount that must be positive and is not.
    NotPositive(&'static str),
}

impl Fault<'_> {
    pub(crate) const fn name(field: &'static str) -> Self {
        Fault::NotAnId { field, len_max: NAME_LEN_MAX }
    }
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = Code::Invalid;
        write!(f, "{} {} ", code.name(), code as u8)?;
        self.explain(f)
    }
}

impl Fault<'_> {
    /// Writes the text after the code.
    pub(crate) fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotAnInteger(field) => {
                write!(f, "{field} is not an integer or out of range{}", measure(field))
            }
            Fault::NotAnId { field, len_max } => {
                write!(f, "{field} must be 1 to {len_max} printable ASCII characters without space")
            }
            Fault::NotAKey { field, len_max } => write!(f, "{field} must be 1 to {len_max} bytes"),
            Fault::Unexpected(argument) => unexpected(f, argument),
            Fault::Misplaced { argument, place } => {
                unexpected(f, argument)?;
                write!(f, ": {place}")
            }
            Fault::Missing(field) => write!(f, "{field} is missing"),
            Fault::Repeated(field) => write!(f, "{field} is given twice"),
            Fault::NotOneOf { field, words } => write!(f, "{field} must be {words}"),
            Fault::UnknownZone(name) => {
                f.write_str("ZONE is no time zone of the IANA database: '")?;
                quote(f, name)?;
                write!(f, "' (tzdata {TZDATA_VERSION}; names are as Europe/Berlin)")
            }
            Fault::TooMany { field, max } => write!(f, "at most {max} {field} are possible"),
            Fault::OutOfRange { field, least, most } => {
                write!(f, "{field} must be {least} to {most}")
            }
            Fault::Unitless { field, ms } => write!(
                f,
                "{field} {ms} is {ms} milliseconds: write {ms}s for seconds, or {ms}ms where that is meant"
            ),
            Fault::NotPositive(field) => write!(f, "{field} must be at least 1"),
        }
    }
}

fn unexpected(f: &mut fmt::Formatter<'_>, argument: &[u8]) -> fmt::Result {
    f.write_str("unexpected argument '")?;
    let more = quote(f, argument)?;
    write!(f, "'{more}")
}

/// Writes the beginning of an argument, and returns the dots for its rest.
fn quote(f: &mut fmt::Formatter<'_>, argument: &[u8]) -> Result<&'static str, fmt::Error> {
    let shown = &argument[..argument.len().min(QUOTE_LEN_MAX)];
    write!(f, "{}", shown.escape_ascii())?;
    Ok(if shown.len() < argument.len() { "..." } else { "" })
}

/// Returns the unit or meaning of a field whose name does not tell it.
fn measure(field: &str) -> &'static str {
    match field {
        "amount" | "requested" | "min" | "used" | "floor" | "mark" => {
            ": it counts minor units, without a fraction"
        }
        "validity" | "tcc" => ": it is a time with its unit (ms, s, m, h), as 60s",
        "from" | "to" => ": it is in milliseconds",
        "count of words" => ": it stands behind the account, before the words of the command",
        "request" => ": it is the request's number, behind the session",
        _ => "",
    }
}
