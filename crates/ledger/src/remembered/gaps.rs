//! Gaps: request numbers below a session's window that were never answered.
//!
//! They are stored before the window's entries, if there are any: length u16 (of the whole) with its highest bit set,
//! then for each range its first and its last number, u32 each, in ascending order. Numbers without gaps, as nearly all
//! clients use them, cost no bytes.

use alloc::vec::Vec;

/// Most ranges of a session; beyond that the lowest is dropped.
pub(super) const GAPS_MAX: usize = 8;

const MARK: u16 = 1 << 15;
const HEAD_LEN: usize = 2;
const RANGE_LEN: usize = 4 + 4;

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Returns how many of the bytes are gaps.
#[inline]
pub(super) fn len(bytes: &[u8]) -> usize {
    match bytes.first_chunk::<HEAD_LEN>().map(|head| u16::from_le_bytes(*head)) {
        Some(head) if head & MARK != 0 => usize::from(head & !MARK).min(bytes.len()),
        _ => 0,
    }
}

/// Iterates over the ranges at the start of the bytes.
fn ranges(bytes: &[u8]) -> impl Iterator<Item = Range> {
    let body = bytes[..len(bytes)].get(HEAD_LEN..).unwrap_or_default();
    body.as_chunks::<RANGE_LEN>().0.iter().map(|&[a, b, c, d, e, f, g, h]| Range {
        first: u32::from_le_bytes([a, b, c, d]),
        last: u32::from_le_bytes([e, f, g, h]),
    })
}

/// Reports whether the bytes begin without gaps, or with gaps as [`with`] writes them, all below `lowest`.
pub(super) fn are_whole(bytes: &[u8], lowest: u32) -> bool {
    let Some(head) = bytes.first_chunk::<HEAD_LEN>() else { return true };
    if u16::from_le_bytes(*head) & MARK == 0 {
        return true;
    }
    let declared = usize::from(u16::from_le_bytes(*head) & !MARK);
    let count = declared.saturating_sub(HEAD_LEN) / RANGE_LEN;
    let sized = declared == HEAD_LEN + count * RANGE_LEN && declared <= bytes.len();
    // Two neighbouring ranges have an answered number between them.
    let mut next = Some(0);
    sized
        && (1..=GAPS_MAX).contains(&count)
        && ranges(bytes).all(|range| {
            let after = next.is_some_and(|next| range.first >= next);
            next = range.last.checked_add(2);
            after && range.first <= range.last && range.last < lowest
        })
}

/// Reports whether a number is in a gap.
pub(super) fn contain(bytes: &[u8], number: u32) -> bool {
    ranges(bytes).any(|range| (range.first..=range.last).contains(&number))
}

/// Returns the bytes of the gaps with one more range above them.
pub(super) fn with(bytes: &[u8], range: Range) -> Vec<u8> {
    pack(ranges(bytes).chain([range]).collect())
}

/// Returns the bytes of the gaps without a number that is in one of them.
pub(super) fn without(bytes: &[u8], number: u32) -> Vec<u8> {
    let mut left = Vec::with_capacity(GAPS_MAX + 1);
    for range in ranges(bytes) {
        if !(range.first..=range.last).contains(&number) {
            left.push(range);
            continue;
        }
        if range.first < number {
            left.push(Range { last: number - 1, ..range });
        }
        if number < range.last {
            left.push(Range { first: number + 1, ..range });
        }
    }
    pack(left)
}

/// Packs ranges, and drops the lowest of more than can be kept.
fn pack(ranges: Vec<Range>) -> Vec<u8> {
    let kept = &ranges[ranges.len().saturating_sub(GAPS_MAX)..];
    if kept.is_empty() {
        return Vec::new();
    }
    let len = HEAD_LEN + kept.len() * RANGE_LEN;
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(&(u16::try_from(len).unwrap_or(0) | MARK).to_le_bytes());
    for range in kept {
        out.extend_from_slice(&range.first.to_le_bytes());
        out.extend_from_slice(&range.last.to_le_bytes());
    }
    out
}
