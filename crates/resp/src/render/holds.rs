//! Replies about open holds and remembered transactions.

use super::word::{list, word};
use super::{cause_text, item_key, time_or_null};
use crate::Reply;
use scurry_service::{HoldsView, TransactionView};

/// Writes the answer to `SCUR.HOLDS`.
pub fn holds_map(reply: &mut Reply<'_>, view: &HoldsView) {
    reply.map(4);
    word!(reply, "version");
    reply.unsigned(view.version);
    list!(reply, "buckets", view.buckets.len());
    for bucket in &view.buckets {
        reply.array(4);
        reply.name(&bucket.id);
        reply.name(&bucket.unit);
        reply.integers([bucket.available, bucket.held]);
    }
    list!(reply, "holds", view.holds.len());
    for hold in &view.holds {
        reply.array(8);
        reply.bulk(hold.session.as_bytes());
        item_key(reply, &hold.key);
        reply.name(&hold.unit);
        reply.name(&hold.bucket);
        reply.integers([hold.amount, hold.deadline.0, hold.opened.0, hold.active.0]);
    }
    word!(reply, "next");
    match &view.next {
        Some(session) => reply.bulk(session.as_bytes()),
        None => reply.null(),
    }
}

/// Writes the answer to `SCUR.TRANSACTION`.
pub fn transaction_map(reply: &mut Reply<'_>, view: &TransactionView) {
    reply.map(7);
    word!(reply, "code");
    reply.simple(view.code.name());
    word!(reply, "version");
    reply.unsigned(view.version);
    word!(reply, "amount");
    reply.integer(view.amount);
    word!(reply, "cause");
    match cause_text(view.cause) {
        Some(cause) => reply.simple(&cause),
        None => reply.null(),
    }
    word!(reply, "allowed_at");
    time_or_null(reply, view.cause.allowed_at());
    word!(reply, "forget_at");
    time_or_null(reply, Some(view.forget_at));
    list!(reply, "parts", view.parts.len());
    for part in &view.parts {
        reply.array(5);
        match &part.bucket {
            Some((bucket, unit)) => {
                reply.name(bucket);
                reply.name(unit);
            }
            None => {
                reply.null();
                reply.null();
            }
        }
        reply.integers([part.amount, part.refunded]);
        match &part.item {
            Some(key) => item_key(reply, key),
            None => reply.null(),
        }
    }
}
