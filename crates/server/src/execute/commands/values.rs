//! Plain values: GET, SET and related commands.

use super::{WRONG_TYPE, write_error};
use crate::execute::node::Node;
use scurry_engine::{Expiry, WriteError, WrongType};
use scurry_ledger::Time;
use scurry_resp::plain::{
    Deadline, DeadlineUnit, Lifetime, PlainFault, SetCondition, SetOptions, parse_get_ex, parse_set,
};
use scurry_resp::table::Spec;
use scurry_resp::{Args, Reply, parse_integer};

pub(crate) const TOO_LONG: &str = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

/// Appends the value at the key or nil, and returns whether there was one; None after an error.
fn show(node: &mut Node, key: &[u8], reply: &mut Reply<'_>) -> Option<bool> {
    match node.shard.value(node.now.time, node.first_key(key)) {
        Ok(Some(value)) => {
            node.counters.hits += 1;
            reply.bulk(value.bytes);
            Some(true)
        }
        Ok(None) => {
            node.counters.misses += 1;
            reply.null();
            Some(false)
        }
        Err(_) => {
            reply.error(WRONG_TYPE);
            None
        }
    }
}

pub(crate) fn get(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let _ = show(node, args.at(1), reply);
}

/// Writes a value, and removes what was appended since `begin` if that fails.
fn write(
    node: &mut Node,
    key: &[u8],
    value: &[u8],
    expiry: Expiry,
    begin: usize,
    reply: &mut Reply<'_>,
) -> Result<(), WriteError> {
    let key = node.first_key(key);
    node.shard.set(node.now.time, key, value, expiry).inspect_err(|&error| {
        reply.truncate(begin);
        write_error(error, reply);
    })
}

pub(crate) fn set(node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    if args.len() == 3 {
        let begin = reply.len();
        if write(node, args.at(1), args.at(2), Expiry::Never, begin, reply).is_ok() {
            reply.ok();
        }
        return;
    }
    match parse_set(args).and_then(|options| Ok((options, expiry(node, spec, options.lifetime)?))) {
        Ok((options, expiry)) => set_with(node, args, options, expiry, reply),
        Err(fault) => fault.write(reply),
    }
}

pub(super) fn expiry(
    node: &Node,
    spec: &'static Spec,
    lifetime: Lifetime<'_>,
) -> Result<Expiry, PlainFault<'static>> {
    match lifetime {
        Lifetime::NotGiven | Lifetime::Persist => Ok(Expiry::Never),
        Lifetime::Keep => Ok(Expiry::Keep),
        Lifetime::Until(deadline) => deadline.time(node.now.time, spec).map(Expiry::At),
    }
}

fn set_with(
    node: &mut Node,
    args: Args<'_>,
    options: SetOptions<'_>,
    expiry: Expiry,
    reply: &mut Reply<'_>,
) {
    let (key, begin) = (args.at(1), reply.len());
    let found = if options.get {
        let Some(found) = show(node, key, reply) else { return };
        found
    } else if options.condition == SetCondition::Always {
        false
    } else {
        match node.shard.plain_expiry(node.now.time, node.first_key(key)) {
            Ok(found) => found.is_some(),
            Err(_) => return reply.error(WRONG_TYPE),
        }
    };
    let writes = match options.condition {
        SetCondition::Always => true,
        SetCondition::Absent => !found,
        SetCondition::Present => found,
        SetCondition::Equal(value) => found && has(node, key, value) == Ok(true),
    };
    if !writes {
        if !options.get {
            reply.null();
        }
    } else if write(node, key, args.at(2), expiry, begin, reply).is_ok() && !options.get {
        reply.ok();
    }
}

/// Reports whether the key has this value.
fn has(node: &mut Node, key: &[u8], value: &[u8]) -> Result<bool, WrongType> {
    let found = node.shard.value(node.now.time, node.first_key(key))?;
    Ok(found.is_some_and(|found| found.bytes == value))
}

/// Executes DELIFEQ: the holder of a lock releases it, but not a lock that another client has taken since.
pub(crate) fn del_if_equal(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match has(node, args.at(1), args.at(2)) {
        Ok(is_equal) => {
            if is_equal {
                let key = node.first_key(args.at(1));
                let _ = node.shard.del(node.now.time, key);
            }
            reply.integer(is_equal.into());
        }
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn set_nx(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match node.shard.plain_expiry(node.now.time, node.first_key(args.at(1))) {
        Ok(Some(_)) => reply.integer(0),
        Ok(None) => {
            let begin = reply.len();
            if write(node, args.at(1), args.at(2), Expiry::Never, begin, reply).is_ok() {
                reply.integer(1);
            }
        }
        Err(_) => reply.error(WRONG_TYPE),
    }
}

/// Executes SETEX and PSETEX.
pub(crate) fn set_ex(
    node: &mut Node,
    spec: &'static Spec,
    unit: DeadlineUnit,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    let deadline = Deadline { unit, number: args.at(2) };
    match deadline.time(node.now.time, spec) {
        Ok(time) => {
            let begin = reply.len();
            if write(node, args.at(1), args.at(3), Expiry::At(time), begin, reply).is_ok() {
                reply.ok();
            }
        }
        Err(fault) => fault.write(reply),
    }
}

pub(crate) fn get_set(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let begin = reply.len();
    if show(node, args.at(1), reply).is_some() {
        let _ = write(node, args.at(1), args.at(2), Expiry::Never, begin, reply);
    }
}

pub(crate) fn get_del(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if show(node, args.at(1), reply) == Some(true) {
        let key = node.first_key(args.at(1));
        let _ = node.shard.del(node.now.time, key);
    }
}

pub(crate) fn get_ex(node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    let lifetime = match parse_get_ex(args) {
        Ok(lifetime) => lifetime,
        Err(fault) => return fault.write(reply),
    };
    let begin = reply.len();
    if show(node, args.at(1), reply) != Some(true) {
        return;
    }
    // The number is validated only when there is a value to expire.
    let expires: Option<Time> = match lifetime {
        Lifetime::NotGiven | Lifetime::Keep => return,
        Lifetime::Persist => None,
        Lifetime::Until(deadline) => match deadline.time(node.now.time, spec) {
            Ok(time) => Some(time),
            Err(fault) => {
                reply.truncate(begin);
                return fault.write(reply);
            }
        },
    };
    let key = node.first_key(args.at(1));
    let _ = node.shard.set_expiry(node.now.time, key, expires);
}

pub(crate) fn append(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let key = node.first_key(args.at(1));
    match node.shard.value(node.now.time, key) {
        Ok(Some(value)) if is_too_long(node, value.bytes.len(), args.at(2).len()) => {
            return reply.error(TOO_LONG);
        }
        Ok(_) => {}
        Err(_) => return reply.error(WRONG_TYPE),
    }
    match node.shard.append(node.now.time, key, args.at(2)) {
        Ok(len) => reply.unsigned(len as u64),
        Err(error) => write_error(error, reply),
    }
}

/// Reports whether a value would be longer than one that a client can send.
fn is_too_long(node: &Node, len: usize, more: usize) -> bool {
    len.checked_add(more).is_none_or(|len| len > node.settings.request.argument_len_max)
}

pub(crate) fn str_len(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match node.shard.value(node.now.time, node.first_key(args.at(1))) {
        Ok(value) => reply.unsigned(value.map_or(0, |value| value.bytes.len()) as u64),
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn get_range(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let (Some(start), Some(end)) = (parse_integer(args.at(2)), parse_integer(args.at(3))) else {
        return PlainFault::NotAnInteger.write(reply);
    };
    match node.shard.value(node.now.time, node.first_key(args.at(1))) {
        Ok(Some(value)) => {
            node.counters.hits += 1;
            reply.bulk(range(value.bytes, start, end));
        }
        Ok(None) => {
            node.counters.misses += 1;
            reply.bulk(b"");
        }
        Err(_) => reply.error(WRONG_TYPE),
    }
}

/// Returns the bytes between two positions, both included; negative positions count from the end.
fn range(bytes: &[u8], start: i64, end: i64) -> &[u8] {
    let len = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    if start < 0 && end < 0 && start > end {
        return &[];
    }
    let place = |at: i64| if at < 0 { at.saturating_add(len).max(0) } else { at };
    let (start, end) = (place(start), place(end).min(len - 1));
    if start > end {
        return &[];
    }
    let place = |at: i64| usize::try_from(at).unwrap_or_default();
    bytes.get(place(start)..=place(end)).unwrap_or_default()
}

pub(crate) fn set_range(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let Some(offset) = parse_integer(args.at(2)) else {
        return PlainFault::NotAnInteger.write(reply);
    };
    let Ok(offset) = usize::try_from(offset) else {
        return reply.error("ERR offset is out of range");
    };
    let patch = args.at(3);
    let before = match node.shard.value(node.now.time, node.first_key(args.at(1))) {
        Ok(value) => value.map_or(&[][..], |value| value.bytes),
        Err(_) => return reply.error(WRONG_TYPE),
    };
    if patch.is_empty() {
        return reply.unsigned(before.len() as u64);
    }
    if is_too_long(node, offset, patch.len()) {
        return reply.error(TOO_LONG);
    }
    let end = offset + patch.len();
    let mut bytes = Vec::with_capacity(before.len().max(end));
    bytes.extend_from_slice(before);
    bytes.resize(before.len().max(end), 0);
    bytes[offset..end].copy_from_slice(patch);
    let begin = reply.len();
    if write(node, args.at(1), &bytes, Expiry::Keep, begin, reply).is_ok() {
        reply.unsigned(bytes.len() as u64);
    }
}
