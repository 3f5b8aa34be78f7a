//! The numbers of a replicated log, each a type from the frame to the last field that holds it: a term in the place of an
//! index, or an index in the place of a sequence, does not compile.

/// A term: it has one leader or none. 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub u64);

impl Term {
    /// Returns the number, as it is written and shown.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A position in the replicated log, from 1; 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(pub u64);

impl Index {
    /// Returns the number, as it is written and shown.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the index of the next entry.
    pub const fn next(self) -> Index {
        Index(self.0 + 1)
    }
}

/// The number of a record in a shard's log, from 1; 0 is before the first. An entry has one record or many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

impl Sequence {
    /// Returns the number, as it is written and shown.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sequence of the next record.
    pub const fn next(self) -> Sequence {
        Sequence(self.0 + 1)
    }
}

/// The end of an entry: its index, and the sequence of its last record.
///
/// ```
/// use scurry_codec::{Index, LogPosition, Sequence};
/// let _end = LogPosition { index: Index(7), sequence: Sequence(900) };
/// ```
///
/// ```compile_fail,E0308
/// use scurry_codec::{Index, LogPosition, Sequence};
/// let _end = LogPosition { index: Sequence(900), sequence: Index(7) };
/// ```
///
/// ```compile_fail,E0308
/// use scurry_codec::{Index, Term};
/// let _later = Term(3) > Index(2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// The entry.
    pub index: Index,
    /// The last record of that entry.
    pub sequence: Sequence,
}
