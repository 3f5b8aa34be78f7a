//! Plain keys: GET, SET and their like. They never touch accounts.

use super::{OUT_OF_MEMORY, SYNTAX_ERROR, WRONG_TYPE};
use crate::client::Client;
use crate::dispatch::Effect;
use crate::node::Node;
use crate::report::{Question, Report};
use scurry_engine::{Expiry, WriteError};
use scurry_resp::{Args, Reply};

/// Longest key of a plain value, bytes.
const KEY_LEN_MAX: usize = 65_535;
const KEY_TOO_LONG: &str = "ERR key is longer than 65535 bytes";

const REPLY_TOO_LONG: &str = "ERR the reply is too long: ask for fewer keys at once";

pub(crate) fn get(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match node.shard.value(node.now.time, node.shard.key(args.at(1))) {
        Ok(Some(value)) => {
            node.counters.hits += 1;
            reply.bulk(value.bytes);
        }
        Ok(None) => {
            node.counters.misses += 1;
            reply.null();
        }
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn set(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if args.len() > 3 {
        return reply.error(SYNTAX_ERROR);
    }
    if args.at(1).len() > KEY_LEN_MAX {
        return reply.error(KEY_TOO_LONG);
    }
    let key = node.shard.key(args.at(1));
    match node.shard.set(node.now.time, key, args.at(2), Expiry::Never) {
        Ok(()) => reply.ok(),
        Err(error) => write_error(error, reply),
    }
}

fn write_error(error: WriteError, reply: &mut Reply<'_>) {
    match error {
        WriteError::WrongType => reply.error(WRONG_TYPE),
        WriteError::OutOfMemory => reply.error(OUT_OF_MEMORY),
        WriteError::KeyTooLong => reply.error(KEY_TOO_LONG),
        error => reply.error(format_args!("ERR {error}")),
    }
}

/// True when a plain value may be at the key.
fn is_plain(node: &Node, key: &[u8]) -> bool {
    node.shard.value(node.now.time, node.shard.key(key)).is_ok()
}

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

pub(crate) fn mset(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let pairs = || (1..args.len()).step_by(2).map(|at| (args.at(at), args.at(at + 1)));
    if pairs().any(|(key, _)| key.len() > KEY_LEN_MAX) {
        return reply.error(KEY_TOO_LONG);
    }
    if pairs().any(|(key, _)| !is_plain(node, key)) {
        return reply.error(WRONG_TYPE);
    }
    for (key, value) in pairs() {
        let key = node.shard.key(key);
        if let Err(error) = node.shard.set(node.now.time, key, value, Expiry::Never) {
            return write_error(error, reply);
        }
    }
    reply.ok();
}

pub(crate) fn del(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if args.iter_from(1).any(|key| !is_plain(node, key)) {
        return reply.error(WRONG_TYPE);
    }
    let mut deleted = 0;
    for key in args.iter_from(1) {
        let key = node.shard.key(key);
        deleted += u64::from(node.shard.del(node.now.time, key).unwrap_or(false));
    }
    reply.unsigned(deleted);
}

pub(crate) fn exists(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let exists = |key: &&[u8]| node.shard.exists(node.now.time, node.shard.key(key));
    let found = args.iter_from(1).filter(exists).count();
    reply.unsigned(found as u64);
}

pub(crate) fn db_size(node: &Node, reply: &mut Reply<'_>) {
    reply.unsigned(node.shard.len() as u64);
}

/// Deletes everything; with accounts only when told so in as many words. What every core has to
/// say about its accounts comes first, so that a refusal deletes nothing.
pub(crate) fn flush(client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) -> Effect {
    let Some(force) = is_forced(args) else {
        reply.error(SYNTAX_ERROR);
        return Effect::None;
    };
    if force {
        return Effect::Every;
    }
    let Some(told) = client.told.take() else { return Effect::Ask(Question::Report) };
    if Report::of_all(&told).stats.accounts > 0 {
        refuse_flush(args, reply);
        return Effect::None;
    }
    Effect::Every
}

/// This core's part of it. An account may have been created meanwhile.
pub(crate) fn flush_shard(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if node.shard.stats().accounts > 0 && is_forced(args) != Some(true) {
        return refuse_flush(args, reply);
    }
    node.shard.clear();
    reply.ok();
}

fn refuse_flush(args: Args<'_>, reply: &mut Reply<'_>) {
    let name = String::from_utf8_lossy(args.at(0)).to_ascii_uppercase();
    reply.error(format_args!("ERR accounts exist: {name} FORCE deletes balances for good"));
}

/// None when an option is not known.
fn is_forced(args: Args<'_>) -> Option<bool> {
    let mut force = false;
    for option in args.iter_from(1) {
        if option.eq_ignore_ascii_case(b"FORCE") {
            force = true;
        } else if !option.eq_ignore_ascii_case(b"ASYNC") && !option.eq_ignore_ascii_case(b"SYNC") {
            return None;
        }
    }
    Some(force)
}
