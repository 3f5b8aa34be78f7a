//! A bucket of the image:
//!
//! | bytes | field |
//! |---|---|
//! | short, short | id, unit: each a length byte and so many bytes |
//! | u8 | flags: bit 0 wide, bit 1 moved, bit 2 terms, bit 3 flows, bit 4 refilled, bit 5 marked |
//! | u16, i16, i48, i48, i48 | number, priority, created, available, credited |
//! | i48, i48 | held, consumed, when moved |
//! | 2 groups | when wide, instead of these numbers |
//! | group | with terms: 1 if it ends, valid_to less the last change, floor, valid_from |
//! | group | with flows: refunded, expired, voided, overdrawn |
//! | group | when refilled: number of the period, account version since which it is, 0, 0 |
//! | group | when marked: mark, 0, 0, 0 |

use super::{fits_six, narrow, part, six, unword, word};
use crate::reader::ImageReader;
use crate::writer::{GROUP_LEN_MAX, NAME_ROOM, Writer};
use scurry_ledger::{Bucket, BucketNo, Time};

/// Bits of the first byte after the names.
mod flag {
    /// The numbers are in groups.
    pub(super) const WIDE: u8 = 1;
    /// The bucket has units held or consumed.
    pub(super) const MOVED: u8 = 1 << 1;
    /// The bucket has a validity or a floor.
    pub(super) const TERMS: u8 = 1 << 2;
    /// The bucket has refunded, expired, voided or overdrawn units.
    pub(super) const FLOWS: u8 = 1 << 3;
    /// The bucket was refilled.
    pub(super) const REFILLED: u8 = 1 << 4;
    /// The bucket has a mark.
    pub(super) const MARKED: u8 = 1 << 5;
    pub(super) const ALL: u8 = WIDE | MOVED | TERMS | FLOWS | REFILLED | MARKED;
}

/// Length of the fixed fields, and with the fields of a bucket that has moved, bytes.
const FIXED_LEN: usize = 23;
const MOVED_LEN: usize = FIXED_LEN + 12;

/// Greatest length of a bucket, bytes.
pub(super) const LEN_MAX: usize = 2 * NAME_ROOM + MOVED_LEN + 6 * GROUP_LEN_MAX;

pub(super) fn put(w: &mut Writer<'_>, bucket: &Bucket, base: i64) {
    w.name(&bucket.id);
    w.name(&bucket.unit);
    let mut flags = 0;
    if bucket.held | bucket.consumed != 0 {
        flags |= flag::MOVED;
    }
    if bucket.valid_from.0 | bucket.floor != 0 || bucket.valid_to.is_some() {
        flags |= flag::TERMS;
    }
    if bucket.refunded | bucket.expired | bucket.voided | bucket.overdrawn != 0 {
        flags |= flag::FLOWS;
    }
    if bucket.period != 0 {
        flags |= flag::REFILLED;
    }
    if bucket.mark.is_some() {
        flags |= flag::MARKED;
    }
    let numbers =
        [bucket.created.0, bucket.available, bucket.credited, bucket.held, bucket.consumed];
    let fits = numbers.iter().fold(true, |fits, &number| fits & fits_six(number));
    let fields = w.fixed::<{ MOVED_LEN + 2 }>();
    match i16::try_from(bucket.priority) {
        Ok(priority) if fits => {
            fields[0] = flags;
            fields[1..3].copy_from_slice(&bucket.no.0.to_le_bytes());
            fields[3..5].copy_from_slice(&priority.to_le_bytes());
            // In ascending order: each write of 8 bytes reaches 2 bytes into the next number.
            for (index, number) in numbers.iter().enumerate() {
                let at = 5 + 6 * index;
                fields[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
            w.advance(if flags & flag::MOVED != 0 { MOVED_LEN } else { FIXED_LEN });
        }
        _ => {
            fields[0] = flags | flag::WIDE;
            w.advance(1);
            let (no, priority) = (i64::from(bucket.no.0), i64::from(bucket.priority));
            w.group([no, priority, bucket.created.0, 0]);
            w.group([bucket.available, bucket.credited, bucket.held, bucket.consumed]);
        }
    }
    if flags & flag::TERMS != 0 {
        w.group([
            i64::from(bucket.valid_to.is_some()),
            bucket.valid_to.map_or(0, |end| end.0.wrapping_sub(base)),
            bucket.floor,
            bucket.valid_from.0,
        ]);
    }
    if flags & flag::FLOWS != 0 {
        w.group([bucket.refunded, bucket.expired, bucket.voided, bucket.overdrawn]);
    }
    if flags & flag::REFILLED != 0 {
        w.group([i64::from(bucket.period), word(bucket.period_since), 0, 0]);
    }
    if let Some(mark) = bucket.mark {
        w.group([mark, 0, 0, 0]);
    }
}

/// Reads a bucket in place.
pub(super) fn read_bucket(r: &mut ImageReader<'_>, base: i64, bucket: &mut Bucket) {
    r.name(&mut bucket.id);
    r.name(&mut bucket.unit);
    let fields = r.fixed::<{ MOVED_LEN + 2 }>();
    let flags = fields[0];
    if flags & !flag::ALL != 0 {
        r.fail();
    }
    if flags & flag::WIDE == 0 {
        bucket.no = BucketNo(u16::from_le_bytes(part(fields, 1)));
        bucket.priority = i32::from(i16::from_le_bytes(part(fields, 3)));
        bucket.created = Time(six(fields, 5));
        (bucket.available, bucket.credited) = (six(fields, 11), six(fields, 17));
        if flags & flag::MOVED != 0 {
            (bucket.held, bucket.consumed) = (six(fields, 23), six(fields, 29));
            r.skip(MOVED_LEN);
        } else {
            (bucket.held, bucket.consumed) = (0, 0);
            r.skip(FIXED_LEN);
        }
    } else {
        r.skip(1);
        let [no, priority, created, _] = r.group();
        bucket.no = BucketNo(narrow(r, no));
        bucket.priority = narrow(r, priority);
        bucket.created = Time(created);
        [bucket.available, bucket.credited, bucket.held, bucket.consumed] = r.group();
    }
    let terms = if flags & flag::TERMS != 0 { r.group() } else { [0; 4] };
    let [has_end, end, floor, valid_from] = terms;
    bucket.valid_to = (has_end != 0).then(|| Time(end.wrapping_add(base)));
    (bucket.floor, bucket.valid_from) = (floor, Time(valid_from));
    let flows = if flags & flag::FLOWS != 0 { r.group() } else { [0; 4] };
    [bucket.refunded, bucket.expired, bucket.voided, bucket.overdrawn] = flows;
    (bucket.period, bucket.period_since) = (0, 0);
    if flags & flag::REFILLED != 0 {
        let [period, since, ..] = r.group();
        (bucket.period, bucket.period_since) = (narrow(r, period), unword(since));
    }
    bucket.mark = None;
    if flags & flag::MARKED != 0 {
        let [mark, ..] = r.group();
        bucket.mark = Some(mark);
    }
}
