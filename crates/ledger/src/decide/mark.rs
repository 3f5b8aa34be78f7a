//! Marks of buckets: a Commit that takes the available amount of a bucket below its mark, or back to it, records that
//! (docs/ledger.md section 18). It is derived from the facts of the Commit, so no state is kept beside the mark.

use crate::{Account, Bucket, BucketNo, Op};
use alloc::vec::Vec;

/// The mark that a bucket had before the command gave it another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplacedMark {
    pub(super) bucket: BucketNo,
    pub(super) mark: Option<i64>,
}

/// Returns a fact for each mark that a Commit crosses. Takes the account after all facts of the Commit.
#[cold]
pub(super) fn crossings(account: &Account, ops: &[Op], replaced: Option<ReplacedMark>) -> Vec<Op> {
    let crossing = |bucket: &Bucket| {
        let mark = bucket.mark?;
        let replaced = replaced.filter(|replaced| replaced.bucket == bucket.no);
        let mark_before = replaced.map_or(bucket.mark, |replaced| replaced.mark);
        let available = available_before(bucket, ops);
        let was_below =
            mark_before.zip(available).is_some_and(|(mark, had)| had < i128::from(mark));
        let is_below = bucket.is_below_mark();
        let is_told = was_below == is_below && !(is_below && replaced.is_some());
        (!is_told).then_some(Op::CrossMark { bucket: bucket.no, mark, is_below })
    };
    account.buckets.iter().filter_map(crossing).collect()
}

/// Returns what was available in a bucket before the Commit; `None` if the Commit created it.
fn available_before(bucket: &Bucket, ops: &[Op]) -> Option<i128> {
    let mut available = i128::from(bucket.available);
    for op in ops {
        match op {
            Op::AddBucket { id, .. } if *id == bucket.id => return None,
            _ => {
                let added = op.added_to_available().filter(|(no, _)| *no == bucket.no);
                available -= added.map_or(0, |(_, amount)| i128::from(amount));
            }
        }
    }
    Some(available)
}
