//! Bytes of the limit that an op sets, and of the periods of limits and counters.

use crate::Malformed;
use crate::cursor::Cursor;
use crate::cycle::{
    CycleBytes, EXTENDED, plain_counter_number, plain_number, plain_period, take_cycle,
};
use crate::pen::FieldWriter;
use crate::window::{WindowBytes, take_window};
use scurry_ledger::{Cycle, ItemId, ItemKey, Limit, LimitSubject, Period, Time, Window, Zone};

/// Numbers of the things that a limit counts. Persisted.
const SESSIONS: u8 = 0;
const UNIT: u8 = 1;
const ITEM: u8 = 2;
const NAMED_ITEM: u8 = 3;

pub(super) fn take_threshold(from: &mut Cursor<'_>) -> Result<u8, Malformed> {
    let percent = from.byte()?;
    if Limit::THRESHOLDS.contains(&percent) { Ok(percent) } else { Err(Malformed::Choice) }
}

pub(super) fn put_limit(pen: &mut FieldWriter<'_>, limit: &Limit, at: Time) {
    pen.name(&limit.id);
    match limit.counted {
        LimitSubject::Sessions => pen.byte(SESSIONS),
        LimitSubject::Units { unit, item: None } => {
            pen.byte(UNIT);
            pen.name(&unit);
        }
        LimitSubject::Units { unit, item: Some(ItemKey::Number(key)) } => {
            pen.byte(ITEM);
            pen.name(&unit);
            pen.varint(u64::from(key));
        }
        LimitSubject::Units { unit, item: Some(ItemKey::Id(id)) } => {
            pen.byte(NAMED_ITEM);
            pen.name(&unit);
            pen.string(id.as_bytes());
        }
    }
    match limit.window {
        Window::NONE => pen.byte(Period::None.number()),
        Window::Period(cycle) => put_cycle(pen, cycle),
        Window::Rolling(span) => put_window(pen, &WindowBytes::of_rolling(span)),
        Window::Rate { span, burst } => {
            put_window(pen, &WindowBytes::of_rate(span, burst, limit.drained));
        }
    }
    if limit.window != Window::NONE {
        pen.time(limit.period_start, at);
    }
    pen.varint(limit.since);
    pen.fields(|line| {
        line.amount(limit.amount);
        line.amount(limit.used);
        line.amount(limit.overrun);
        line.amount(limit.held);
        line.byte(limit.told);
    });
}

pub(super) fn take_limit(from: &mut Cursor<'_>, at: Time) -> Result<Limit, Malformed> {
    let id = from.name()?;
    let counted = match from.byte()? {
        SESSIONS => LimitSubject::Sessions,
        UNIT => LimitSubject::Units { unit: from.name()?, item: None },
        ITEM => {
            let unit = from.name()?;
            LimitSubject::Units { unit, item: Some(ItemKey::Number(from.narrow()?)) }
        }
        NAMED_ITEM => {
            let unit = from.name()?;
            let id = ItemId::new(from.string()?).ok_or(Malformed::Id)?;
            LimitSubject::Units { unit, item: Some(ItemKey::Id(id)) }
        }
        _ => return Err(Malformed::Choice),
    };
    let (window, drained) = match from.byte()? {
        EXTENDED => take_window(from.string()?)?,
        number if number == Period::None.number() => (Window::NONE, 0),
        number => (Window::Period(take_cycle_of(from, number)?), 0),
    };
    let period_start = match window {
        Window::NONE => Cycle::NONE.start(at),
        _ => from.time(at)?,
    };
    let since = from.varint()?;
    let (amount, used) = (from.amount()?, from.amount()?);
    let (overrun, held) = (from.amount()?, from.amount()?);
    let told = match from.byte()? {
        0 => 0,
        percent if Limit::THRESHOLDS.contains(&percent) => percent,
        _ => return Err(Malformed::Choice),
    };
    Ok(Limit {
        id,
        counted,
        amount,
        window,
        period_start,
        since,
        used,
        drained,
        overrun,
        held,
        told,
        parts: 0,
    })
}

fn put_window(pen: &mut FieldWriter<'_>, bytes: &WindowBytes) {
    pen.byte(EXTENDED);
    pen.string(bytes.as_bytes());
}

/// Writes a cycle: period and offset, or [`EXTENDED`] and its bytes.
pub(super) fn put_cycle(pen: &mut FieldWriter<'_>, cycle: Cycle) {
    match (plain_number(cycle), cycle.zone) {
        (Some(number), Zone::Fixed(minutes)) => {
            pen.byte(number);
            pen.signed(i64::from(minutes));
        }
        _ => put_extended(pen, cycle),
    }
}

/// Reads a cycle as [`put_cycle`] wrote it.
pub(super) fn take_cycle_at(from: &mut Cursor<'_>) -> Result<Cycle, Malformed> {
    let number = from.byte()?;
    take_cycle_of(from, number)
}

fn take_cycle_of(from: &mut Cursor<'_>, number: u8) -> Result<Cycle, Malformed> {
    if number == EXTENDED {
        return take_cycle(from.string()?, plain_number);
    }
    let period = plain_period(number).ok_or(Malformed::Choice)?;
    let offset_minutes = i16::try_from(from.signed()?).map_err(|_| Malformed::Number)?;
    Ok(Cycle::fixed(period, offset_minutes))
}

/// Writes the cycle of a counter: a period of UTC, or [`EXTENDED`] and its bytes.
pub(super) fn put_counter_cycle(pen: &mut FieldWriter<'_>, cycle: Cycle) {
    match plain_counter_number(cycle) {
        Some(number) => pen.byte(number),
        None => put_extended(pen, cycle),
    }
}

/// Reads the cycle of a counter.
pub(super) fn take_counter_cycle(from: &mut Cursor<'_>) -> Result<Cycle, Malformed> {
    match from.byte()? {
        EXTENDED => take_cycle(from.string()?, plain_counter_number),
        number => Ok(Cycle::fixed(plain_period(number).ok_or(Malformed::Choice)?, 0)),
    }
}

fn put_extended(pen: &mut FieldWriter<'_>, cycle: Cycle) {
    pen.byte(EXTENDED);
    pen.string(CycleBytes::new(cycle).as_bytes());
}
