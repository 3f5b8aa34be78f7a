//! Keys of any kind: MGET, MSET, DEL, EXISTS, TYPE and related commands. They see accounts and entities, and never
//! write them.

use super::{SYNTAX_ERROR, WRONG_TYPE, write_error};
use crate::durable::LOG_FAILED;
use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::report::{Question, Report};
use crate::net::port::PortKind;
use scurry_engine::{Expiry, KEY_LEN_MAX, KeyKind, WriteError};
use scurry_resp::{Args, Reply};

/// Error of a reply that would exceed the limit of unsent bytes of a connection.
pub(crate) const REPLY_TOO_LONG: &str = "ERR the reply is too long: ask for fewer keys at once";

pub(crate) fn mget(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let begin = reply.len();
    reply.array(args.len() - 1);
    for key in args.iter_from(1) {
        match node.shard.value(node.now.time, node.shard.key(key)) {
            Ok(Some(value)) => {
                node.counters.hits += 1;
                reply.bulk(value.bytes);
            }
            _ => {
                node.counters.misses += 1;
                reply.null();
            }
        }
        if reply.len() - begin > node.settings.reply_len_max {
            reply.truncate(begin);
            return reply.error(REPLY_TOO_LONG);
        }
    }
}

/// Reports whether a key holds an account or an entity, which no plain command writes.
fn is_protected(node: &Node, key: &[u8]) -> bool {
    node.shard.plain_expiry(node.now.time, node.shard.key(key)).is_err()
}

/// Executes MSET, or MSETNX with `absent`. The table has checked that each key has a value.
pub(crate) fn mset(node: &mut Node, args: Args<'_>, absent: bool, reply: &mut Reply<'_>) {
    let pairs = || (1..args.len()).step_by(2).map(|at| (args.at(at), args.at(at + 1)));
    if pairs().any(|(key, _)| key.len() > KEY_LEN_MAX) {
        return write_error(WriteError::KeyTooLong, reply);
    }
    if pairs().any(|(key, _)| is_protected(node, key)) {
        return reply.error(WRONG_TYPE);
    }
    let now = node.now.time;
    if absent && pairs().any(|(key, _)| node.shard.kind(now, node.shard.key(key)).is_some()) {
        return reply.integer(0);
    }
    for (key, value) in pairs() {
        let key = node.shard.key(key);
        if let Err(error) = node.shard.set(now, key, value, Expiry::Never) {
            return write_error(error, reply);
        }
    }
    if absent { reply.integer(1) } else { reply.ok() }
}

pub(crate) fn del(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if args.iter_from(1).any(|key| is_protected(node, key)) {
        return reply.error(WRONG_TYPE);
    }
    let now = node.now.time;
    let mut deleted = 0;
    for key in args.iter_from(1) {
        let key = node.shard.key(key);
        deleted += u64::from(node.shard.del(now, key) == Ok(true));
    }
    reply.unsigned(deleted);
}

pub(crate) fn exists(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let exists = |key: &&[u8]| node.shard.kind(node.now.time, node.shard.key(key)).is_some();
    reply.unsigned(args.iter_from(1).filter(exists).count() as u64);
}

/// Returns TYPE's name of a kind.
pub(crate) fn kind_name(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Value => "string",
        KeyKind::Account => "scurryacc",
        KeyKind::Entity => "scurryent",
    }
}

pub(crate) fn kind(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let kind = node.shard.kind(node.now.time, node.first_key(args.at(1)));
    reply.simple(kind.map_or("none", kind_name));
}

pub(crate) fn db_size(node: &Node, reply: &mut Reply<'_>) {
    reply.unsigned(node.shard.len() as u64);
}

/// Deletes everything; accounts only with an explicit FORCE. Every core reports its accounts first, so that a refusal
/// deletes nothing.
pub(crate) fn flush(
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    let Some(force) = is_forced(args) else {
        reply.error(SYNTAX_ERROR);
        return Effect::None;
    };
    if client.port == PortKind::Core {
        // A port of one core stands for that core's keys.
        flush_shard(node, args, reply);
        return Effect::None;
    }
    if force {
        return Effect::EveryCore;
    }
    // First call: ask every core. The command is executed again with the answers.
    let Some(told) = client.told.take() else { return Effect::AskCores(Question::Report) };
    let all = Report::of_all(&told);
    if all.durable.failed {
        reply.error(LOG_FAILED);
        return Effect::None;
    }
    if all.stats.accounts > 0 {
        refuse_flush(args, reply);
        return Effect::None;
    }
    Effect::EveryCore
}

/// Deletes this core's keys. Checks again for accounts, since one may have been created meanwhile.
pub(crate) fn flush_shard(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if node.shard.stats().accounts > 0 && is_forced(args) != Some(true) {
        return refuse_flush(args, reply);
    }
    node.shard.clear();
    node.forget_transfers();
    node.drop_tracked();
    reply.ok();
}

fn refuse_flush(args: Args<'_>, reply: &mut Reply<'_>) {
    let name = String::from_utf8_lossy(args.at(0)).to_ascii_uppercase();
    reply.error(format_args!("ERR accounts exist: {name} FORCE deletes balances for good"));
}

/// Returns whether FORCE is given; None when an option is unknown or repeated.
fn is_forced(args: Args<'_>) -> Option<bool> {
    let (mut force, mut mode) = (false, false);
    for option in args.iter_from(1) {
        let is = |word: &[u8]| option.eq_ignore_ascii_case(word);
        if is(b"FORCE") && !force {
            force = true;
        } else if (is(b"ASYNC") || is(b"SYNC")) && !mode {
            mode = true;
        } else {
            return None;
        }
    }
    Some(force)
}
