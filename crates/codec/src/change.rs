//! The bytes of a Change, version 1:
//!
//! | bytes | field |
//! |---|---|
//! | u8 | version, 1 |
//! | signed | time, ms |
//! | varint | count of ops |
//! | | each op: its number u8 (`change/op.rs`), then its fields in the order of their declaration |
//!
//! docs/formats/change.md has the fields of each op.

mod limit;
mod op;
mod op_read;
mod remembered;

use crate::Malformed;
use crate::cursor::Cursor;
use crate::pen::FieldWriter;
use alloc::vec::Vec;
use core::fmt;
use scurry_ledger::{Bucket, BucketNo, Change, Name, Op, Time};

const VERSION: u8 = 3;

/// Reasons why bytes are not a Change that this program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// Unknown version byte.
    Version(u8),
    /// Unknown number of an op.
    Op(u8),
    /// Malformed content.
    Malformed(Malformed),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::Version(version) if *version > VERSION => write!(
                f,
                "change written by a newer Scurry (format {version}); this one reads up to {VERSION}"
            ),
            ChangeError::Version(version) => write!(
                f,
                "change of format {version}, which this Scurry does not read: it reads format {VERSION} alone"
            ),
            ChangeError::Op(number) => write!(f, "change with an unknown op {number}"),
            ChangeError::Malformed(malformed) => write!(f, "change is damaged: {malformed}"),
        }
    }
}

impl core::error::Error for ChangeError {}

impl From<Malformed> for ChangeError {
    fn from(malformed: Malformed) -> ChangeError {
        ChangeError::Malformed(malformed)
    }
}

/// Appends the bytes of a Change.
pub fn encode_change(change: &Change, out: &mut Vec<u8>) {
    let mut pen = FieldWriter::new(out);
    put_change(&mut pen, change);
    pen.finish();
}

/// Writes a Change, and returns the buckets that it names.
pub(crate) fn put_change(pen: &mut FieldWriter<'_>, change: &Change) -> TouchedBuckets {
    pen.fields(|line| {
        line.byte(VERSION);
        line.signed(change.at.0);
        line.varint(change.ops.len() as u64);
    });
    let mut touched = TouchedBuckets::default();
    for op in &change.ops {
        op::put(pen, op, change.at, &mut touched);
    }
    touched
}

/// A consumer of the facts of a Change, which are read one after another.
pub trait ChangeVisitor {
    /// Called at the start of a Change, with its time.
    fn begin(&mut self, at: Time);
    /// Called with each fact, in order.
    fn visit(&mut self, op: Op);
}

impl ChangeVisitor for Change {
    fn begin(&mut self, at: Time) {
        self.at = at;
    }

    fn visit(&mut self, op: Op) {
        self.ops.push(op);
    }
}

/// Reads a Change from all of the bytes. After an error, the facts before it have already been passed on.
pub fn read_change(bytes: &[u8], facts: &mut impl ChangeVisitor) -> Result<(), ChangeError> {
    let mut cursor = Cursor::new(bytes);
    match cursor.byte()? {
        VERSION => read_ops(cursor, facts),
        version => Err(ChangeError::Version(version)),
    }
}

#[expect(clippy::inline_always, reason = "the cursor stays in registers")]
#[inline(always)]
fn read_ops(mut cursor: Cursor<'_>, facts: &mut impl ChangeVisitor) -> Result<(), ChangeError> {
    let at = Time(cursor.signed()?);
    facts.begin(at);
    // No room is reserved: a wrong count would ask for more memory than the bytes can fill.
    for _ in 0..cursor.varint()? {
        op_read::read_op(&mut cursor, at, facts)?;
    }
    Ok(cursor.finish()?)
}

/// Reads a Change from all of the bytes into one whose buffer is reused. After an error it holds the facts that were
/// read before it.
pub fn decode_change(bytes: &[u8], change: &mut Change) -> Result<(), ChangeError> {
    change.ops.clear();
    read_change(bytes, change)
}

/// Buckets that the facts of a Change name, collected while the facts are written.
#[derive(Default)]
pub(crate) struct TouchedBuckets {
    /// The first 64 serial numbers, a bit each: most accounts never need more.
    low: u64,
    /// Serial numbers from 64 on, possibly repeated.
    high: Vec<BucketNo>,
    /// Names of buckets that the Change creates: their ops have no serial number.
    begun: Vec<Name>,
}

impl TouchedBuckets {
    /// Notes that an op names this serial number.
    #[inline]
    pub(crate) fn note(&mut self, no: BucketNo) {
        if no.0 < 64 {
            self.low |= 1 << no.0;
        } else if self.high.last() != Some(&no) {
            self.high.push(no);
        }
    }

    /// Notes that a bucket of this name is created.
    pub(crate) fn note_begun(&mut self, id: Name) {
        self.begun.push(id);
    }

    /// Reports whether an op names this bucket.
    #[inline]
    pub(crate) fn has(&self, bucket: &Bucket) -> bool {
        let noted = match bucket.no.0 {
            no @ 0..64 => self.low >> no & 1 != 0,
            _ => self.high.contains(&bucket.no),
        };
        noted || self.begun.contains(&bucket.id)
    }
}
