//! Bytes of the tombstones and transactions in a Change.

use crate::Malformed;
use crate::cursor::Cursor;
use crate::pen::FieldWriter;
use alloc::string::ToString;
use alloc::vec::Vec;
use scurry_ledger::{
    BucketNo, Cause, Code, CodeKind, DebitPart, DebitedItem, Denial, Final, ItemAnswer,
    ItemAnswers, ItemKey, Name, RequestKind, RequestName, Time, Tombstone, TombstoneKind,
    Transaction,
};

const EXPIRED: u8 = 0;
const RELEASED: u8 = 1;
const ANSWERED: u8 = 2;
/// A transfer that the payee refused. It never has a highest answered request number.
const RETURNED: u8 = 6;
/// Added to the kind if the highest answered request number follows.
const WITH_LAST: u8 = 3;

/// Flags of an item of an answer. An amount of 0 has no flag and no bytes.
const LAST: u8 = 1;
const GRANTED: u8 = 2;
const UNCOLLECTED: u8 = 4;
/// The number of the cause of a denial takes three bits above the flags.
const CAUSE_SHIFT: u32 = 3;
const CAUSE_MASK: u8 = 7;
/// Beside [`LAST`]: others hold the rest.
const HELD: u8 = 1 << 6;
const ALL: u8 = LAST | GRANTED | UNCOLLECTED | CAUSE_MASK << CAUSE_SHIFT | HELD;

pub(super) fn put_tombstone(pen: &mut FieldWriter<'_>, tombstone: &Tombstone, at: Time) {
    pen.string(tombstone.id.as_bytes());
    pen.time(tombstone.forget_at, at);
    debug_assert!(tombstone.late.is_empty(), "late use is noted by facts of its own");
    let kind = match &tombstone.kind {
        TombstoneKind::Expired => EXPIRED,
        TombstoneKind::Released => RELEASED,
        TombstoneKind::Answered { .. } => ANSWERED,
        TombstoneKind::Returned { .. } => RETURNED,
        TombstoneKind::Unknown => {
            unreachable!("it begins with late use, which has a fact of its own")
        }
    };
    match tombstone.last {
        Some(last) => pen.fields(|line| {
            line.byte(kind + WITH_LAST);
            line.varint(name_number(last));
        }),
        None => pen.byte(kind),
    }
    if let TombstoneKind::Answered { request, digest, code, items } = &tombstone.kind {
        pen.varint(name_number(*request));
        pen.bytes(&digest.to_le_bytes());
        pen.byte(*code as u8);
        pen.varint(items.len() as u64);
        for item in items {
            put_item(pen, item);
        }
    }
    if let TombstoneKind::Returned { digest, refusal } = &tombstone.kind {
        pen.bytes(&digest.to_le_bytes());
        pen.byte(*refusal as u8);
    }
}

/// Returns the number of a request's name: its kind is in the two lowest bits.
fn name_number(name: RequestName) -> u64 {
    u64::from(name.number) << 2 | u64::from(name.kind as u8)
}

fn take_name(from: &mut Cursor<'_>) -> Result<RequestName, Malformed> {
    let number = from.varint()?;
    let kind = RequestKind::from_number((number & 3) as u8).ok_or(Malformed::Choice)?;
    let number = u32::try_from(number >> 2).map_err(|_| Malformed::Number)?;
    Ok(RequestName { number, kind })
}

pub(super) fn take_tombstone(from: &mut Cursor<'_>, at: Time) -> Result<Tombstone, Malformed> {
    let (id, forget_at) = (from.id()?, from.time(at)?);
    let kind = from.byte()?;
    let has_last = (WITH_LAST..2 * WITH_LAST).contains(&kind);
    let last = has_last.then(|| take_name(from)).transpose()?;
    let kind = match if has_last { kind - WITH_LAST } else { kind } {
        EXPIRED => TombstoneKind::Expired,
        RELEASED => TombstoneKind::Released,
        ANSWERED => TombstoneKind::Answered {
            request: take_name(from)?,
            digest: take_digest(from)?,
            code: take_code(from)?,
            items: take_items(from)?,
        },
        RETURNED => TombstoneKind::Returned {
            digest: take_digest(from)?,
            refusal: Code::from_number(from.byte()?).ok_or(Malformed::Choice)?,
        },
        _ => return Err(Malformed::Choice),
    };
    Ok(Tombstone::new(id, forget_at, kind, last))
}

pub(super) fn put_transaction(pen: &mut FieldWriter<'_>, transaction: &Transaction, at: Time) {
    pen.string(transaction.id.as_bytes());
    pen.time(transaction.forget_at, at);
    pen.bytes(&transaction.digest.to_le_bytes());
    pen.byte(transaction.code as u8);
    pen.varint(transaction.version);
    pen.signed(transaction.amount);
    pen.varint(transaction.parts.len() as u64);
    for part in &transaction.parts {
        pen.fields(|line| {
            line.varint(u64::from(part.bucket.0));
            line.amount(part.amount);
            line.amount(part.refunded);
        });
    }
}

pub(super) fn take_transaction(from: &mut Cursor<'_>, at: Time) -> Result<Transaction, Malformed> {
    let mut transaction = Transaction {
        id: from.id()?,
        forget_at: from.time(at)?,
        digest: take_digest(from)?,
        code: take_code(from)?,
        version: from.varint()?,
        amount: from.signed()?,
        cause: Cause::None,
        parts: Vec::new(),
        items: Vec::new(),
    };
    transaction.cause = Cause::of(transaction.code);
    for _ in 0..from.varint()? {
        transaction.parts.push(DebitPart {
            item: 0,
            bucket: BucketNo(from.narrow()?),
            amount: from.amount()?,
            refunded: from.amount()?,
        });
    }
    Ok(transaction)
}

/// Writes a debit of items: after the transaction, the key and unit of each item and the number of its parts.
pub(super) fn put_items_debited(pen: &mut FieldWriter<'_>, transaction: &Transaction, at: Time) {
    put_transaction(pen, transaction, at);
    pen.varint(transaction.items.len() as u64);
    for (place, DebitedItem { key, unit }) in transaction.items.iter().enumerate() {
        pen.string(key.to_string().as_bytes());
        pen.name(unit);
        let parts = transaction.parts.iter().filter(|part| usize::from(part.item) == place);
        pen.varint(parts.count() as u64);
    }
}

pub(super) fn take_items_debited(
    from: &mut Cursor<'_>,
    at: Time,
) -> Result<Transaction, Malformed> {
    let mut transaction = take_transaction(from, at)?;
    let mut parts = transaction.parts.iter_mut();
    for place in 0..from.varint()? {
        let item = u8::try_from(place).map_err(|_| Malformed::Number)?;
        let key = ItemKey::new(from.string()?).ok_or(Malformed::Id)?;
        transaction.items.push(DebitedItem { key, unit: from.name()? });
        for _ in 0..from.varint()? {
            parts.next().ok_or(Malformed::Number)?.item = item;
        }
    }
    if transaction.items.is_empty() || parts.next().is_some() {
        return Err(Malformed::Number);
    }
    Ok(transaction)
}

/// Writes a transaction whose cause does not follow from its code.
pub(super) fn put_denied(pen: &mut FieldWriter<'_>, transaction: &Transaction, at: Time) {
    put_transaction(pen, transaction, at);
    pen.byte(transaction.cause.number(transaction.code));
    put_named(pen, transaction.cause);
}

pub(super) fn take_denied(from: &mut Cursor<'_>, at: Time) -> Result<Transaction, Malformed> {
    let mut transaction = take_transaction(from, at)?;
    let number = from.byte()?;
    if number == 0 {
        return Err(Malformed::Choice);
    }
    transaction.cause = take_cause(from, number, transaction.code)?;
    Ok(transaction)
}

/// Writes a denial: the key of the item, or nothing, the unit, which may be empty, the amount, the code and the cause.
pub(super) fn put_denial(pen: &mut FieldWriter<'_>, denial: &Denial) {
    let Denial { item, unit, requested, code, cause, left_out } = denial;
    match item {
        Some(key) => pen.string(key.to_string().as_bytes()),
        None => pen.string(&[]),
    }
    pen.string(unit.as_bytes());
    pen.fields(|line| {
        line.amount(*requested);
        line.byte(*code as u8);
        line.byte(cause.number(*code));
    });
    put_named(pen, *cause);
    pen.varint(u64::from(*left_out));
}

pub(super) fn take_denial(from: &mut Cursor<'_>) -> Result<Denial, Malformed> {
    let item = match from.string()? {
        [] => None,
        key => Some(ItemKey::new(key).ok_or(Malformed::Id)?),
    };
    let unit = match from.string()? {
        [] => Name::EMPTY,
        unit => Name::new(unit).ok_or(Malformed::Name)?,
    };
    let (requested, code, number) = (from.amount()?, take_code(from)?, from.byte()?);
    if code == Code::Ok {
        return Err(Malformed::Choice);
    }
    let cause = take_cause(from, number, code)?;
    Ok(Denial { item, unit, requested, code, cause, left_out: from.narrow()? })
}

/// Writes what follows the number of a cause: the limit or the bucket that denied, and when the limit allows it.
fn put_named(pen: &mut FieldWriter<'_>, cause: Cause) {
    if let Some(name) = cause.name() {
        pen.name(&name);
    }
    if let Some(Time(ms)) = cause.allowed_at() {
        pen.varint(u64::try_from(ms).unwrap_or(0));
    }
}

fn take_cause(from: &mut Cursor<'_>, number: u8, code: Code) -> Result<Cause, Malformed> {
    let name = if Cause::has_name(number) { Some(from.name()?) } else { None };
    let mut time = None;
    if Cause::has_time(number) {
        let ms = i64::try_from(from.varint()?).map_err(|_| Malformed::Number)?;
        time = Some(Time(ms)).filter(|&time| time <= Time::LAST);
    }
    Cause::from_number(number, code, name, time).ok_or(Malformed::Choice)
}

fn put_item(pen: &mut FieldWriter<'_>, item: &ItemAnswer) {
    let mut flags = 0;
    match item.last {
        Final::No => {}
        Final::Last => flags |= LAST,
        Final::Held => flags |= LAST | HELD,
    }
    if item.granted != 0 {
        flags |= GRANTED;
    }
    if item.uncollected != 0 {
        flags |= UNCOLLECTED;
    }
    flags |= item.cause.number(item.code) << CAUSE_SHIFT;
    pen.fields(|line| {
        line.byte(flags);
        line.byte(item.code as u8);
        if item.granted != 0 {
            line.amount(item.granted);
        }
        if item.uncollected != 0 {
            line.amount(item.uncollected);
        }
    });
    put_named(pen, item.cause);
}

fn take_items(from: &mut Cursor<'_>) -> Result<ItemAnswers, Malformed> {
    let mut items = ItemAnswers::new();
    for _ in 0..from.varint()? {
        let flags = from.byte()?;
        if flags & !ALL != 0 {
            return Err(Malformed::Choice);
        }
        let code = take_code(from)?;
        items.push(ItemAnswer {
            code,
            last: match flags & (LAST | HELD) {
                0 => Final::No,
                LAST => Final::Last,
                HELD => return Err(Malformed::Choice),
                _ => Final::Held,
            },
            granted: take_amount(from, flags & GRANTED != 0)?,
            uncollected: take_amount(from, flags & UNCOLLECTED != 0)?,
            cause: take_cause(from, flags >> CAUSE_SHIFT & CAUSE_MASK, code)?,
        });
    }
    Ok(items)
}

/// Reads an amount; an amount of 0 must be left out.
fn take_amount(from: &mut Cursor<'_>, follows: bool) -> Result<i64, Malformed> {
    match follows.then(|| from.amount()).transpose()? {
        Some(0) => Err(Malformed::Number),
        amount => Ok(amount.unwrap_or(0)),
    }
}

/// Reads a code: only OK and denials are remembered.
fn take_code(from: &mut Cursor<'_>) -> Result<Code, Malformed> {
    let code = Code::from_number(from.byte()?).filter(|code| code.kind() != CodeKind::Reject);
    code.ok_or(Malformed::Choice)
}

fn take_digest(from: &mut Cursor<'_>) -> Result<u64, Malformed> {
    let mut word = [0; 8];
    word.copy_from_slice(from.bytes(8)?);
    Ok(u64::from_le_bytes(word))
}
