//! What can be wrong with bytes of any format here.

use core::fmt;

/// Bytes that no writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Bytes that end inside of something.
    Ends,
    /// A number is too large, or longer than it must be.
    Number,
    /// A name is empty, longer than 16 bytes, or holds bytes that are not printable.
    Name,
    /// An id is empty, longer than 64 bytes, or holds bytes that are not printable.
    Id,
    /// A number that stands for one of a few things stands for none.
    Choice,
    /// A stored answer is not whole.
    Answer,
    /// So many bytes are left over.
    Left(usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Ends => "the bytes end inside of something",
            Malformed::Number => "a number is too large or longer than it must be",
            Malformed::Name => "a name is not 1 to 16 printable bytes",
            Malformed::Id => "an id is not 1 to 64 printable bytes",
            Malformed::Choice => "a number stands for nothing that is known",
            Malformed::Answer => "a stored answer is not whole",
            Malformed::Left(left) => return write!(f, "{left} bytes are left over"),
        })
    }
}

impl core::error::Error for Malformed {}
