//! Which buckets a Change names.

use scurry_ledger::{Bucket, BucketNo, Change, Name, Op};
use smallvec::SmallVec;

/// How an op names a bucket.
#[derive(PartialEq, Eq)]
enum Named {
    No(BucketNo),
    /// A bucket that begins has no number in the op.
    Id(Name),
}

/// Places of buckets in an account, a bit each.
pub(crate) struct Touched(SmallVec<[u64; 1]>);

impl Touched {
    /// Those of `buckets` that an op names.
    pub(crate) fn by(change: &Change, buckets: &[Bucket]) -> Touched {
        let mut bits = SmallVec::from_elem(0, buckets.len().div_ceil(64));
        let mut last = None;
        for op in &change.ops {
            let named = named(op);
            if named.is_none() || named == last {
                continue;
            }
            let place = buckets.iter().position(|bucket| match &named {
                Some(Named::No(no)) => bucket.no == *no,
                Some(Named::Id(id)) => bucket.id == *id,
                None => false,
            });
            if let Some(place) = place {
                bits[place / 64] |= 1_u64 << (place % 64);
            }
            last = named;
        }
        Touched(bits)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The places, in their order.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                let place = left.trailing_zeros() as usize;
                left &= left.checked_sub(1)?;
                Some(64 * index + place)
            })
        })
    }
}

#[inline]
fn named(op: &Op) -> Option<Named> {
    match op {
        Op::AddBucket { id, .. } => Some(Named::Id(*id)),
        Op::SetBucket { bucket, .. } | Op::RemoveBucket { bucket, .. } => Some(Named::No(*bucket)),
        Op::Credit(posting)
        | Op::Void(posting)
        | Op::Refund(posting)
        | Op::RefundExpired(posting)
        | Op::Debit(posting)
        | Op::Overdraw(posting)
        | Op::Expire(posting)
        | Op::Hold(_, posting)
        | Op::Settle(_, posting)
        | Op::Release(_, posting)
        | Op::ReleaseExpired(_, posting) => Some(Named::No(posting.bucket)),
        // It only notes a refund that another op of the same Change makes.
        Op::NoteRefund { .. }
        | Op::Create(_)
        | Op::Delete
        | Op::SetStatus(_)
        | Op::SetIdentity { .. }
        | Op::SetCounter { .. }
        | Op::OpenSession { .. }
        | Op::AddItem { .. }
        | Op::Grant { .. }
        | Op::Use { .. }
        | Op::Supervise { .. }
        | Op::SetBlob(..)
        | Op::StoreAnswer { .. }
        | Op::CloseSession(_)
        | Op::Bury(_)
        | Op::Remember(_)
        | Op::Forget => None,
    }
}
