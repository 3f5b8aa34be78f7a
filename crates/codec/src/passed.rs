//! Records that are passed on as bytes and read later, when the records of one key have been collected. They are then
//! read without the bucket names of their frame, which only readers of events need.

use crate::cursor::Cursor;
use crate::pairs::PairReader;
use crate::record::{kind, take_other};
use crate::{Record, RecordError};
use scurry_ledger::BucketNo;

/// A record of which only the length and the key have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed<'a> {
    /// Subject of the record.
    pub about: RecordSubject<'a>,
    /// All bytes of the record, for [`read_raw_record`].
    pub bytes: &'a [u8],
}

/// Subject of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSubject<'a> {
    /// One key.
    Key(&'a [u8]),
    /// All keys.
    All,
    /// No key: an entry of a group's log.
    Nothing,
}

/// A record that was passed on and is now read.
#[derive(Clone, Debug)]
pub enum DeferredRecord<'a> {
    /// A Change of an account.
    Account {
        /// Id of the account.
        id: &'a [u8],
        /// Bytes of the Change.
        change: &'a [u8],
        /// Amounts after the Change in each bucket that it touched.
        left: BucketAmountsIter<'a>,
    },
    /// Any other record.
    Other(Record<'a>),
}

/// Amounts in a bucket after a Change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketAmounts {
    /// Serial number of the bucket in the account.
    pub bucket: BucketNo,
    /// Available amount, minor units.
    pub available: i64,
    /// Held amount, minor units.
    pub held: i64,
}

/// Iterator over the amounts after a Change in its buckets.
#[derive(Clone, Debug)]
pub struct BucketAmountsIter<'a> {
    cursor: Cursor<'a>,
    count: u64,
}

/// Skips a record, and returns its key and bytes.
#[inline]
pub(crate) fn pass<'a>(
    from: &mut Cursor<'a>,
    pairs: &mut PairReader,
) -> Result<Passed<'a>, RecordError> {
    let all = from.rest();
    let byte = from.byte()?;
    let about = if byte == kind::ACCOUNT {
        let id = from.string()?;
        from.string()?;
        from.pass_varint()?;
        for _ in 0..from.varint()? {
            // A new pair must get its index even though it is skipped: later records refer to it.
            pairs.pass(from)?;
            // Serial number, available, held.
            for _ in 0..3 {
                from.pass_varint()?;
            }
        }
        RecordSubject::Key(id)
    } else {
        match take_other(from, byte)? {
            Record::Group { .. } | Record::Digest { .. } => RecordSubject::Nothing,
            other => other.key().map_or(RecordSubject::All, RecordSubject::Key),
        }
    };
    Ok(Passed { about, bytes: &all[..all.len() - from.rest().len()] })
}

/// Reads a record that was passed on, from all of the bytes.
#[inline]
pub fn read_raw_record(bytes: &[u8]) -> Result<DeferredRecord<'_>, RecordError> {
    let mut from = Cursor::new(bytes);
    let byte = from.byte()?;
    if byte != kind::ACCOUNT {
        return take_other(&mut from, byte).map(DeferredRecord::Other);
    }
    let (id, change) = (from.string()?, from.string()?);
    from.pass_varint()?;
    let count = from.varint()?;
    Ok(DeferredRecord::Account { id, change, left: BucketAmountsIter { cursor: from, count } })
}

impl Iterator for BucketAmountsIter<'_> {
    type Item = Result<BucketAmounts, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Result<BucketAmounts, RecordError>> {
        self.count = self.count.checked_sub(1)?;
        let left = take_left(&mut self.cursor);
        if left.is_err() {
            self.count = 0;
        }
        Some(left)
    }
}

#[inline]
fn take_left(from: &mut Cursor<'_>) -> Result<BucketAmounts, RecordError> {
    PairReader::skip(from)?;
    let bucket = BucketNo(from.narrow()?);
    Ok(BucketAmounts { bucket, available: from.signed()?, held: from.signed()? })
}
