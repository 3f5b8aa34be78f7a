//! Bytes of stored answers: little-endian words and LEB128 numbers. Reading never panics: a short input reads as zeros,
//! and the `is_whole` style checks on loading find it first.

use crate::{Cause, Code, Final, ItemAnswer, ItemAnswers, Name, Time};
use smallvec::SmallVec;

/// Packed bytes before they are added to a run of records; the usual sizes need no heap.
pub(super) type Packed = SmallVec<[u8; 48]>;

/// A cursor over packed bytes.
pub(super) struct PackReader<'a>(pub(super) &'a [u8]);

impl<'a> PackReader<'a> {
    pub(super) fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(len.min(self.0.len()));
        self.0 = tail;
        head
    }

    pub(super) fn word<const N: usize>(&mut self) -> u64 {
        let mut word = [0; 8];
        // A fixed length lets the compiler use one load.
        if let Some((bytes, rest)) = self.0.split_first_chunk::<N>() {
            word[..N].copy_from_slice(bytes);
            self.0 = rest;
        } else {
            let bytes = self.bytes(N);
            word[..bytes.len()].copy_from_slice(bytes);
        }
        u64::from_le_bytes(word)
    }

    pub(super) fn u8(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::try_from(self.word::<2>()).unwrap_or(0)
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::try_from(self.word::<4>()).unwrap_or(0)
    }

    pub(super) fn varint(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8();
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    pub(super) fn amount(&mut self) -> i64 {
        i64::try_from(self.varint()).unwrap_or(i64::MAX)
    }

    pub(super) fn signed(&mut self) -> i64 {
        let zigzag = self.varint();
        #[expect(clippy::cast_possible_wrap, reason = "zigzag: the sign is the lowest bit")]
        let value = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        value
    }
}

pub(super) fn put_varint(out: &mut Packed, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Writes an amount that is never negative.
pub(super) fn put_amount(out: &mut Packed, amount: i64) {
    debug_assert!(amount >= 0);
    put_varint(out, u64::try_from(amount).unwrap_or(0));
}

#[expect(clippy::cast_sign_loss, reason = "zigzag: the sign moves to the lowest bit")]
pub(super) fn put_signed(out: &mut Packed, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Returns the two bits for a code that an answer can carry. Persisted.
pub(super) fn code_bits(code: Code) -> u8 {
    match code {
        Code::ServiceDenied => 1,
        Code::CreditLimitReached => 2,
        Code::ChainDenied => 3,
        _ => {
            debug_assert!(code == Code::Ok);
            0
        }
    }
}

pub(super) fn code_from_bits(bits: u8) -> Code {
    match bits & 3 {
        1 => Code::ServiceDenied,
        2 => Code::CreditLimitReached,
        3 => Code::ChainDenied,
        _ => Code::Ok,
    }
}

const LAST: u8 = 1 << 2;
const GRANTED: u8 = 1 << 3;
/// Of a denied item, which is granted nothing: others hold what it lacks.
const DENIED_HELD: u8 = GRANTED;
const UNCOLLECTED: u8 = 1 << 4;
/// The number of a cause takes three bits above the flags.
const CAUSE_SHIFT: u32 = 5;
/// In the place of the cause of an item that is not denied: others hold the rest.
const HELD: u8 = 1 << CAUSE_SHIFT;

/// Writes an item: one byte of flags, then the amounts that are not 0, then the limit that denied and its time. At most
/// 19 bytes; 34 if a limit denied, since it grants nothing.
pub(super) fn put_item(out: &mut Packed, item: &ItemAnswer) {
    let mut flags = match item.code {
        Code::Ok => 0,
        code => code_bits(code) | item.cause.number(code) << CAUSE_SHIFT,
    };
    match item.last {
        Final::No => {}
        Final::Last => flags |= LAST,
        Final::Held => flags |= LAST | if item.code == Code::Ok { HELD } else { DENIED_HELD },
    }
    if item.granted != 0 {
        debug_assert!(item.code == Code::Ok, "a denied item is granted nothing");
        flags |= GRANTED;
    }
    if item.uncollected != 0 {
        flags |= UNCOLLECTED;
    }
    out.push(flags);
    if item.granted != 0 {
        put_amount(out, item.granted);
    }
    if item.uncollected != 0 {
        put_amount(out, item.uncollected);
    }
    put_named(out, item.cause);
}

/// Writes what follows the number of a cause: the length and the name of the limit or the bucket that denied, and when
/// the limit allows it.
#[inline]
pub(super) fn put_named(out: &mut Packed, cause: Cause) {
    if let Some(name) = cause.name() {
        put_name(out, &name, cause.allowed_at());
    }
}

#[cold]
fn put_name(out: &mut Packed, name: &Name, allowed_at: Option<Time>) {
    out.push(name.byte_len() as u8);
    out.extend_from_slice(name.as_bytes());
    if let Some(Time(ms)) = allowed_at {
        put_amount(out, ms);
    }
}

/// Reads the cause of a number; what it names follows the number.
pub(super) fn take_cause(reader: &mut PackReader<'_>, number: u8, code: Code) -> Cause {
    let name = if Cause::has_name(number) {
        let len = usize::from(reader.u8());
        Name::new(reader.bytes(len))
    } else {
        None
    };
    let time = Cause::has_time(number).then(|| Time(reader.amount()));
    Cause::from_number(number, code, name, time).unwrap_or(Cause::of(code))
}

/// Reads the items that fill the rest of a record.
pub(super) fn take_items(reader: &mut PackReader<'_>) -> ItemAnswers {
    let mut items = ItemAnswers::new();
    while !reader.0.is_empty() {
        let flags = reader.u8();
        let code = code_from_bits(flags);
        let (is_ok, has) = (code == Code::Ok, |flag| flags & flag != 0);
        items.push(ItemAnswer {
            code,
            last: match (has(LAST), has(if is_ok { HELD } else { DENIED_HELD })) {
                (false, _) => Final::No,
                (true, false) => Final::Last,
                (true, true) => Final::Held,
            },
            granted: if is_ok && has(GRANTED) { reader.amount() } else { 0 },
            uncollected: if has(UNCOLLECTED) { reader.amount() } else { 0 },
            cause: take_cause(reader, if is_ok { 0 } else { flags >> CAUSE_SHIFT }, code),
        });
    }
    items
}

/// Returns the bytes after a varint; `None` if it does not end or is longer than 64 bits need.
pub(super) fn skip_varint(bytes: &[u8]) -> Option<&[u8]> {
    let last = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    bytes.get(last + 1..)
}

/// Reports whether the bytes are items and nothing else.
pub(super) fn items_are_whole(mut bytes: &[u8]) -> bool {
    while let Some((&flags, mut rest)) = bytes.split_first() {
        let code = code_from_bits(flags);
        let (is_ok, has) = (code == Code::Ok, |flag| flags & flag != 0);
        for follows in [is_ok && has(GRANTED), has(UNCOLLECTED)] {
            if follows {
                let Some(behind) = skip_varint(rest) else { return false };
                rest = behind;
            }
        }
        // Others hold the rest only of what is final.
        let is_held = has(if is_ok { HELD } else { DENIED_HELD });
        let number = flags >> CAUSE_SHIFT;
        let number = if is_ok && is_held { number & !1 } else { number };
        let Some(behind) = skip_cause(rest, number, code).filter(|_| !is_held || has(LAST)) else {
            return false;
        };
        bytes = behind;
    }
    true
}

/// Returns the bytes after the name and the time that may follow the number of a cause; `None` if the cause is not valid.
fn skip_cause(bytes: &[u8], number: u8, code: Code) -> Option<&[u8]> {
    if number == 0 {
        return Some(bytes);
    }
    let mut reader = PackReader(bytes);
    let name = if Cause::has_name(number) {
        let len = usize::from(reader.u8());
        Some(Name::new(reader.bytes(len)).filter(|name| name.byte_len() == len)?)
    } else {
        None
    };
    let mut rest = reader.0;
    let mut time = None;
    if Cause::has_time(number) {
        rest = skip_varint(rest)?;
        time = Some(Time(reader.amount())).filter(|&time| time <= Time::LAST);
    }
    Cause::from_number(number, code, name, time)?;
    Some(rest)
}
