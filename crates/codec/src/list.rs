//! Bytes of a list: its elements one behind another. docs/formats/list.md has the bytes.

use crate::Malformed;
use crate::cursor::Cursor;
use crate::pen::Pen;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// The longest list, packed, bytes: each change writes all of it.
pub const LIST_LEN_MAX: usize = 64 << 10;

const VERSION: u8 = 1;

/// A list as it lies packed.
#[derive(Clone, Copy, Debug, Default)]
pub struct List<'a> {
    len: usize,
    elements: &'a [u8],
}

/// The elements of a list, from its head to its tail.
#[derive(Clone, Debug)]
pub struct Elements<'a>(Cursor<'a>);

/// Why bytes are no list, or elements make none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListError {
    /// A list that was packed in another way.
    Version(u8),
    /// A list without elements: there is no such list.
    Empty,
    /// A list that is longer than [`LIST_LEN_MAX`].
    Long,
    /// Something inside is wrong.
    Malformed(Malformed),
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListError::Version(version) => write!(
                f,
                "list of unknown format {version}: a newer Scurry may have written it, which can read it"
            ),
            ListError::Empty => f.write_str("list without elements"),
            ListError::Long => write!(f, "list of more than {LIST_LEN_MAX} bytes"),
            ListError::Malformed(malformed) => write!(f, "list is damaged: {malformed}"),
        }
    }
}

impl core::error::Error for ListError {}

impl From<Malformed> for ListError {
    fn from(malformed: Malformed) -> ListError {
        ListError::Malformed(malformed)
    }
}

impl<'a> List<'a> {
    /// Without elements.
    pub const EMPTY: List<'a> = List { len: 0, elements: &[] };

    /// Reads bytes that may be anything, to their end.
    pub fn decode(bytes: &'a [u8]) -> Result<List<'a>, ListError> {
        if bytes.len() > LIST_LEN_MAX {
            return Err(ListError::Long);
        }
        let list = begin(bytes)?;
        if list.is_empty() {
            return Err(ListError::Empty);
        }
        let mut cursor = Cursor::new(list.elements);
        for _ in 0..list.len {
            cursor.string()?;
        }
        cursor.finish()?;
        Ok(list)
    }

    /// Of bytes that [`List::decode`] or [`encode_list`] knows: the elements are not looked at.
    pub fn of(bytes: &'a [u8]) -> List<'a> {
        begin(bytes).unwrap_or_default()
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements at these places alone; none where there are none.
    pub fn part(&self, places: Range<usize>) -> List<'a> {
        let end = places.end.min(self.len);
        let start = places.start.min(end);
        let from = self.behind(start);
        let behind = if end == self.len {
            &[]
        } else {
            List { elements: from, ..*self }.behind(end - start)
        };
        List { len: end - start, elements: &from[..from.len() - behind.len()] }
    }

    /// The bytes behind the first elements.
    fn behind(&self, count: usize) -> &'a [u8] {
        let mut elements = self.iter();
        for _ in 0..count {
            elements.next();
        }
        elements.0.rest()
    }

    /// The elements, from head to tail.
    pub fn iter(&self) -> Elements<'a> {
        Elements(Cursor::new(self.elements))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.string().ok()
    }
}

fn begin(bytes: &[u8]) -> Result<List<'_>, ListError> {
    let mut cursor = Cursor::new(bytes);
    match cursor.byte()? {
        VERSION => Ok(List { len: cursor.len()?, elements: cursor.rest() }),
        version => Err(ListError::Version(version)),
    }
}

/// Packs elements into `out`, as [`splice_list`] does.
pub fn encode_list<'e>(
    elements: impl Iterator<Item = &'e [u8]> + Clone,
    out: &mut Vec<u8>,
) -> Result<usize, ListError> {
    splice_list(List::EMPTY, elements, List::EMPTY, out)
}

/// Packs what is before, elements, and what is behind into `out`, whatever was there, and counts
/// all of them. What is packed already is copied in one piece. After an error, which is that it is
/// too long, `out` holds nothing of use.
pub fn splice_list<'e>(
    before: List<'_>,
    elements: impl Iterator<Item = &'e [u8]> + Clone,
    after: List<'_>,
    out: &mut Vec<u8>,
) -> Result<usize, ListError> {
    out.clear();
    let len = before.len + elements.clone().count() + after.len;
    let mut pen = Pen::new(out);
    pen.byte(VERSION);
    pen.varint(len as u64);
    pen.bytes(before.elements);
    for element in elements {
        if element.len() > LIST_LEN_MAX || pen.end() > LIST_LEN_MAX {
            return Err(ListError::Long);
        }
        pen.string(element);
    }
    pen.bytes(after.elements);
    let is_long = pen.end() > LIST_LEN_MAX;
    pen.finish();
    if is_long { Err(ListError::Long) } else { Ok(len) }
}
