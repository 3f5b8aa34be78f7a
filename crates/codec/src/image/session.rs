//! An open session of the image:
//!
//! | bytes | field |
//! |---|---|
//! | short | id: a length byte and so many bytes |
//! | u8 | flags: bit 0 wide, bit 1 blob, from bit 2 the terms |
//! | u32, u32, u32, i48, i48, u16, u8 | version, validity ms, Tcc ms, deadline, time of opening, length of answers, count of items |
//! | u16 | length of the blob, where there is one |
//! | 2 groups | when wide, instead of these numbers |
//! | | answers, blob, items |

use super::{SHORT_LEN_MAX, count, fits_six, four, item, len, part, six, unword, word};
use crate::reader::ImageReader;
use crate::session_terms::{terms_from_bits, terms_to_bits};
use crate::writer::{GROUP_LEN_MAX, Writer};
use scurry_ledger::{Item, Session, Time};

/// Bits of the first byte after the id.
mod flag {
    /// The numbers are in groups.
    pub(super) const WIDE: u8 = 1;
    /// The session has a blob.
    pub(super) const BLOB: u8 = 1 << 1;
    /// Place of the lowest bit of the terms.
    pub(super) const TERMS: u32 = 2;
}

/// Length of the fixed fields, and with the length of a blob, bytes.
const FIXED_LEN: usize = 28;
const BLOB_LEN: usize = FIXED_LEN + 2;

/// Returns the greatest length of a session, bytes.
pub(super) fn len_max(session: &Session) -> usize {
    SHORT_LEN_MAX
        + BLOB_LEN
        + 2 * GROUP_LEN_MAX
        + session.answers.as_bytes().len()
        + session.blob.len()
        + session.items.iter().map(item::len_max).sum::<usize>()
}

#[expect(clippy::inline_always, reason = "in the image of an account it is a run of moves")]
#[inline(always)]
pub(super) fn put(w: &mut Writer<'_>, session: &Session) {
    w.short(session.id.as_bytes());
    let (answers, blob) = (session.answers.as_bytes(), session.blob.as_slice());
    let flags = terms_to_bits(session.terms) << flag::TERMS;
    let flags = if blob.is_empty() { flags } else { flags | flag::BLOB };
    let fields = w.fixed::<BLOB_LEN>();
    if let (Ok(version), Ok(validity_ms), Ok(tcc_ms), Ok(items), Ok(answers), Ok(blob), true) = (
        u32::try_from(session.version),
        u32::try_from(session.validity_ms),
        u32::try_from(session.tcc_ms),
        u8::try_from(session.items.len()),
        u16::try_from(answers.len()),
        u16::try_from(blob.len()),
        fits_six(session.deadline.0) && fits_six(session.opened.0),
    ) {
        fields[0] = flags;
        fields[1..5].copy_from_slice(&version.to_le_bytes());
        fields[5..9].copy_from_slice(&validity_ms.to_le_bytes());
        fields[9..13].copy_from_slice(&tcc_ms.to_le_bytes());
        fields[13..21].copy_from_slice(&session.deadline.0.to_le_bytes());
        fields[19..27].copy_from_slice(&session.opened.0.to_le_bytes());
        fields[25..27].copy_from_slice(&answers.to_le_bytes());
        fields[27] = items;
        fields[28..30].copy_from_slice(&blob.to_le_bytes());
        w.advance(if flags & flag::BLOB != 0 { BLOB_LEN } else { FIXED_LEN });
    } else {
        fields[0] = flags | flag::WIDE;
        w.advance(1);
        let version = word(session.version);
        w.group([version, session.validity_ms, session.tcc_ms, session.deadline.0]);
        w.group([len(session.items.len()), len(answers.len()), len(blob.len()), session.opened.0]);
    }
    w.bytes(answers);
    if !blob.is_empty() {
        w.bytes(blob);
    }
    for item in &session.items {
        item::put(w, item);
    }
}

/// Reads a session in place: it is large, and its buffers are reused.
pub(super) fn read_session(r: &mut ImageReader<'_>, session: &mut Session) {
    if !session.id.load(r.short()) {
        r.fail();
    }
    let fields = r.fixed::<BLOB_LEN>();
    let flags = fields[0];
    match terms_from_bits(flags >> flag::TERMS) {
        Some(terms) => session.terms = terms,
        None => r.fail(),
    }
    let (items, answers, blob);
    if flags & flag::WIDE == 0 {
        session.version = u64::from(u32::from_le_bytes(part(fields, 1)));
        (session.validity_ms, session.tcc_ms) = (four(fields, 5), four(fields, 9));
        session.deadline = Time(six(fields, 13));
        session.opened = Time(six(fields, 19));
        answers = i64::from(u16::from_le_bytes(part(fields, 25)));
        items = i64::from(fields[27]);
        if flags & flag::BLOB == 0 {
            blob = 0;
            r.skip(FIXED_LEN);
        } else {
            blob = i64::from(u16::from_le_bytes(part(fields, 28)));
            r.skip(BLOB_LEN);
        }
    } else {
        r.skip(1);
        let [version, validity_ms, tcc_ms, deadline] = r.group();
        session.version = unword(version);
        (session.validity_ms, session.tcc_ms) = (validity_ms, tcc_ms);
        session.deadline = Time(deadline);
        let opened;
        [items, answers, blob, opened] = r.group();
        session.opened = Time(opened);
    }
    let answers = count(r, answers);
    if !session.answers.load(r.bytes(answers)) {
        r.fail();
    }
    let blob = count(r, blob);
    session.blob.clear();
    if blob > 0 {
        session.blob.extend_from_slice(r.bytes(blob));
    }
    let items = count(r, items);
    session.apart = None;
    session.items.truncate(items);
    for at in 0..items {
        if at == session.items.len() {
            session.items.push(Item::empty());
        }
        item::read_item(r, &mut session.items[at]);
        if r.is_broken() {
            break;
        }
    }
}
