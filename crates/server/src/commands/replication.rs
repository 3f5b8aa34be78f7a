//! WAIT: there are no replicas to wait for.

use super::NOT_AN_INTEGER;
use crate::node::Node;
use scurry_resp::{Args, Reply, parse_integer};

pub(crate) fn wait(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if parse_integer(args.at(1)).is_none() {
        return reply.error(NOT_AN_INTEGER);
    }
    match parse_integer(args.at(2)) {
        None => reply.error("ERR timeout is not an integer or out of range"),
        Some(timeout_ms) if timeout_ms < 0 => reply.error("ERR timeout is negative"),
        Some(timeout_ms) if timeout_ms > i64::MAX - node.now.time.0 => {
            reply.error("ERR timeout is out of range");
        }
        Some(_) => reply.integer(0),
    }
}
