//! OBJECT and MEMORY USAGE: how a key is stored.

use super::{NOT_AN_INTEGER, SYNTAX_ERROR};
use crate::execute::node::Node;
use scurry_engine::KeyKind;
use scurry_resp::{Args, Reply, parse_integer};

/// Longest value that Redis stores in one allocation with its header, bytes.
const EMBEDDED_LEN_MAX: usize = 44;
const FREQUENCY: &str = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.";
const IDLE_TIME: &str = "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.";

fn kind(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) -> Option<KeyKind> {
    let kind = node.shard.kind(node.now.time, node.shard.key(args.at(2)));
    if kind.is_none() {
        reply.null();
    }
    kind
}

pub(crate) fn encoding(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let Some(kind) = kind(node, args, reply) else { return };
    let value = node.shard.value(node.now.time, node.shard.key(args.at(2)));
    reply.text(match (kind, value) {
        (KeyKind::Account, _) => "image",
        (KeyKind::Entity, _) => "record",
        (_, Ok(Some(value))) if parse_integer(value.bytes).is_some() => "int",
        (_, Ok(Some(value))) if value.bytes.len() <= EMBEDDED_LEN_MAX => "embstr",
        _ => "raw",
    });
}

pub(crate) fn reference_count(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if kind(node, args, reply).is_some() {
        reply.integer(1);
    }
}

pub(crate) fn frequency(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if kind(node, args, reply).is_some() {
        reply.error(FREQUENCY);
    }
}

pub(crate) fn idle_time(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if kind(node, args, reply).is_some() {
        reply.error(IDLE_TIME);
    }
}

pub(crate) fn memory_usage(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let mut words = args.iter_from(3);
    while let Some(word) = words.next() {
        let Some(number) = words.next().filter(|_| word.eq_ignore_ascii_case(b"SAMPLES")) else {
            return reply.error(SYNTAX_ERROR);
        };
        match parse_integer(number) {
            Some(0..) => {}
            Some(_) => return reply.error(SYNTAX_ERROR),
            None => return reply.error(NOT_AN_INTEGER),
        }
    }
    match node.shard.memory_usage(node.now.time, node.shard.key(args.at(2))) {
        Some(bytes) => reply.unsigned(bytes),
        None => reply.null(),
    }
}
