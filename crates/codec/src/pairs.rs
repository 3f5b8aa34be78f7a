//! Names and units of buckets, written once per frame and by index afterwards: nearly all accounts have buckets with
//! the same few names.

use crate::cursor::Cursor;
use crate::pen::FieldWriter;
use crate::{Malformed, RecordError};
use alloc::vec::Vec;
use scurry_ledger::Name;

/// A bucket's name and its unit.
type Pair = (Name, Name);

/// Most pairs that a frame numbers.
const PAIRS_MAX: usize = 128;

/// Tag of a new pair: name and unit follow, and get the next index.
const KEPT: u8 = 0x80;
/// Tag of a pair without an index: name and unit follow.
const NOT_KEPT: u8 = 0x81;

/// Pairs that the open frame has numbered.
#[derive(Debug)]
pub(crate) struct BucketNameWriter {
    pairs: Vec<Pair>,
    /// Index of a pair by hash, or `EMPTY`. A pair whose slot is taken by another gets no index.
    places: [u8; 256],
}

const EMPTY: u8 = u8::MAX;

impl BucketNameWriter {
    pub(crate) fn new() -> BucketNameWriter {
        BucketNameWriter { pairs: Vec::new(), places: [EMPTY; 256] }
    }

    pub(crate) fn clear(&mut self) {
        for (name, unit) in self.pairs.drain(..) {
            self.places[place(name, unit)] = EMPTY;
        }
    }

    pub(crate) fn put(&mut self, pen: &mut FieldWriter<'_>, name: Name, unit: Name) {
        let place = &mut self.places[place(name, unit)];
        // The slot holds this pair, is free, or belongs to another pair, which keeps it.
        match self.pairs.get(usize::from(*place)) {
            Some(pair) if *pair == (name, unit) => return pen.byte(*place),
            None if self.pairs.len() < PAIRS_MAX => {
                *place = u8::try_from(self.pairs.len()).unwrap_or(EMPTY);
                self.pairs.push((name, unit));
                pen.byte(KEPT);
            }
            _ => pen.byte(NOT_KEPT),
        }
        pen.name(&name);
        pen.name(&unit);
    }
}

fn place(name: Name, unit: Name) -> usize {
    let both =
        u128::from_le_bytes(*name.padded()) ^ u128::from_le_bytes(*unit.padded()).rotate_left(29);
    let word = (both as u64) ^ (both >> 64) as u64;
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// Pairs that a frame has numbered so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairReader {
    pairs: Vec<Pair>,
}

impl PairReader {
    /// Skips a pair; a new pair gets its index.
    #[inline]
    pub(crate) fn pass(&mut self, from: &mut Cursor<'_>) -> Result<(), RecordError> {
        match from.rest().first() {
            Some(&tag) if usize::from(tag) < self.pairs.len() => {
                from.byte()?;
            }
            _ => {
                self.read_pair(from)?;
            }
        }
        Ok(())
    }

    /// Skips a pair whose index was checked before.
    #[inline]
    pub(crate) fn skip(from: &mut Cursor<'_>) -> Result<(), Malformed> {
        if from.byte()? >= KEPT {
            from.name()?;
            from.name()?;
        }
        Ok(())
    }

    pub(crate) fn read_pair(&mut self, from: &mut Cursor<'_>) -> Result<Pair, RecordError> {
        let tag = from.byte()?;
        if tag < KEPT {
            let pair = self.pairs.get(usize::from(tag));
            return pair.copied().ok_or(RecordError::Pair(tag));
        }
        let pair = (from.name()?, from.name()?);
        match tag {
            KEPT if self.pairs.len() < PAIRS_MAX => self.pairs.push(pair),
            NOT_KEPT => {}
            _ => return Err(Malformed::Choice.into()),
        }
        Ok(pair)
    }
}
