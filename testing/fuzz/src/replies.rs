//! The reply writer: whatever texts and numbers it gets, a client reads complete replies.

use crate::wire::assert_replies;
use scurry_resp::{Protocol, Reply};

/// Maximum number of replies in one input.
const REPLIES_MAX: usize = 64;
/// Maximum nesting of an input's arrays, within the bound of the reader in `wire.rs`.
const DEPTH_MAX: usize = 6;

/// Runs the input as a program for the writer: a sequence of operations with operands.
pub fn check(data: &[u8]) {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let (mut out, mut rest, mut count) = (Vec::new(), data, 0);
        let mut reply = Reply::new(&mut out, protocol);
        while !rest.is_empty() && count < REPLIES_MAX {
            write(&mut reply, &mut rest, 0);
            count += 1;
        }
        assert_replies(&out, protocol, count);
    }
}

/// Takes this many bytes of the input, or the rest.
fn read_up_to<'a>(rest: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at(len.min(rest.len()));
    *rest = left;
    taken
}

fn number(rest: &mut &[u8]) -> i64 {
    read_up_to(rest, 8).iter().fold(0, |number, &byte| number << 8 | i64::from(byte))
}

fn text<'a>(rest: &mut &'a [u8]) -> std::borrow::Cow<'a, str> {
    let len = read_up_to(rest, 1).first().copied().unwrap_or_default();
    String::from_utf8_lossy(read_up_to(rest, usize::from(len)))
}

/// Writes one reply. Elements that are missing in the input are nulls.
fn write(reply: &mut Reply<'_>, rest: &mut &[u8], depth: usize) {
    let Some(&operation) = read_up_to(rest, 1).first() else { return reply.null() };
    let len = usize::from(operation >> 4);
    match operation & 0x0f {
        0 => reply.ok(),
        1 => reply.simple(&text(rest).replace(['\r', '\n'], "")),
        2 => reply.error(text(rest)),
        3 => reply.integer(number(rest)),
        4 => reply.unsigned(number(rest).unsigned_abs()),
        5 => reply.big(i128::from(number(rest)) * i128::from(number(rest))),
        6 => reply.bulk(text(rest).as_bytes()),
        7 => reply.verbatim(&text(rest)),
        8 => reply.null(),
        9 => reply.null_array(),
        10 => reply.boolean(len > 0),
        11 => {
            let before = reply.len();
            reply.text(&text(rest));
            reply.truncate(before);
            reply.null();
        }
        kind if depth < DEPTH_MAX => {
            let elements = match kind {
                12 | 13 => {
                    reply.array(len);
                    len
                }
                14 => {
                    reply.set(len);
                    len
                }
                _ => {
                    reply.map(len);
                    2 * len
                }
            };
            (0..elements).for_each(|_| write(reply, rest, depth + 1));
        }
        _ => reply.null(),
    }
}
