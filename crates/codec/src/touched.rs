//! Which buckets the facts of a Change name, noted as they are written.

use alloc::vec::Vec;
use scurry_ledger::{Bucket, BucketNo, Name};

/// Buckets by what names them in an op.
#[derive(Default)]
pub(crate) struct Touched {
    /// The first 64 numbers, a bit each: most accounts never give out another.
    low: u64,
    /// Greater numbers, some of them more than once.
    high: Vec<BucketNo>,
    /// A bucket that begins has no number in its op.
    begun: Vec<Name>,
}

impl Touched {
    /// An op names this number.
    #[inline]
    pub(crate) fn note(&mut self, no: BucketNo) {
        if no.0 < 64 {
            self.low |= 1 << no.0;
        } else if self.high.last() != Some(&no) {
            self.high.push(no);
        }
    }

    /// A bucket of this name begins.
    pub(crate) fn note_begun(&mut self, id: Name) {
        self.begun.push(id);
    }

    /// True when an op names this bucket.
    #[inline]
    pub(crate) fn has(&self, bucket: &Bucket) -> bool {
        let noted = match bucket.no.0 {
            no @ 0..64 => self.low >> no & 1 != 0,
            _ => self.high.contains(&bucket.no),
        };
        noted || self.begun.contains(&bucket.id)
    }
}
