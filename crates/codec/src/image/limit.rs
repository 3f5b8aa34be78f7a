//! A limit of the image:
//!
//! | bytes | field |
//! |---|---|
//! | short | id: a length byte and so many bytes |
//! | u8 | flags: bits 0 to 2 period, bit 3 of units, bit 4 of one item, bits 5 and 6 threshold that was told, bit 7 named |
//! | short | unit, where it is of units |
//! | group | amount, used, held, overrun |
//! | group | start of the period less the last change, version since, offset in minutes, key of the item (0 when named) |
//! | short | when named: key of the item |
//! | short | when the number of the period is 7: period, begin and zone; see `cycle` |

use super::{extended_cycle, narrow, take_period, unword, word};
use crate::cycle::{CYCLE_LEN_MAX, CycleBytes, EXTENDED, plain_number};
use crate::reader::ImageReader;
use crate::writer::{GROUP_LEN_MAX, NAME_ROOM, Writer};
use scurry_ledger::{
    Cycle, ITEM_KEY_LEN_MAX, ItemId, ItemKey, Limit, LimitSubject, Name, Period, Time,
};

/// Bits of the byte after the id.
mod flag {
    /// Number of the period.
    pub(super) const PERIOD: u8 = 7;
    /// The limit counts units, not open sessions.
    pub(super) const UNITS: u8 = 1 << 3;
    /// The limit counts the units of one item only.
    pub(super) const ITEM: u8 = 1 << 4;
    /// Shift of the threshold: its position in [`super::Limit::THRESHOLDS`], from 1; 0 for none.
    pub(super) const TOLD_SHIFT: u32 = 5;
    /// The key of the item is not a number, and is at the end.
    pub(super) const NAMED: u8 = 1 << 7;
}

/// Greatest length of a limit, bytes.
pub(super) const LEN_MAX: usize =
    2 * NAME_ROOM + 1 + 2 * GROUP_LEN_MAX + 1 + ITEM_KEY_LEN_MAX + 1 + CYCLE_LEN_MAX;

pub(super) fn put(w: &mut Writer<'_>, limit: &Limit, base: i64) {
    w.name(&limit.id);
    let told = Limit::THRESHOLDS.iter().position(|&percent| percent == limit.told);
    let told = told.map_or(0, |place| 1 + place as u8);
    let plain = plain_number(limit.cycle);
    let mut flags = plain.unwrap_or(EXTENDED) | told << flag::TOLD_SHIFT;
    let (mut key, mut named) = (0, None);
    if let LimitSubject::Units { item, .. } = limit.counted {
        flags |= flag::UNITS;
        match item {
            None => {}
            Some(ItemKey::Number(number)) => {
                flags |= flag::ITEM;
                key = i64::from(number);
            }
            Some(ItemKey::Id(id)) => {
                flags |= flag::ITEM | flag::NAMED;
                named = Some(id);
            }
        }
    }
    w.byte(flags);
    if let LimitSubject::Units { unit, .. } = limit.counted {
        w.name(&unit);
    }
    let start = match limit.cycle.period {
        Period::None => 0,
        _ => limit.period_start.0.wrapping_sub(base),
    };
    w.group([limit.amount, limit.used, limit.held, limit.overrun]);
    let minutes = plain.and(limit.cycle.zone.offset_minutes()).unwrap_or(0);
    w.group([start, word(limit.since), i64::from(minutes), key]);
    if let Some(id) = named {
        w.short(id.as_bytes());
    }
    if plain.is_none() {
        w.short(CycleBytes::new(limit.cycle).as_bytes());
    }
}

pub(super) fn read_limit(r: &mut ImageReader<'_>, base: i64) -> Option<Limit> {
    let mut id = Name::EMPTY;
    r.name(&mut id);
    let flags = r.fixed::<1>()[0];
    r.skip(1);
    let mut unit = Name::EMPTY;
    if flags & flag::UNITS != 0 {
        r.name(&mut unit);
    }
    let [amount, used, held, overrun] = r.group();
    let [start, since, offset_minutes, key] = r.group();
    let item = match flags & (flag::ITEM | flag::NAMED) {
        0 if key == 0 => None,
        flag::ITEM => Some(ItemKey::Number(narrow(r, key))),
        _ if key == 0 && flags & flag::ITEM != 0 => ItemId::new(r.short()).map(ItemKey::Id),
        _ => {
            r.fail();
            None
        }
    };
    if item.is_some() != (flags & flag::ITEM != 0) || (item.is_some() && flags & flag::UNITS == 0) {
        r.fail();
    }
    let counted = match flags & flag::UNITS {
        0 => LimitSubject::Sessions,
        _ => LimitSubject::Units { unit, item },
    };
    let told = match usize::from(flags >> flag::TOLD_SHIFT & 3) {
        0 => 0,
        place => Limit::THRESHOLDS.get(place - 1).copied().unwrap_or_else(|| {
            r.fail();
            0
        }),
    };
    let cycle = match flags & flag::PERIOD {
        EXTENDED if offset_minutes == 0 => extended_cycle(r, plain_number)?,
        number => Cycle::fixed(take_period(r, i64::from(number))?, narrow(r, offset_minutes)),
    };
    let period_start = match cycle.period {
        Period::None => Cycle::NONE.start(Time(base)),
        _ => Time(start.wrapping_add(base)),
    };
    Some(Limit {
        id,
        counted,
        amount,
        cycle,
        period_start,
        since: unword(since),
        used,
        overrun,
        held,
        told,
    })
}
