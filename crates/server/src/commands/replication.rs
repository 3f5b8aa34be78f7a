//! WAIT, ROLE, and what INFO says of replication: there are no replicas.

use super::{Lines, NOT_AN_INTEGER};
use crate::node::Node;
use scurry_resp::{Args, Reply, parse_integer};

/// A primary without replicas, whose log nobody follows by Redis's protocol.
pub(crate) fn role(reply: &mut Reply<'_>) {
    reply.array(3);
    reply.text("master");
    reply.integer(0);
    reply.array(0);
}

/// The same as lines of INFO. Some clients do not connect without.
pub(super) fn describe(node: &Node, lines: &mut Lines) {
    lines.line("role", "master");
    lines.line("connected_slaves", 0);
    lines.line("master_failover_state", "no-failover");
    lines.line("master_replid", format_args!("{:040x}", node.shared.run_id));
    lines.line("master_replid2", format_args!("{:040x}", 0));
    lines.line("master_repl_offset", 0);
    lines.line("second_repl_offset", -1);
    lines.line("repl_backlog_active", 0);
    lines.line("repl_backlog_size", 0);
    lines.line("repl_backlog_first_byte_offset", 0);
    lines.line("repl_backlog_histlen", 0);
}

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
