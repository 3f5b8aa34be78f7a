//! Plain values that are integers: INCR and related commands.

use super::values::expiry;
use super::{NOT_AN_INTEGER, WRONG_TYPE, write_error};
use crate::execute::node::Node;
use scurry_engine::Expiry;
use scurry_resp::plain::{IncrexOptions, Lifetime, PlainFault, parse_increx};
use scurry_resp::table::Spec;
use scurry_resp::{Args, Reply, parse_integer};

/// Executes INCRBY.
pub(crate) fn increment_by(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match parse_integer(args.at(2)) {
        Some(amount) => add(node, args.at(1), amount, reply),
        None => reply.error(NOT_AN_INTEGER),
    }
}

/// Executes DECRBY.
pub(crate) fn decrement_by(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match parse_integer(args.at(2)).map(i64::checked_neg) {
        Some(Some(amount)) => add(node, args.at(1), amount, reply),
        Some(None) => reply.error("ERR decrement would overflow"),
        None => reply.error(NOT_AN_INTEGER),
    }
}

/// Adds to the number at the key and keeps its expiry.
pub(crate) fn add(node: &mut Node, key: &[u8], amount: i64, reply: &mut Reply<'_>) {
    let Some(before) = number(node, key, reply) else { return };
    let Some(after) = before.checked_add(amount) else {
        return reply.error("ERR increment or decrement would overflow");
    };
    if write(node, key, after, Expiry::Keep, reply) {
        reply.integer(after);
    }
}

/// Returns the number at the key, 0 if the key is missing; None after an error was written.
fn number(node: &mut Node, key: &[u8], reply: &mut Reply<'_>) -> Option<i64> {
    let before = match node.shard.value(node.now.time, node.first_key(key)) {
        Ok(None) => Some(0),
        Ok(Some(value)) => parse_integer(value.bytes),
        Err(_) => {
            reply.error(WRONG_TYPE);
            return None;
        }
    };
    if before.is_none() {
        reply.error(NOT_AN_INTEGER);
    }
    before
}

/// Writes the number; false after an error was written.
fn write(node: &mut Node, key: &[u8], after: i64, expiry: Expiry, reply: &mut Reply<'_>) -> bool {
    let (key, mut digits) = (node.first_key(key), itoa::Buffer::new());
    let written = node.shard.set(node.now.time, key, digits.format(after).as_bytes(), expiry);
    written.map_err(|error| write_error(error, reply)).is_ok()
}

/// Executes INCREX.
pub(crate) fn increment_within(
    node: &mut Node,
    spec: &'static Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    let options = match parse_increx(args) {
        Ok(options) => options,
        Err(fault) => return fault.write(reply),
    };
    let key = args.at(1);
    let Some(before) = number(node, key, reply) else { return };
    let expires = match expires(node, spec, key, &options) {
        Ok(expires) => expires,
        Err(fault) => return fault.write(reply),
    };
    let after = options.after(before);
    let is_written = after.is_none_or(|after| write(node, key, after, expires, reply));
    if is_written {
        let after = after.unwrap_or(before);
        reply.array(2);
        reply.integer(after);
        reply.integer(after.saturating_sub(before));
    }
}

/// Returns the expiry of a key after an INCREX.
fn expires(
    node: &mut Node,
    spec: &'static Spec,
    key: &[u8],
    options: &IncrexOptions<'_>,
) -> Result<Expiry, PlainFault<'static>> {
    let asked = match options.lifetime {
        Lifetime::NotGiven | Lifetime::Keep => Expiry::Keep,
        said => expiry(node, spec, said)?,
    };
    let before = node.shard.plain_expiry(node.now.time, node.first_key(key));
    let has_deadline = matches!(before, Ok(Some(Some(_))));
    Ok(if options.keeps_deadline && has_deadline { Expiry::Keep } else { asked })
}
