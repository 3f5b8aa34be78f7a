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
//! | short | when the number of the period is 7: period, begin and zone, see `cycle`; or a window without periods, see `window` |
//! | u8, parts | of a rolling limit: number of its parts, and of each i64 start, u64 version since, i64 used |

use super::{narrow, take_period, unword, word};
use crate::Malformed;
use crate::cycle::{CYCLE_LEN_MAX, CycleBytes, EXTENDED, plain_number};
use crate::reader::ImageReader;
use crate::window::{WINDOW_LEN_MAX, WindowBytes, take_window};
use crate::writer::{GROUP_LEN_MAX, NAME_ROOM, Writer};
use alloc::vec::Vec;
use scurry_ledger::{
    Cycle, ITEM_KEY_LEN_MAX, ItemId, ItemKey, Limit, LimitPart, LimitSubject, Name, Time, Window,
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

/// Greatest length of a limit without its parts, bytes.
pub(super) const LEN_MAX: usize = {
    let window = if CYCLE_LEN_MAX > WINDOW_LEN_MAX { CYCLE_LEN_MAX } else { WINDOW_LEN_MAX };
    2 * NAME_ROOM + 1 + 2 * GROUP_LEN_MAX + 1 + ITEM_KEY_LEN_MAX + 1 + window + 1
};

/// Length of a part, bytes. The parts of an account are of fixed length, so that they cost one copy.
pub(super) const PART_LEN: usize = 24;

pub(super) fn put(w: &mut Writer<'_>, limit: &Limit, parts: &[LimitPart], base: i64) {
    w.name(&limit.id);
    let told = Limit::THRESHOLDS.iter().position(|&percent| percent == limit.told);
    let told = told.map_or(0, |place| 1 + place as u8);
    let plain = limit.window.cycle().and_then(plain_number);
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
    let start = match limit.window {
        Window::NONE => 0,
        _ => limit.period_start.0.wrapping_sub(base),
    };
    w.group([limit.amount, limit.used, limit.held, limit.overrun]);
    let zone = limit.window.cycle().filter(|_| plain.is_some()).map(|cycle| cycle.zone);
    let minutes = zone.and_then(|zone| zone.offset_minutes()).unwrap_or(0);
    w.group([start, word(limit.since), i64::from(minutes), key]);
    if let Some(id) = named {
        w.short(id.as_bytes());
    }
    match limit.window {
        Window::Period(cycle) if plain.is_none() => w.short(CycleBytes::new(cycle).as_bytes()),
        Window::Period(_) => {}
        Window::Rolling(span) => {
            w.short(WindowBytes::of_rolling(span).as_bytes());
            put_parts(w, parts);
        }
        Window::Rate { span, burst } => {
            w.short(WindowBytes::of_rate(span, burst, limit.drained).as_bytes());
        }
    }
}

fn put_parts(w: &mut Writer<'_>, parts: &[LimitPart]) {
    w.byte(parts.len() as u8);
    for &LimitPart { start, since, used } in parts {
        let bytes = w.fixed::<PART_LEN>();
        bytes[..8].copy_from_slice(&start.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&since.to_le_bytes());
        bytes[16..].copy_from_slice(&used.to_le_bytes());
        w.advance(PART_LEN);
    }
}

/// Reads the parts of a rolling limit. Returns their number.
fn take_parts(r: &mut ImageReader<'_>, parts: &mut Vec<LimitPart>) -> Option<u8> {
    let count = r.byte();
    if usize::from(count) > Window::PARTS_MAX {
        r.fail();
    }
    let bytes = r.bytes(usize::from(count) * PART_LEN);
    if r.is_broken() {
        return None;
    }
    parts.extend(bytes.as_chunks::<8>().0.as_chunks::<3>().0.iter().map(
        |&[start, since, used]| LimitPart {
            start: Time(i64::from_le_bytes(start)),
            since: u64::from_le_bytes(since),
            used: i64::from_le_bytes(used),
        },
    ));
    Some(count)
}

pub(super) fn read_limit(
    r: &mut ImageReader<'_>,
    all_parts: &mut Vec<LimitPart>,
    base: i64,
) -> Option<Limit> {
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
    let (window, drained) = match flags & flag::PERIOD {
        EXTENDED if offset_minutes == 0 => read_window(r)?,
        number => {
            let period = take_period(r, i64::from(number))?;
            (Window::Period(Cycle::fixed(period, narrow(r, offset_minutes))), 0)
        }
    };
    let parts = match window {
        Window::Rolling(_) => take_parts(r, all_parts)?,
        Window::Period(_) | Window::Rate { .. } => 0,
    };
    let period_start = match window {
        Window::NONE => Cycle::NONE.start(Time(base)),
        _ => Time(start.wrapping_add(base)),
    };
    Some(Limit {
        id,
        counted,
        amount,
        window,
        period_start,
        since: unword(since),
        used,
        drained,
        overrun,
        held,
        told,
        parts,
    })
}

fn read_window(r: &mut ImageReader<'_>) -> Option<(Window, i64)> {
    let bytes = r.short();
    if r.is_broken() {
        return None;
    }
    let window = take_window(bytes);
    match window {
        Ok(_) => {}
        Err(Malformed::Zone) => r.fail_for_zone(),
        Err(_) => r.fail(),
    }
    window.ok()
}
