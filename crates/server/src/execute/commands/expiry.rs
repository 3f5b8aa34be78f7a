//! When keys expire: EXPIRE, TTL and related commands.

use super::{NOT_AN_INTEGER, WRONG_TYPE};
use crate::execute::node::Node;
use scurry_engine::{EntityState, KeyKind};
use scurry_ledger::Time;
use scurry_resp::plain::{DeadlineUnit, PlainFault, parse_expire};
use scurry_resp::table::Spec;
use scurry_resp::{Args, Reply, parse_integer};

/// Executes EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT.
pub(crate) fn expire(
    node: &mut Node,
    spec: &'static Spec,
    unit: DeadlineUnit,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    let condition = match parse_expire(args) {
        Ok(condition) => condition,
        Err(fault) => return fault.write(reply),
    };
    let now = node.now.time;
    let Some(number) = parse_integer(args.at(2)) else { return reply.error(NOT_AN_INTEGER) };
    let Some(deadline) = unit.at(number, now) else {
        return PlainFault::ExpireTime(spec).write(reply);
    };
    let key = node.first_key(args.at(1));
    match node.shard.plain_expiry(now, key) {
        Ok(Some(before)) if condition.allows(before, deadline) => {
            let set = node.shard.set_expiry(now, key, Some(deadline));
            reply.integer(i64::from(set == Ok(true)));
        }
        Ok(_) => reply.integer(0),
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn persist(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let (now, key) = (node.now.time, node.first_key(args.at(1)));
    match node.shard.plain_expiry(now, key) {
        Ok(Some(Some(_))) => {
            let set = node.shard.set_expiry(now, key, None);
            reply.integer(i64::from(set == Ok(true)));
        }
        Ok(_) => reply.integer(0),
        Err(_) => reply.error(WRONG_TYPE),
    }
}

/// How TTL and related commands show a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeFormat {
    /// Seconds, rounded; else milliseconds.
    seconds: bool,
    /// Since 1970; else from now on.
    absolute: bool,
}

impl TimeFormat {
    pub(crate) const TTL: TimeFormat = TimeFormat { seconds: true, absolute: false };
    pub(crate) const PTTL: TimeFormat = TimeFormat { seconds: false, absolute: false };
    pub(crate) const EXPIRE_TIME: TimeFormat = TimeFormat { seconds: true, absolute: true };
    pub(crate) const PEXPIRE_TIME: TimeFormat = TimeFormat { seconds: false, absolute: true };
}

/// Answers TTL, PTTL, EXPIRETIME and PEXPIRETIME.
pub(crate) fn ttl(node: &Node, shown: TimeFormat, args: Args<'_>, reply: &mut Reply<'_>) {
    let now = node.now.time;
    let ms = match expires(node, args.at(1)) {
        None => return reply.integer(-2),
        Some(None) => return reply.integer(-1),
        Some(Some(time)) if shown.absolute => time.0,
        Some(Some(time)) => time.0.saturating_sub(now.0),
    };
    // In u64, so that even the largest i64 can be rounded up.
    let ms = u64::try_from(ms).unwrap_or_default();
    reply.unsigned(if shown.seconds { (ms + 500) / 1000 } else { ms });
}

/// Returns None when the key does not exist, else when it expires, if it does.
fn expires(node: &Node, key: &[u8]) -> Option<Option<Time>> {
    let (now, key) = (node.now.time, node.first_key(key));
    match node.shard.kind(now, key)? {
        // An account does not expire as a whole; its contents do.
        KeyKind::Account => Some(None),
        KeyKind::Value => node.shard.plain_expiry(now, key).ok()?,
        KeyKind::Entity => match node.shard.entity(now, key).ok()??.state {
            EntityState::Live { expires, .. } => Some(expires),
            EntityState::Deleted { .. } => None,
        },
    }
}
