//! Short lists: LPUSH, LRANGE and their like.

use super::wrong_arity;
use super::{NOT_AN_INTEGER, WRONG_TYPE, write_error};
use crate::node::Node;
use scurry_codec::List;
use scurry_engine::{End, WrongType};
use scurry_resp::table::Spec;
use scurry_resp::{Args, Reply, parse_integer};
use std::ops::Range;

fn list<'n>(node: &'n Node, key: &[u8]) -> Result<Option<List<'n>>, WrongType> {
    node.shard.list(node.now.time, node.first_key(key))
}

/// As [`list`], for a command that only reads: it counts as a hit or a miss.
fn seen<'n>(node: &'n mut Node, key: &[u8]) -> Result<Option<List<'n>>, WrongType> {
    let list = node.shard.list(node.now.time, node.first_key(key))?;
    match list {
        Some(_) => node.counters.hits += 1,
        None => node.counters.misses += 1,
    }
    Ok(list)
}

/// LPUSH and RPUSH.
pub(crate) fn push(node: &mut Node, end: End, args: Args<'_>, reply: &mut Reply<'_>) {
    let elements: Vec<&[u8]> = args.iter_from(2).collect();
    let key = node.first_key(args.at(1));
    match node.shard.list_push(node.now.time, key, end, &elements) {
        Ok(len) => reply.unsigned(len as u64),
        Err(error) => write_error(error, reply),
    }
}

/// LPUSHX and RPUSHX.
pub(crate) fn push_present(node: &mut Node, end: End, args: Args<'_>, reply: &mut Reply<'_>) {
    match list(node, args.at(1)) {
        Ok(Some(_)) => push(node, end, args, reply),
        Ok(None) => reply.integer(0),
        Err(_) => reply.error(WRONG_TYPE),
    }
}

/// LPOP and RPOP.
pub(crate) fn pop(
    node: &mut Node,
    spec: &'static Spec,
    end: End,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    let count = match args.get(2).map(|count| parse_integer(count).map(usize::try_from)) {
        _ if args.len() > 3 => return reply.error(wrong_arity(spec)),
        None => None,
        Some(Some(Ok(count))) => Some(count),
        Some(_) => return reply.error("ERR value is out of range, must be positive"),
    };
    let kept = match list(node, args.at(1)) {
        Ok(Some(list)) => {
            let popped = count.unwrap_or(1).min(list.len());
            if count.is_some() {
                reply.array(popped);
            }
            match end {
                End::Head => {
                    list.iter().take(popped).for_each(|element| reply.bulk(element));
                    popped..list.len()
                }
                End::Tail => {
                    let kept = list.len() - popped;
                    let popped: Vec<&[u8]> = list.iter().skip(kept).collect();
                    popped.iter().rev().for_each(|element| reply.bulk(element));
                    0..kept
                }
            }
        }
        Ok(None) if count.is_some() => return reply.null_array(),
        Ok(None) => return reply.null(),
        Err(_) => return reply.error(WRONG_TYPE),
    };
    let key = node.first_key(args.at(1));
    // It was there, and is shorter than it was: nothing refuses that.
    let _ = node.shard.list_keep(node.now.time, key, kept);
}

pub(crate) fn len(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match seen(node, args.at(1)) {
        Ok(list) => reply.unsigned(list.map_or(0, |list| list.len()) as u64),
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn range(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let (Some(first), Some(last)) = (parse_integer(args.at(2)), parse_integer(args.at(3))) else {
        return reply.error(NOT_AN_INTEGER);
    };
    match seen(node, args.at(1)) {
        Ok(list) => {
            let list = list.unwrap_or_default();
            let places = places(&list, first, last);
            reply.array(places.len());
            list.iter().take(places.end).skip(places.start).for_each(|element| reply.bulk(element));
        }
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn index(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match (seen(node, args.at(1)), parse_integer(args.at(2))) {
        (Ok(None), _) => reply.null(),
        (Ok(Some(_)), None) => reply.error(NOT_AN_INTEGER),
        (Ok(Some(list)), Some(at)) => match place(&list, at).and_then(|at| list.iter().nth(at)) {
            Some(element) => reply.bulk(element),
            None => reply.null(),
        },
        (Err(_), _) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn set(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let at = match (list(node, args.at(1)), parse_integer(args.at(2))) {
        (Ok(None), _) => return reply.error("ERR no such key"),
        (Ok(Some(_)), None) => return reply.error(NOT_AN_INTEGER),
        (Ok(Some(list)), Some(at)) => place(&list, at),
        (Err(_), _) => return reply.error(WRONG_TYPE),
    };
    let key = node.first_key(args.at(1));
    match at.map(|at| node.shard.list_set(node.now.time, key, at, args.at(3))) {
        None | Some(Ok(false)) => reply.error("ERR index out of range"),
        Some(Ok(true)) => reply.ok(),
        Some(Err(error)) => write_error(error, reply),
    }
}

pub(crate) fn remove(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let Some(count) = parse_integer(args.at(2)) else { return reply.error(NOT_AN_INTEGER) };
    if count == i64::MIN {
        let max = i64::MAX;
        let text = format!("ERR value is out of range, value must between {} and {max}", -max);
        return reply.error(text);
    }
    let from = if count < 0 { End::Tail } else { End::Head };
    // 0 stands for all.
    let max = match count.unsigned_abs() {
        0 => usize::MAX,
        count => usize::try_from(count).unwrap_or(usize::MAX),
    };
    let key = node.first_key(args.at(1));
    match node.shard.list_remove(node.now.time, key, args.at(3), from, max) {
        Ok(removed) => reply.unsigned(removed as u64),
        Err(error) => write_error(error, reply),
    }
}

pub(crate) fn trim(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let (Some(first), Some(last)) = (parse_integer(args.at(2)), parse_integer(args.at(3))) else {
        return reply.error(NOT_AN_INTEGER);
    };
    let kept = match list(node, args.at(1)) {
        Ok(list) => places(&list.unwrap_or_default(), first, last),
        Err(_) => return reply.error(WRONG_TYPE),
    };
    let key = node.first_key(args.at(1));
    match node.shard.list_keep(node.now.time, key, kept) {
        Ok(()) => reply.ok(),
        Err(error) => write_error(error, reply),
    }
}

/// Where an element is, if there is one; a negative place counts from the tail.
fn place(list: &List<'_>, at: i64) -> Option<usize> {
    let at = match usize::try_from(at) {
        Ok(at) => at,
        Err(_) => list.len().checked_sub(usize::try_from(at.unsigned_abs()).ok()?)?,
    };
    (at < list.len()).then_some(at)
}

/// The places from one to another, both included; negative ones count from the tail.
fn places(list: &List<'_>, first: i64, last: i64) -> Range<usize> {
    let len = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let from_head = |at: i64| if at < 0 { at.saturating_add(len) } else { at };
    let end = from_head(last).saturating_add(1).clamp(0, len);
    let start = from_head(first).clamp(0, end);
    let place = |at: i64| usize::try_from(at).unwrap_or_default();
    place(start)..place(end)
}
