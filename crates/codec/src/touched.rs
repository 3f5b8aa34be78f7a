//! Which buckets a Change names.

use scurry_ledger::{Bucket, BucketNo, Change, Name, Op};

/// How an op names a bucket.
enum Named {
    No(BucketNo),
    /// A bucket that begins has no number in the op.
    Id(Name),
}

/// Those of `buckets` that an op names, in their order.
pub(crate) fn touched<'a>(
    change: &'a Change,
    buckets: &'a [Bucket],
) -> impl Iterator<Item = &'a Bucket> {
    buckets.iter().filter(|bucket| {
        change.ops.iter().filter_map(named).any(|named| match named {
            Named::No(no) => bucket.no == no,
            Named::Id(id) => bucket.id == id,
        })
    })
}

fn named(op: &Op) -> Option<Named> {
    match op {
        Op::AddBucket { id, .. } => Some(Named::Id(*id)),
        Op::SetBucket { bucket, .. } | Op::RemoveBucket(bucket) => Some(Named::No(*bucket)),
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
