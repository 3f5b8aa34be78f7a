//! What is wrong with the arguments of a SCUR command, in words.

use scurry_ledger::{Code, NAME_LEN_MAX};
use std::fmt;

/// Longest quotation of a client's argument in an error, bytes.
const QUOTE_LEN_MAX: usize = 32;

/// Arguments that the grammar does not allow. Shown, it is a whole RESP error text, without `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// Not an integer, or not one of the field's width.
    NotAnInteger(&'static str),
    /// A name or an id that is empty, too long, or not printable ASCII without space.
    NotAnId {
        /// The field.
        field: &'static str,
        /// Longest, bytes.
        len_max: usize,
    },
    /// A key that is empty or too long.
    NotAKey {
        /// The field.
        field: &'static str,
        /// Longest, bytes.
        len_max: usize,
    },
    /// Neither an option nor in its place.
    Unexpected(&'a [u8]),
    /// An argument that belongs elsewhere.
    Misplaced {
        /// The argument.
        argument: &'a [u8],
        /// Where it belongs, or what does here.
        place: &'static str,
    },
    /// An option without what belongs to it.
    Missing(&'static str),
    /// An option given twice.
    Repeated(&'static str),
    /// None of the words that the field can be.
    NotOneOf {
        /// The field.
        field: &'static str,
        /// The words, as a list.
        words: &'static str,
    },
    /// More than any account can have.
    TooMany {
        /// The field, in plural.
        field: &'static str,
        /// As many as there can be.
        max: usize,
    },
    /// A number out of its bounds.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The least that it can be.
        least: u16,
        /// The most that it can be.
        most: u16,
    },
    /// A short duration without its unit.
    Unitless {
        /// The field.
        field: &'static str,
        /// The number.
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
    /// Writes what stands behind the code.
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
    let shown = &argument[..argument.len().min(QUOTE_LEN_MAX)];
    let more = if shown.len() < argument.len() { "..." } else { "" };
    write!(f, "unexpected argument '{}'{more}", shown.escape_ascii())
}

/// The measure of a field whose name does not tell it.
fn measure(field: &str) -> &'static str {
    match field {
        "amount" | "requested" | "min" | "used" | "floor" => {
            ": it counts minor units, without a fraction"
        }
        "validity" | "tcc" => ": it is a time with its unit (ms, s, m, h), as 60s",
        "from" | "to" => ": it is in milliseconds",
        "count of words" => ": it stands behind the account, before the words of the command",
        "request" => ": it is the request's number, behind the session",
        _ => "",
    }
}
