//! SLOWLOG: the newest slow commands of this core.

use crate::node::Node;
use crate::slowlog::SlowCommand;
use scurry_resp::{Args, Reply, parse_integer};

/// Entries shown unless told otherwise.
const COUNT_DEFAULT: usize = 10;
const BAD_COUNT: &str = "ERR count should be greater than or equal to -1";

pub(crate) fn get(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let count = match (args.len(), args.get(2).map(parse_integer)) {
        (2, _) => COUNT_DEFAULT,
        (3, Some(Some(-1))) => usize::MAX,
        (3, Some(Some(count))) if count >= 0 => usize::try_from(count).unwrap_or(usize::MAX),
        (3, _) => return reply.error(BAD_COUNT),
        _ => {
            return reply.error_quoting(
                "ERR unknown subcommand or wrong number of arguments for '",
                args.at(1),
                "'. Try SLOWLOG HELP.",
            );
        }
    };
    let entries = node.watch.slowlog.entries();
    reply.array(count.min(entries.len()));
    entries.take(count).for_each(|entry| show(entry, reply));
}

fn show(entry: &SlowCommand, reply: &mut Reply<'_>) {
    reply.array(6);
    reply.unsigned(entry.id);
    reply.integer(entry.time_s);
    reply.unsigned(entry.duration_us);
    reply.array(entry.arguments.len());
    for argument in &entry.arguments {
        reply.bulk(argument);
    }
    reply.text(&entry.peer.to_string());
    reply.bulk(&entry.name);
}

pub(crate) fn len(node: &Node, reply: &mut Reply<'_>) {
    reply.unsigned(node.watch.slowlog.entries().len() as u64);
}

pub(crate) fn reset(node: &mut Node, reply: &mut Reply<'_>) {
    node.watch.slowlog.clear();
    reply.ok();
}
