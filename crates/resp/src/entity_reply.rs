//! The replies to ENTITY commands: the same in every host.

use crate::Reply;
use scurry_ledger::Time;

/// Facts about an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityShown<'a> {
    /// The version of its last write.
    pub version: u64,
    /// Value of the entity; none of a deleted one.
    pub value: Option<&'a [u8]>,
    /// When it expires.
    pub expires: Option<Time>,
}

/// The answer to ENTITY.PUT and ENTITY.DEL: whether it was applied, and the version that stands.
pub fn entity_write_answer(reply: &mut Reply<'_>, applied: bool, version: u64) {
    reply.array(2);
    reply.integer(i64::from(applied));
    reply.unsigned(version);
}

/// The answer to ENTITY.GET.
pub fn entity_answer(reply: &mut Reply<'_>, shown: Option<EntityShown<'_>>, with_version: bool) {
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
