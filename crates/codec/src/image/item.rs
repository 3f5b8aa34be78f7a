//! An item of a session of the image:
//!
//! | bytes | field |
//! |---|---|
//! | short | unit: a length byte and so many bytes |
//! | u8 | flags: bit 0 wide, bit 1 granted, bit 2 used, bit 3 beyond, bit 4 named, bit 5 refilled, bits 6 and 7 the standing |
//! | u8, u32, u32, u32 | count of slices, key (0 when named), request number of the last grant, granted |
//! | u32, u32, u32 | used, from_hold, released, when used |
//! | u16, u32 | bucket and amount, for each slice |
//! | u16 | when refilled: number of the period, after each of these |
//! | groups | when wide, two instead of these numbers and one for each slice |
//! | group | with beyond: direct, uncollected |
//! | short | when named: key |

use super::{count, four, len, narrow, part};
use crate::reader::ImageReader;
use crate::writer::{GROUP_LEN_MAX, NAME_ROOM, Writer};
use scurry_ledger::{BucketNo, ITEM_KEY_LEN_MAX, Item, ItemId, ItemKey, Slice, Standing};

/// Bits of the first byte after the unit.
mod flag {
    /// The numbers are in groups, with one group per slice.
    pub(super) const WIDE: u8 = 1;
    /// The item was granted something.
    pub(super) const GRANTED: u8 = 1 << 1;
    /// The item has use, or units that went back.
    pub(super) const USED: u8 = 1 << 2;
    /// Some use was not settled from its own hold.
    pub(super) const BEYOND: u8 = 1 << 3;
    /// The key is not a number, and is at the end.
    pub(super) const NAMED: u8 = 1 << 4;
    /// A slice is on a bucket that had been refilled, and the slices have the numbers of their periods.
    pub(super) const REFILLED: u8 = 1 << 5;
    /// Place of the lower of two bits of the number of the standing.
    pub(super) const STANDING: u32 = 6;
}

/// Length of the fixed fields, and with the fields of an item that was used, bytes.
const FIXED_LEN: usize = 14;
const USED_LEN: usize = FIXED_LEN + 12;
/// Length of a slice, and with the number of its period, bytes.
const SLICE_LEN: usize = 6;
const REFILLED_SLICE_LEN: usize = SLICE_LEN + 2;

/// Returns the greatest length of an item, bytes.
pub(super) fn len_max(item: &Item) -> usize {
    NAME_ROOM + USED_LEN + (3 + item.slices.len()) * GROUP_LEN_MAX + 1 + ITEM_KEY_LEN_MAX
}

#[expect(clippy::inline_always, reason = "in the image of an account it is a run of moves")]
#[inline(always)]
pub(super) fn put(w: &mut Writer<'_>, item: &Item) {
    w.name(&item.unit);
    let mut flags = (item.standing as u8) << flag::STANDING;
    if item.last_grant.is_some() {
        flags |= flag::GRANTED;
    }
    if item.used | item.from_hold | item.released != 0 {
        flags |= flag::USED;
    }
    if item.direct | item.uncollected != 0 {
        flags |= flag::BEYOND;
    }
    let key = match item.key {
        ItemKey::Number(key) => key,
        ItemKey::Id(_) => {
            flags |= flag::NAMED;
            0
        }
    };
    let last_grant = item.last_grant.unwrap_or(0);
    let numbers = [item.granted, item.used, item.from_hold, item.released];
    let all = numbers.into_iter().chain(item.slices.iter().map(|slice| slice.amount));
    // A negative number sets the highest bits as well, so it does not fit.
    let mut fits = all.fold(0, |bits, number| bits | number) >> 32 == 0;
    let periods = item.slices.iter().fold(0, |bits, slice| bits | slice.period);
    if periods != 0 {
        flags |= flag::REFILLED;
        fits &= periods >> 16 == 0;
    }
    let fields = w.fixed::<USED_LEN>();
    match u8::try_from(item.slices.len()) {
        Ok(slices) if fits => {
            (fields[0], fields[1]) = (flags, slices);
            fields[2..6].copy_from_slice(&key.to_le_bytes());
            fields[6..10].copy_from_slice(&last_grant.to_le_bytes());
            for (index, number) in numbers.iter().enumerate() {
                let at = 10 + 4 * index;
                fields[at..at + 4].copy_from_slice(&number.to_le_bytes()[..4]);
            }
            w.advance(if flags & flag::USED != 0 { USED_LEN } else { FIXED_LEN });
            for slice in &item.slices {
                let fields = w.fixed::<REFILLED_SLICE_LEN>();
                fields[..2].copy_from_slice(&slice.bucket.0.to_le_bytes());
                fields[2..6].copy_from_slice(&slice.amount.to_le_bytes()[..4]);
                fields[6..].copy_from_slice(&slice.period.to_le_bytes()[..2]);
                w.advance(if periods == 0 { SLICE_LEN } else { REFILLED_SLICE_LEN });
            }
        }
        _ => {
            fields[0] = flags | flag::WIDE;
            w.advance(1);
            w.group([i64::from(key), len(item.slices.len()), i64::from(last_grant), item.granted]);
            w.group([item.used, item.from_hold, item.released, 0]);
            for slice in &item.slices {
                w.group([i64::from(slice.bucket.0), slice.amount, i64::from(slice.period), 0]);
            }
        }
    }
    if flags & (flag::BEYOND | flag::NAMED) != 0 {
        *w = put_rarer(w.moved(), item, flags);
    }
}

/// Writes the fields that few items have.
#[inline(never)]
fn put_rarer<'a>(mut w: Writer<'a>, item: &Item, flags: u8) -> Writer<'a> {
    if flags & flag::BEYOND != 0 {
        w.group([item.direct, item.uncollected, 0, 0]);
    }
    if let ItemKey::Id(id) = &item.key {
        w.short(id.as_bytes());
    }
    w
}

/// Reads an item in place.
pub(super) fn read_item(r: &mut ImageReader<'_>, item: &mut Item) {
    r.name(&mut item.unit);
    let fields = r.fixed::<USED_LEN>();
    let flags = fields[0];
    item.standing = Standing::from_number(flags >> flag::STANDING).unwrap_or_default();
    item.slices.clear();
    let (key, last_grant);
    if flags & flag::WIDE == 0 {
        key = u32::from_le_bytes(part(fields, 2));
        last_grant = u32::from_le_bytes(part(fields, 6));
        item.granted = four(fields, 10);
        if flags & flag::USED != 0 {
            (item.used, item.from_hold) = (four(fields, 14), four(fields, 18));
            item.released = four(fields, 22);
            r.skip(USED_LEN);
        } else {
            (item.used, item.from_hold, item.released) = (0, 0, 0);
            r.skip(FIXED_LEN);
        }
        for _ in 0..count(r, i64::from(fields[1])) {
            if r.is_broken() {
                break;
            }
            let fields = r.fixed::<REFILLED_SLICE_LEN>();
            let bucket = BucketNo(u16::from_le_bytes(part(fields, 0)));
            let (period, len) = if flags & flag::REFILLED == 0 {
                (0, SLICE_LEN)
            } else {
                (u32::from(u16::from_le_bytes(part(fields, 6))), REFILLED_SLICE_LEN)
            };
            item.slices.push(Slice { bucket, period, amount: four(fields, 2) });
            r.skip(len);
        }
    } else {
        r.skip(1);
        let [number, slices, last, granted] = r.group();
        key = narrow(r, number);
        last_grant = narrow(r, last);
        item.granted = granted;
        [item.used, item.from_hold, item.released, _] = r.group();
        for _ in 0..count(r, slices) {
            if r.is_broken() {
                break;
            }
            let [bucket, amount, period, _] = r.group();
            let (bucket, period) = (BucketNo(narrow(r, bucket)), narrow(r, period));
            item.slices.push(Slice { bucket, period, amount });
        }
    }
    item.last_grant = (flags & flag::GRANTED != 0).then_some(last_grant);
    item.key = ItemKey::Number(key);
    (item.direct, item.uncollected) = (0, 0);
    if flags & (flag::BEYOND | flag::NAMED) != 0 {
        take_rarer(r, item, flags);
    }
}

/// Reads the fields that [`put_rarer`] writes.
#[inline(never)]
fn take_rarer(r: &mut ImageReader<'_>, item: &mut Item, flags: u8) {
    if flags & flag::BEYOND != 0 {
        [item.direct, item.uncollected, ..] = r.group();
    }
    if flags & flag::NAMED != 0 {
        match (item.key, ItemId::new(r.short())) {
            (ItemKey::Number(0), Some(id)) => item.key = ItemKey::Id(id),
            _ => r.fail(),
        }
    }
}
