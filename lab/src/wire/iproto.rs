//! Tarantool's binary protocol. A function call becomes CALL; SET, GET and DEL become REPLACE, SELECT and DELETE on the
//! space of plain keys, without Lua, as Tarantool's own clients do it.

use std::fmt::Display;
use std::io::Write;

use rmp::Marker;
use rmp::decode::read_marker;
use rmp::encode::{write_array_len, write_map_len, write_str, write_u64, write_uint};

use super::{Sink, Step, Translator};
use crate::resp::{Stop, words};

/// Length of the server's greeting.
const GREETING_LEN: usize = 128;
/// Bytes of a packet's length: a marker and 32 bits.
const PREFIX_LEN: usize = 5;
const MARKER_U32: u8 = 0xCE;
/// Space of plain keys, as the procedures' script creates it.
const KEY_SPACE: u64 = 512;
/// Space of records with an index on the value, and the number of that index.
const RECORD_SPACE: u64 = 515;
const VALUE_INDEX: u64 = 1;
/// Most records that a search returns.
const FOUND_MAX: u64 = 10;
const DEPTH_MAX: u32 = 32;

/// Keys of headers and bodies.
mod key {
    pub(super) const TYPE: u64 = 0x00;
    pub(super) const SYNC: u64 = 0x01;
    pub(super) const SPACE: u64 = 0x10;
    pub(super) const INDEX: u64 = 0x11;
    pub(super) const LIMIT: u64 = 0x12;
    pub(super) const OFFSET: u64 = 0x13;
    pub(super) const ITERATOR: u64 = 0x14;
    pub(super) const KEY: u64 = 0x20;
    pub(super) const TUPLE: u64 = 0x21;
    pub(super) const FUNCTION: u64 = 0x22;
    pub(super) const DATA: u64 = 0x30;
    pub(super) const ERROR: u64 = 0x31;
}

/// Kind of request. It is stored in the upper half of the number that a reply repeats, the session in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    Select = 1,
    Replace = 3,
    Delete = 5,
    Call = 10,
    Ping = 64,
    /// SELECT that returns the keys that were found.
    Find = 0x101,
}

impl RequestKind {
    fn of(sync: u64) -> Option<RequestKind> {
        let all = [
            RequestKind::Select,
            RequestKind::Replace,
            RequestKind::Delete,
            RequestKind::Call,
            RequestKind::Ping,
            RequestKind::Find,
        ];
        all.into_iter().find(|one| *one as u64 == sync >> 32)
    }

    /// Returns the code of the request in the target's protocol.
    fn code(self) -> u64 {
        match self {
            RequestKind::Find => RequestKind::Select as u64,
            other => other as u64,
        }
    }
}

/// State of a connection.
#[derive(Debug, Default)]
pub(super) struct Iproto {
    is_greeted: bool,
}

impl Translator for Iproto {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[MARKER_U32, 0, 0, 0, 0]);
        let mut arguments = words(request);
        match arguments.next().unwrap_or_default() {
            b"PING" => {
                header(out, RequestKind::Ping, session);
                map(out, 0);
            }
            b"SET" => replace(out, session, KEY_SPACE, arguments),
            b"ENTITY.PUT" => replace(out, session, RECORD_SPACE, arguments),
            b"GET" => select(out, session, RequestKind::Select, arguments),
            b"ENTITY.FIND" => select(out, session, RequestKind::Find, arguments),
            name @ (b"MSET" | b"MGET" | b"SWAP_ALL") => {
                // Pass one argument, a list: the number of arguments of a procedure is limited.
                let name = name.to_ascii_lowercase();
                header(out, RequestKind::Call, session);
                map(out, 2);
                number(out, key::FUNCTION);
                text(out, &name);
                number(out, key::TUPLE);
                array(out, 1);
                array(out, arguments.len());
                arguments.for_each(|argument| text(out, argument));
            }
            b"DEL" => {
                header(out, RequestKind::Delete, session);
                map(out, 3);
                for value in [key::SPACE, KEY_SPACE, key::INDEX, 0, key::KEY] {
                    number(out, value);
                }
                array(out, 1);
                arguments.take(1).for_each(|argument| text(out, argument));
            }
            b"FCALL" => {
                // FCALL name 1 key argument ...
                let name = arguments.next().unwrap_or_default();
                arguments.next();
                call(out, session, name, arguments);
            }
            // Any other command of the lab is a procedure of that name.
            other => call(out, session, &other.to_ascii_lowercase(), arguments),
        }
        let length = u32::try_from(out.len() - start - PREFIX_LEN).unwrap_or(u32::MAX);
        out[start + 1..start + PREFIX_LEN].copy_from_slice(&length.to_be_bytes());
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        if !self.is_greeted {
            if bytes.len() < GREETING_LEN {
                return Err(Stop::Incomplete);
            }
            self.is_greeted = true;
            return Ok((GREETING_LEN, Step::Nothing));
        }
        let (prefix, rest) = bytes.split_at_checked(PREFIX_LEN).ok_or(Stop::Incomplete)?;
        let [MARKER_U32, length @ ..] = prefix else { return Err(Stop::Malformed) };
        let length = u32::from_be_bytes(length.try_into().map_err(|_| Stop::Malformed)?) as usize;
        let mut packet = rest.get(..length).ok_or(Stop::Incomplete)?;
        // The packet is complete: if a value is cut off in it, it is malformed.
        let sync = read_packet(&mut packet, sink.reply).ok_or(Stop::Malformed)?;
        let session = u32::try_from(sync & u64::from(u32::MAX)).map_err(|_| Stop::Malformed)?;
        Ok((PREFIX_LEN + length, Step::Answer(session)))
    }
}

fn header(out: &mut Vec<u8>, request: RequestKind, session: u32) {
    map(out, 2);
    number(out, key::TYPE);
    number(out, request.code());
    number(out, key::SYNC);
    let sync = (request as u64) << 32 | u64::from(session);
    write_u64(out, sync).expect("a vector takes every byte");
}

/// Writes a tuple of two fields to a space.
fn replace<'a>(
    out: &mut Vec<u8>,
    session: u32,
    space: u64,
    arguments: impl Iterator<Item = &'a [u8]>,
) {
    header(out, RequestKind::Replace, session);
    map(out, 2);
    number(out, key::SPACE);
    number(out, space);
    number(out, key::TUPLE);
    array(out, 2);
    arguments.take(2).for_each(|argument| text(out, argument));
}

/// Requests a plain key, or the records that have a value.
fn select<'a>(
    out: &mut Vec<u8>,
    session: u32,
    request: RequestKind,
    arguments: impl Iterator<Item = &'a [u8]>,
) {
    let (space, index, limit) = match request {
        RequestKind::Find => (RECORD_SPACE, VALUE_INDEX, FOUND_MAX),
        _ => (KEY_SPACE, 0, 1),
    };
    header(out, request, session);
    map(out, 6);
    for (name, value) in [
        (key::SPACE, space),
        (key::INDEX, index),
        (key::LIMIT, limit),
        (key::OFFSET, 0),
        (key::ITERATOR, 0),
    ] {
        number(out, name);
        number(out, value);
    }
    number(out, key::KEY);
    array(out, 1);
    arguments.take(1).for_each(|argument| text(out, argument));
}

fn call<'a>(
    out: &mut Vec<u8>,
    session: u32,
    name: &[u8],
    arguments: impl ExactSizeIterator<Item = &'a [u8]>,
) {
    header(out, RequestKind::Call, session);
    map(out, 2);
    number(out, key::FUNCTION);
    text(out, name);
    number(out, key::TUPLE);
    array(out, arguments.len());
    for argument in arguments {
        match decimal(argument) {
            Some(value) => number(out, value),
            None => text(out, argument),
        }
    }
}

/// Parses a number that a client of the target would send as an integer.
fn decimal(text: &[u8]) -> Option<u64> {
    let is_canonical = !text.is_empty() && (text.len() == 1 || text[0] != b'0');
    if !is_canonical || text.len() > 15 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |value, digit| 10 * value + u64::from(digit - b'0')))
}

fn map(out: &mut Vec<u8>, length: u32) {
    write_map_len(out, length).expect("a vector takes every byte");
}

fn array(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    write_array_len(out, length).expect("a vector takes every byte");
}

fn number(out: &mut Vec<u8>, value: u64) {
    write_uint(out, value).expect("a vector takes every byte");
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => write_str(out, text),
        Err(_) => rmp::encode::write_bin(out, bytes),
    }
    .expect("a vector takes every byte");
}

/// Parses header and body, writes the reply in RESP and returns the request number that it repeats.
fn read_packet(packet: &mut &[u8], reply: &mut Vec<u8>) -> Option<u64> {
    let mut sync = None;
    for _ in 0..map_len(packet)? {
        let name = uint(packet)?;
        let value = uint(packet)?;
        if name == key::SYNC {
            sync = Some(value);
        }
    }
    let sync = sync?;
    let request = RequestKind::of(sync)?;
    if request == RequestKind::Ping {
        reply.extend_from_slice(b"+PONG\r\n");
        return Some(sync);
    }
    for _ in 0..map_len(packet)? {
        match uint(packet)? {
            key::DATA => data(request, packet, reply)?,
            key::ERROR => {
                reply.extend_from_slice(b"-ERR ");
                let message = string(packet)?;
                reply.extend(message.iter().map(|&byte| if byte < b' ' { b' ' } else { byte }));
                reply.extend_from_slice(b"\r\n");
            }
            _ => skip(packet, reply)?,
        }
    }
    Some(sync)
}

/// Converts the rows that a request returned.
fn data(request: RequestKind, packet: &mut &[u8], reply: &mut Vec<u8>) -> Option<()> {
    let rows = array_len(packet)?;
    match request {
        RequestKind::Call if rows == 0 => reply.extend_from_slice(b"$-1\r\n"),
        RequestKind::Call => value(packet, reply, 0)?,
        RequestKind::Select if rows == 0 => reply.extend_from_slice(b"$-1\r\n"),
        RequestKind::Select => {
            // The key, and its value.
            let fields = array_len(packet)?;
            skip(packet, reply)?;
            value(packet, reply, 0)?;
            (2..fields).try_for_each(|_| skip(packet, reply))?;
        }
        RequestKind::Find => {
            line(reply, b'*', rows);
            for _ in 0..rows {
                let fields = array_len(packet)?;
                value(packet, reply, 0)?;
                (1..fields).try_for_each(|_| skip(packet, reply))?;
            }
        }
        RequestKind::Delete => line(reply, b':', rows),
        RequestKind::Replace | RequestKind::Ping => reply.extend_from_slice(b"+OK\r\n"),
    }
    let taken = match request {
        RequestKind::Call | RequestKind::Select => 1,
        RequestKind::Find => rows,
        _ => 0,
    };
    (taken.min(rows)..rows).try_for_each(|_| skip(packet, reply))
}

/// Converts one value to RESP. A map with only `err` is an error reply; false is nil, as in Redis's Lua.
fn value(packet: &mut &[u8], reply: &mut Vec<u8>, depth: u32) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let marker = marker(packet)?;
    if let Some(length) = length_of_string(marker, packet)? {
        line(reply, b'$', length);
        reply.extend_from_slice(packet.split_off(..length)?);
        reply.extend_from_slice(b"\r\n");
        return Some(());
    }
    match marker {
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
            let length = length_of_many(marker, packet)?;
            line(reply, b'*', length);
            (0..length).try_for_each(|_| value(packet, reply, depth + 1))
        }
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => {
            let length = length_of_many(marker, packet)?;
            let mut ahead = *packet;
            if length == 1 && string(&mut ahead) == Some(b"err") {
                *packet = ahead;
                let message = std::str::from_utf8(string(packet)?).ok()?;
                line(reply, b'-', message);
                return Some(());
            }
            line(reply, b'*', 2 * u64::from(length));
            (0..2 * u64::from(length)).try_for_each(|_| value(packet, reply, depth + 1))
        }
        Marker::Null | Marker::False => {
            reply.extend_from_slice(b"$-1\r\n");
            Some(())
        }
        Marker::True => {
            line(reply, b':', "1");
            Some(())
        }
        Marker::F32 | Marker::F64 => {
            let number = float(marker, packet)?;
            line(reply, b',', number);
            Some(())
        }
        _ => {
            line(reply, b':', integer(marker, packet)?);
            Some(())
        }
    }
}

fn line(reply: &mut Vec<u8>, kind: u8, text: impl Display) {
    reply.push(kind);
    write!(reply, "{text}\r\n").expect("a vector takes every byte");
}

/// Skips a value.
fn skip(packet: &mut &[u8], reply: &mut Vec<u8>) -> Option<()> {
    let length = reply.len();
    value(packet, reply, 0)?;
    reply.truncate(length);
    Some(())
}

fn be<const LENGTH: usize>(packet: &mut &[u8]) -> Option<[u8; LENGTH]> {
    packet.split_off(..LENGTH)?.try_into().ok()
}

fn integer(marker: Marker, packet: &mut &[u8]) -> Option<i128> {
    Some(match marker {
        Marker::FixPos(value) => value.into(),
        Marker::FixNeg(value) => value.into(),
        Marker::U8 => u8::from_be_bytes(be(packet)?).into(),
        Marker::U16 => u16::from_be_bytes(be(packet)?).into(),
        Marker::U32 => u32::from_be_bytes(be(packet)?).into(),
        Marker::U64 => u64::from_be_bytes(be(packet)?).into(),
        Marker::I8 => i8::from_be_bytes(be(packet)?).into(),
        Marker::I16 => i16::from_be_bytes(be(packet)?).into(),
        Marker::I32 => i32::from_be_bytes(be(packet)?).into(),
        Marker::I64 => i64::from_be_bytes(be(packet)?).into(),
        _ => return None,
    })
}

fn float(marker: Marker, packet: &mut &[u8]) -> Option<f64> {
    Some(match marker {
        Marker::F32 => f32::from_be_bytes(be(packet)?).into(),
        _ => f64::from_be_bytes(be(packet)?),
    })
}

fn uint(packet: &mut &[u8]) -> Option<u64> {
    let marker = marker(packet)?;
    u64::try_from(integer(marker, packet)?).ok()
}

fn marker(packet: &mut &[u8]) -> Option<Marker> {
    read_marker(packet).ok()
}

fn string<'a>(packet: &mut &'a [u8]) -> Option<&'a [u8]> {
    let marker = marker(packet)?;
    let length = length_of_string(marker, packet)??;
    packet.split_off(..length)
}

/// Returns the length of a string. The outer option is None when bytes are missing, the inner one when the value is no
/// string.
fn length_of_string(marker: Marker, packet: &mut &[u8]) -> Option<Option<usize>> {
    let length = match marker {
        Marker::FixStr(length) => u32::from(length),
        Marker::Str8 | Marker::Bin8 => u8::from_be_bytes(be(packet)?).into(),
        Marker::Str16 | Marker::Bin16 => u16::from_be_bytes(be(packet)?).into(),
        Marker::Str32 | Marker::Bin32 => u32::from_be_bytes(be(packet)?),
        _ => return Some(None),
    };
    Some(Some(usize::try_from(length).ok()?))
}

fn length_of_many(marker: Marker, packet: &mut &[u8]) -> Option<u32> {
    Some(match marker {
        Marker::FixArray(length) | Marker::FixMap(length) => length.into(),
        Marker::Array16 | Marker::Map16 => u16::from_be_bytes(be(packet)?).into(),
        Marker::Array32 | Marker::Map32 => u32::from_be_bytes(be(packet)?),
        _ => return None,
    })
}

fn array_len(packet: &mut &[u8]) -> Option<u32> {
    let marker = marker(packet)?;
    let is_array = matches!(marker, Marker::FixArray(_) | Marker::Array16 | Marker::Array32);
    if is_array { length_of_many(marker, packet) } else { None }
}

fn map_len(packet: &mut &[u8]) -> Option<u32> {
    let marker = marker(packet)?;
    let is_map = matches!(marker, Marker::FixMap(_) | Marker::Map16 | Marker::Map32);
    if is_map { length_of_many(marker, packet) } else { None }
}

#[cfg(test)]
mod tests;
