//! Plain values that are integers: INCR and its like.

use super::{NOT_AN_INTEGER, WRONG_TYPE, write_error};
use crate::execute::node::Node;
use scurry_engine::Expiry;
use scurry_resp::{Args, Reply, parse_integer};

/// INCRBY.
pub(crate) fn increment_by(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match parse_integer(args.at(2)) {
        Some(amount) => add(node, args.at(1), amount, reply),
        None => reply.error(NOT_AN_INTEGER),
    }
}

/// DECRBY.
pub(crate) fn decrement_by(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match parse_integer(args.at(2)).map(i64::checked_neg) {
        Some(Some(amount)) => add(node, args.at(1), amount, reply),
        Some(None) => reply.error("ERR decrement would overflow"),
        None => reply.error(NOT_AN_INTEGER),
    }
}

/// Adds to the number at the key and keeps its expiry.
pub(crate) fn add(node: &mut Node, key: &[u8], amount: i64, reply: &mut Reply<'_>) {
    let key = node.first_key(key);
    let before = match node.shard.value(node.now.time, key) {
        Ok(None) => Some(0),
        Ok(Some(value)) => parse_integer(value.bytes),
        Err(_) => return reply.error(WRONG_TYPE),
    };
    let Some(before) = before else { return reply.error(NOT_AN_INTEGER) };
    let Some(after) = before.checked_add(amount) else {
        return reply.error("ERR increment or decrement would overflow");
    };
    let mut digits = itoa::Buffer::new();
    match node.shard.set(node.now.time, key, digits.format(after).as_bytes(), Expiry::Keep) {
        Ok(()) => reply.integer(after),
        Err(error) => write_error(error, reply),
    }
}
