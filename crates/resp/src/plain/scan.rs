//! Options of SCAN.

use super::PlainFault;
use crate::{Args, parse_integer};

/// Default number of keys that one SCAN examines.
const COUNT_DEFAULT: usize = 10;
/// Most keys that one SCAN examines, so that other requests are not delayed.
const COUNT_MAX: usize = 10_000;

/// Kinds of keys that TYPE selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// `string`.
    Value,
    /// `scurryacc`.
    Account,
    /// `scurryent`.
    Entity,
    /// `tombstone`: deleted entities that are remembered, which no other SCAN lists.
    Tombstone,
    /// A type of Redis that this server does not have.
    Nothing,
}

/// A parsed SCAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanRequest<'a> {
    /// Position to continue from, 0 to begin.
    pub cursor: u64,
    /// MATCH; `None` for all keys.
    pub pattern: Option<&'a [u8]>,
    /// COUNT, bounded.
    pub count: usize,
    /// TYPE; `None` for all keys.
    pub kind: Option<ScanKind>,
}

/// Parses the arguments of SCAN.
pub fn parse_scan(args: Args<'_>) -> Result<ScanRequest<'_>, PlainFault<'_>> {
    let cursor = std::str::from_utf8(args.at(1)).ok().and_then(|text| text.parse().ok());
    let cursor = cursor.ok_or(PlainFault::InvalidCursor)?;
    let mut request = ScanRequest { cursor, pattern: None, count: COUNT_DEFAULT, kind: None };
    let mut words = args.iter_from(2);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(PlainFault::Syntax)?;
        if word.eq_ignore_ascii_case(b"COUNT") {
            let count = parse_integer(value).ok_or(PlainFault::NotAnInteger)?;
            if count < 1 {
                return Err(PlainFault::Syntax);
            }
            request.count = usize::try_from(count).unwrap_or(COUNT_MAX).min(COUNT_MAX);
        } else if word.eq_ignore_ascii_case(b"MATCH") {
            // As in Redis, where only this pattern matches the empty key too.
            request.pattern = Some(value).filter(|&pattern| pattern != b"*");
        } else if word.eq_ignore_ascii_case(b"TYPE") {
            request.kind = Some(kind(value).ok_or(PlainFault::UnknownType(value))?);
        } else {
            return Err(PlainFault::Syntax);
        }
    }
    Ok(request)
}

fn kind(name: &[u8]) -> Option<ScanKind> {
    [
        (&b"string"[..], ScanKind::Value),
        (b"list", ScanKind::Nothing),
        (b"scurryacc", ScanKind::Account),
        (b"scurryent", ScanKind::Entity),
        (b"tombstone", ScanKind::Tombstone),
        (b"set", ScanKind::Nothing),
        (b"zset", ScanKind::Nothing),
        (b"hash", ScanKind::Nothing),
        (b"stream", ScanKind::Nothing),
    ]
    .into_iter()
    .find_map(|(word, kind)| name.eq_ignore_ascii_case(word).then_some(kind))
}
