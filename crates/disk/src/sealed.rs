//! Readable text files whose last line is the checksum of the lines before it.

use crc::{CRC_32_ISCSI, Crc};
use std::fmt::Write;

const TITLE: &str = "crc32c ";
const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Why bytes are not a valid file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Damaged(&'static str),
    /// A format that this program does not read.
    Format(u32),
}

/// Appends the checksum to the lines.
pub(crate) fn sealed(mut lines: String) -> String {
    assert!(lines.ends_with('\n'), "the checksum would stand in the last line");
    let crc = CRC.checksum(lines.as_bytes());
    writeln!(lines, "{TITLE}{crc:08x}").expect("a string takes everything");
    assert!(body_of(lines.as_bytes()).is_ok(), "a start would take these lines for damaged");
    lines
}

/// Checks the checksum and returns the lines before it.
pub(crate) fn body_of(bytes: &[u8]) -> Result<&str, Unreadable> {
    let damaged = Unreadable::Damaged;
    let text = str::from_utf8(bytes).map_err(|_| damaged("it is not text"))?;
    let without_end = text.strip_suffix('\n').ok_or(damaged("its end is missing"))?;
    let last = without_end.rfind('\n').ok_or(damaged("lines are missing"))? + 1;
    let (body, crc) = (&text[..last], &without_end[last..]);
    let crc = crc.strip_prefix(TITLE).ok_or(damaged("its last line is no checksum"))?;
    if crc == format!("{:08x}", CRC.checksum(body.as_bytes())) {
        Ok(body)
    } else {
        Err(damaged("its checksum is not that of its lines"))
    }
}
