//! SLOWLOG: the newest slow commands.

use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::report::{Answer, Question};
use crate::measures::slowlog::SlowCommand;
use scurry_resp::{Args, Reply, parse_integer};
use std::cmp::Reverse;

/// Number of entries shown by default.
const COUNT_DEFAULT: usize = 10;
const BAD_COUNT: &str = "ERR count should be greater than or equal to -1";

pub(crate) fn get(client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) -> Effect {
    let count = match (args.len(), args.get(2).map(parse_integer)) {
        (2, _) => COUNT_DEFAULT,
        (3, Some(Some(-1))) => usize::MAX,
        (3, Some(Some(count))) if count >= 0 => usize::try_from(count).unwrap_or(usize::MAX),
        (3, _) => {
            reply.error(BAD_COUNT);
            return Effect::None;
        }
        _ => {
            reply.error_quoting(
                "ERR unknown subcommand or wrong number of arguments for '",
                args.at(1),
                "'. Try SLOWLOG HELP.",
            );
            return Effect::None;
        }
    };
    let Some(told) = client.told.take() else { return Effect::AskCores(Question::Slowlog) };
    let lists = told.into_iter().filter_map(|answer| match answer {
        Answer::Slowlog(entries) => Some(entries),
        _ => None,
    });
    let mut entries: Vec<SlowCommand> = lists.flatten().collect();
    // Newest first; entries of one core keep their order within a second.
    entries.sort_by_key(|entry| Reverse(entry.time_s));
    entries.truncate(count);
    reply.array(entries.len());
    entries.iter().for_each(|entry| show(entry, reply));
    Effect::None
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
    reply.text(&entry.peer.map(|peer| peer.to_string()).unwrap_or_default());
    reply.bulk(&entry.name);
}

pub(crate) fn len(node: &Node, reply: &mut Reply<'_>) {
    reply.unsigned(node.slowness.slowlog.entries().len() as u64);
}

pub(crate) fn reset(node: &mut Node, reply: &mut Reply<'_>) {
    node.slowness.slowlog.clear();
    reply.ok();
}
