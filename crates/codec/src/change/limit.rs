//! Bytes of the limit that an op sets, and of the periods of limits and counters.

use crate::Malformed;
use crate::cursor::Cursor;
use crate::pen::FieldWriter;
use scurry_ledger::{Cycle, ItemId, ItemKey, Limit, LimitSubject, Period, Time};

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
    pen.byte(limit.cycle.period as u8);
    if limit.cycle.period != Period::None {
        pen.signed(i64::from(limit.cycle.offset_minutes));
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
    let (mut cycle, mut period_start) = (Cycle::NONE, Cycle::NONE.start(at));
    cycle.period = take_period(from)?;
    if cycle.period != Period::None {
        cycle.offset_minutes = i16::try_from(from.signed()?).map_err(|_| Malformed::Number)?;
        period_start = from.time(at)?;
    }
    let since = from.varint()?;
    let (amount, used) = (from.amount()?, from.amount()?);
    let (overrun, held) = (from.amount()?, from.amount()?);
    let told = match from.byte()? {
        0 => 0,
        percent if Limit::THRESHOLDS.contains(&percent) => percent,
        _ => return Err(Malformed::Choice),
    };
    Ok(Limit { id, counted, amount, cycle, period_start, since, used, overrun, held, told })
}

pub(super) fn take_period(from: &mut Cursor<'_>) -> Result<Period, Malformed> {
    match from.byte()? {
        0 => Ok(Period::None),
        1 => Ok(Period::Hour),
        2 => Ok(Period::Day),
        3 => Ok(Period::Week),
        4 => Ok(Period::Month),
        _ => Err(Malformed::Choice),
    }
}
