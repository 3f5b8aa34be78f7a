//! Reads the records of a frame, one after another.

use crate::cursor::Cursor;
use crate::pairs::PairReader;
use crate::passed::{self, Passed};
use crate::record::{kind, take_other};
use crate::{Balance, Record, RecordError};
use alloc::vec::Vec;
use scurry_ledger::BucketNo;

/// Reader of the records of one frame. It is no iterator, because the balances of a record are stored here until the
/// next record is read.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    cursor: Cursor<'a>,
    /// Number of records not read yet.
    left: u32,
    broken: bool,
    pairs: PairReader,
    balances: Vec<Balance>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(bytes: &'a [u8], count: u32) -> Records<'a> {
        Records {
            cursor: Cursor::new(bytes),
            left: count,
            broken: false,
            pairs: PairReader::default(),
            balances: Vec::new(),
        }
    }

    /// Returns the next record; `None` after the last one, and after an error.
    #[expect(clippy::should_implement_trait, reason = "a record borrows the balances kept here")]
    pub fn next(&mut self) -> Option<Result<Record<'_>, RecordError>> {
        match self.begin()? {
            Ok(()) => {}
            Err(error) => return Some(Err(error)),
        }
        match read_record(&mut self.cursor, &mut self.pairs, &mut self.balances) {
            Ok(record) => {
                self.broken = false;
                Some(Ok(record))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Returns the bytes of the next record, to be read later; otherwise as [`Records::next`].
    #[inline]
    pub fn pass(&mut self) -> Option<Result<Passed<'a>, RecordError>> {
        match self.begin()? {
            Ok(()) => {}
            Err(error) => return Some(Err(error)),
        }
        let passed = passed::pass(&mut self.cursor, &mut self.pairs);
        self.broken = passed.is_err();
        Some(passed)
    }

    /// Counts the next record; `None` after the last one.
    #[inline]
    fn begin(&mut self) -> Option<Result<(), RecordError>> {
        if self.broken {
            return None;
        }
        // Reset once the record has been read: an error ends the records.
        self.broken = true;
        let Some(left) = self.left.checked_sub(1) else {
            return self.cursor.finish().err().map(|left| Err(left.into()));
        };
        self.left = left;
        Some(Ok(()))
    }
}

fn read_record<'a: 'r, 'r>(
    from: &mut Cursor<'a>,
    pairs: &mut PairReader,
    balances: &'r mut Vec<Balance>,
) -> Result<Record<'r>, RecordError> {
    let byte = from.byte()?;
    if byte != kind::ACCOUNT {
        return take_other(from, byte);
    }
    let (id, change, version) = (from.string()?, from.string()?, from.varint()?);
    balances.clear();
    for _ in 0..from.varint()? {
        balances.push(take_balance(from, pairs)?);
    }
    Ok(Record::Account { id, change, version, balances })
}

fn take_balance(from: &mut Cursor<'_>, pairs: &mut PairReader) -> Result<Balance, RecordError> {
    let (name, unit) = pairs.read_pair(from)?;
    Ok(Balance {
        bucket: BucketNo(from.narrow()?),
        name,
        unit,
        available: from.signed()?,
        held: from.signed()?,
    })
}
