//! Replies to ENTITY commands, which are the same in every host.

use crate::Reply;
use scurry_ledger::Time;

/// State of an entity for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityReplyFields<'a> {
    /// Version of the last write.
    pub version: u64,
    /// Value of the entity; `None` if it is deleted.
    pub value: Option<&'a [u8]>,
    /// Expiry; `None` for never.
    pub expires: Option<Time>,
}

/// Writes the reply to ENTITY.PUT and ENTITY.DEL: whether the write was applied, and the stored version.
pub fn entity_write_answer(reply: &mut Reply<'_>, applied: bool, version: u64) {
    reply.array(2);
    reply.integer(i64::from(applied));
    reply.unsigned(version);
}

/// Writes the reply to ENTITY.GET.
pub fn entity_answer(
    reply: &mut Reply<'_>,
    shown: Option<EntityReplyFields<'_>>,
    with_version: bool,
) {
    let value = shown.and_then(|shown| shown.value);
    match (shown, with_version) {
        (None, true) => return reply.null_array(),
        (Some(shown), true) => {
            reply.array(3);
            reply.unsigned(shown.version);
        }
        (_, false) => {}
    }
    match value {
        Some(value) => reply.bulk(value),
        None => reply.null(),
    }
    if with_version {
        let expires = shown.filter(|_| value.is_some()).and_then(|shown| shown.expires);
        reply.integer(expires.map_or(-1, |time| time.0));
    }
}
