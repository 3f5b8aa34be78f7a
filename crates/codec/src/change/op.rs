//! Writes an op: its number, then its fields in the order of their declaration.

use super::TouchedBuckets;
use super::limit::{put_counter_cycle, put_cycle, put_limit};
use super::remembered::{
    put_denial, put_denied, put_items_debited, put_tombstone, put_transaction,
};
use crate::pen::{FieldWriter, ShortFields};
use crate::session_terms::terms_to_bits;
use alloc::string::ToString;
use scurry_ledger::{Allowance, BucketTerms, Cause, ItemAt, ItemKey, Op, Posting, SessionAt, Time};

/// Numbers of the ops. Persisted: a new op takes the next number, and no number is reused.
pub(super) mod number {
    pub(in crate::change) const CREATE: u8 = 1;
    pub(in crate::change) const DELETE: u8 = 2;
    pub(in crate::change) const SET_STATUS: u8 = 3;
    pub(in crate::change) const SET_IDENTITY: u8 = 4;
    pub(in crate::change) const ADD_BUCKET: u8 = 5;
    pub(in crate::change) const SET_BUCKET: u8 = 6;
    pub(in crate::change) const REMOVE_BUCKET: u8 = 7;
    pub(in crate::change) const CREDIT: u8 = 8;
    pub(in crate::change) const VOID: u8 = 9;
    pub(in crate::change) const REFUND: u8 = 10;
    pub(in crate::change) const REFUND_EXPIRED: u8 = 11;
    pub(in crate::change) const DEBIT: u8 = 12;
    pub(in crate::change) const OVERDRAW: u8 = 13;
    pub(in crate::change) const EXPIRE: u8 = 14;
    pub(in crate::change) const SET_COUNTER: u8 = 15;
    pub(in crate::change) const OPEN_SESSION: u8 = 16;
    pub(in crate::change) const ADD_ITEM: u8 = 17;
    pub(in crate::change) const HOLD: u8 = 18;
    pub(in crate::change) const GRANT: u8 = 19;
    pub(in crate::change) const SETTLE: u8 = 20;
    pub(in crate::change) const RELEASE: u8 = 21;
    pub(in crate::change) const RELEASE_EXPIRED: u8 = 22;
    pub(in crate::change) const USE: u8 = 23;
    pub(in crate::change) const SUPERVISE: u8 = 24;
    pub(in crate::change) const SET_BLOB: u8 = 25;
    pub(in crate::change) const STORE_ANSWER: u8 = 26;
    pub(in crate::change) const CLOSE_SESSION: u8 = 27;
    pub(in crate::change) const BURY: u8 = 28;
    pub(in crate::change) const REMEMBER: u8 = 29;
    pub(in crate::change) const NOTE_REFUND: u8 = 30;
    pub(in crate::change) const FORGET: u8 = 31;
    pub(in crate::change) const REMOVE_NAMED_BUCKET: u8 = 32;
    pub(in crate::change) const NAME_SESSION: u8 = 53;
    pub(in crate::change) const SET_LIMIT: u8 = 54;
    pub(in crate::change) const REMOVE_LIMIT: u8 = 55;
    pub(in crate::change) const BEGIN_LIMIT_PERIOD: u8 = 56;
    pub(in crate::change) const COUNT_USE: u8 = 57;
    pub(in crate::change) const UNCOUNT_USE: u8 = 58;
    pub(in crate::change) const REACH_THRESHOLD: u8 = 59;
    pub(in crate::change) const SET_ALLOWANCE: u8 = 60;
    pub(in crate::change) const END_ALLOWANCE: u8 = 61;
    pub(in crate::change) const BEGIN_PERIOD: u8 = 62;
    pub(in crate::change) const NOTE_ITEM_REFUND: u8 = 63;
    pub(in crate::change) const REMEMBER_ITEMS: u8 = 64;
    pub(in crate::change) const REMEMBER_DENIED: u8 = 65;
    pub(in crate::change) const ADD_NAMED_ITEM: u8 = 66;
    pub(in crate::change) const LATE_USE: u8 = 70;
    pub(in crate::change) const NOTE_LATE: u8 = 71;
    pub(in crate::change) const BEGIN_PERIOD_IN_DEBT: u8 = 72;
    pub(in crate::change) const TRANSIT: u8 = 75;
    pub(in crate::change) const FORGET_RECEIPT: u8 = 76;
    pub(in crate::change) const FALL_SHORT: u8 = 77;
    pub(in crate::change) const SET_BUCKET_KEYS: u8 = 78;
    pub(in crate::change) const KEEP_IDENTITY: u8 = 79;
    pub(in crate::change) const FORGET_IDENTITY: u8 = 80;
    pub(in crate::change) const SET_ALLOWANCE_WITH_TERMS: u8 = 73;
    pub(in crate::change) const UNCOUNT_USE_OF_PART: u8 = 74;
    pub(in crate::change) const NAME_ITEM: u8 = 81;
    pub(in crate::change) const NAME_NAMED_ITEM: u8 = 82;
    pub(in crate::change) const NAME_KEY: u8 = 83;
    pub(in crate::change) const NAME_BLOB: u8 = 84;
    pub(in crate::change) const NAME_IDENTITIES: u8 = 85;
    pub(in crate::change) const DENY: u8 = 86;
    pub(in crate::change) const BELOW_MARK: u8 = 87;
    pub(in crate::change) const ABOVE_MARK: u8 = 88;
}

/// Bits of the bucket attributes that follow. Attributes without a bit are 0, or none for `valid_to` and the mark.
pub(super) const VALID_FROM: u8 = 1;
pub(super) const VALID_TO: u8 = 2;
pub(super) const FLOOR: u8 = 4;
pub(super) const MARK: u8 = 8;

/// Returns the default Tcc of a validity, ms.
pub(super) fn twice(validity_ms: i64) -> i64 {
    validity_ms.wrapping_mul(2)
}

/// Writes an op, and notes the bucket that it names.
#[inline]
pub(super) fn put(pen: &mut FieldWriter<'_>, op: &Op, at: Time, touched: &mut TouchedBuckets) {
    match op {
        Op::Hold(item, posting) => put_on_item(pen, number::HOLD, *item, posting, touched),
        Op::Settle(item, posting) => put_on_item(pen, number::SETTLE, *item, posting, touched),
        Op::Release(item, posting) => put_on_item(pen, number::RELEASE, *item, posting, touched),
        Op::ReleaseExpired(item, posting) => {
            put_on_item(pen, number::RELEASE_EXPIRED, *item, posting, touched);
        }
        Op::Grant { at: item, amount, request } => pen.fields(|line| {
            put_item(line, number::GRANT, *item);
            line.amount(*amount);
            line.varint(u64::from(*request));
        }),
        Op::FallShort(item, standing) => pen.fields(|line| {
            put_item(line, number::FALL_SHORT, *item);
            line.byte(*standing as u8);
        }),
        Op::Use { at: item, used, direct, uncollected } => pen.fields(|line| {
            put_item(line, number::USE, *item);
            line.amount(*used);
            line.amount(*direct);
            line.amount(*uncollected);
        }),
        Op::Supervise { session, validity_ms, tcc_ms, deadline } => pen.fields(|line| {
            put_session(line, number::SUPERVISE, *session);
            line.amount(*validity_ms);
            // In most cases Tcc is twice the validity and starts now, so each takes one byte.
            line.signed(tcc_ms.wrapping_sub(twice(*validity_ms)));
            line.time(*deadline, Time(at.0.wrapping_add(*tcc_ms)));
        }),
        Op::StoreAnswer { session, answer, answers_max } => {
            pen.fields(|line| {
                put_session(line, number::STORE_ANSWER, *session);
                line.varint(u64::from(answer.request().number));
            });
            pen.string(answer.bytes_after_request());
            pen.byte(*answers_max);
        }
        Op::NameSession(id) => {
            pen.byte(number::NAME_SESSION);
            pen.string(id.as_bytes());
        }
        Op::NameItem { at: item, key: ItemKey::Number(key), unit } => {
            pen.fields(|line| {
                put_item(line, number::NAME_ITEM, *item);
                line.varint(u64::from(*key));
            });
            pen.name(unit);
        }
        Op::CloseSession(session) => {
            pen.fields(|line| put_session(line, number::CLOSE_SESSION, *session));
        }
        Op::Credit(posting) => put_posting(pen, number::CREDIT, posting, touched),
        Op::Void(posting) => put_posting(pen, number::VOID, posting, touched),
        Op::Refund(posting) => put_posting(pen, number::REFUND, posting, touched),
        Op::RefundExpired(posting) => put_posting(pen, number::REFUND_EXPIRED, posting, touched),
        Op::Debit(posting) => put_posting(pen, number::DEBIT, posting, touched),
        Op::Overdraw(posting) => put_posting(pen, number::OVERDRAW, posting, touched),
        Op::Expire(posting) => put_posting(pen, number::EXPIRE, posting, touched),
        _ => put_rarer(pen, op, at, touched),
    }
}

/// Does the same as [`put`] for ops that few Changes have. Kept apart so that the code of the others stays short.
#[inline(never)]
fn put_rarer(pen: &mut FieldWriter<'_>, op: &Op, at: Time, touched: &mut TouchedBuckets) {
    match op {
        Op::Create(status) => {
            pen.byte(number::CREATE);
            pen.byte(*status as u8);
        }
        Op::Delete => pen.byte(number::DELETE),
        Op::SetStatus(status) => {
            pen.byte(number::SET_STATUS);
            pen.byte(*status as u8);
        }
        Op::SetIdentity { kind, value } => {
            pen.byte(number::SET_IDENTITY);
            pen.name(kind);
            pen.string(value.as_bytes());
        }
        Op::AddBucket { id, unit, terms } => {
            pen.byte(number::ADD_BUCKET);
            pen.name(id);
            pen.name(unit);
            put_terms(pen, terms, at);
            touched.note_begun(*id);
        }
        Op::SetBucket { bucket, terms } => {
            pen.byte(number::SET_BUCKET);
            pen.varint(u64::from(bucket.0));
            put_terms(pen, terms, at);
            touched.note(*bucket);
        }
        // The bucket does not exist after the Change, so it has no balance to report and is not noted.
        Op::RemoveBucket { bucket, named: None } => {
            pen.byte(number::REMOVE_BUCKET);
            pen.varint(u64::from(bucket.0));
        }
        Op::RemoveBucket { bucket, named: Some((id, unit)) } => {
            pen.byte(number::REMOVE_NAMED_BUCKET);
            pen.varint(u64::from(bucket.0));
            pen.name(id);
            pen.name(unit);
        }
        Op::SetAllowance(allowance) => {
            let Allowance { bucket, cycle, amount, period_start, rollover, debt, owed } = allowance;
            let is_plain = !allowance.has_terms();
            pen.fields(|line| {
                line.byte(if is_plain {
                    number::SET_ALLOWANCE
                } else {
                    number::SET_ALLOWANCE_WITH_TERMS
                });
                line.varint(u64::from(bucket.0));
            });
            put_cycle(pen, *cycle);
            pen.fields(|line| {
                line.amount(*amount);
                line.time(*period_start, at);
            });
            if !is_plain {
                pen.fields(|line| {
                    line.amount(*rollover);
                    line.byte(debt.number());
                    line.amount(*owed);
                });
            }
            touched.note(*bucket);
        }
        Op::SetBucketKeys(set) => {
            pen.fields(|line| {
                line.byte(number::SET_BUCKET_KEYS);
                line.varint(u64::from(set.bucket.0));
                line.varint(set.keys.len() as u64);
            });
            for key in &set.keys {
                pen.string(key.to_string().as_bytes());
            }
            touched.note(set.bucket);
        }
        Op::EndAllowance(bucket) => {
            pen.fields(|line| {
                line.byte(number::END_ALLOWANCE);
                line.varint(u64::from(bucket.0));
            });
            touched.note(*bucket);
        }
        Op::BeginPeriod { bucket, period_start, carried } => {
            let in_debt = *carried != 0;
            pen.fields(|line| {
                line.byte(if in_debt {
                    number::BEGIN_PERIOD_IN_DEBT
                } else {
                    number::BEGIN_PERIOD
                });
                line.varint(u64::from(bucket.0));
                line.time(*period_start, at);
                if in_debt {
                    line.amount(*carried);
                }
            });
            touched.note(*bucket);
        }
        Op::SetCounter { id, unit, cycle, period_start, value } => {
            pen.byte(number::SET_COUNTER);
            pen.name(id);
            pen.name(unit);
            put_counter_cycle(pen, *cycle);
            pen.time(*period_start, at);
            pen.signed(*value);
        }
        Op::OpenSession { id, terms } => {
            pen.byte(number::OPEN_SESSION);
            pen.string(id.as_bytes());
            pen.byte(terms_to_bits(*terms));
        }
        Op::AddItem { session, key, unit } => {
            match key {
                ItemKey::Number(key) => pen.fields(|line| {
                    put_session(line, number::ADD_ITEM, *session);
                    line.varint(u64::from(*key));
                }),
                ItemKey::Id(id) => {
                    pen.fields(|line| put_session(line, number::ADD_NAMED_ITEM, *session));
                    pen.string(id.as_bytes());
                }
            }
            pen.name(unit);
        }
        Op::SetBlob(session, blob) => {
            pen.fields(|line| put_session(line, number::SET_BLOB, *session));
            pen.string(blob);
        }
        Op::StoreTombstone(tombstone) => {
            pen.byte(number::BURY);
            put_tombstone(pen, tombstone, at);
        }
        Op::Remember(transaction) if !transaction.items.is_empty() => {
            pen.byte(number::REMEMBER_ITEMS);
            put_items_debited(pen, transaction, at);
        }
        Op::Remember(transaction) if transaction.cause == Cause::of(transaction.code) => {
            pen.byte(number::REMEMBER);
            put_transaction(pen, transaction, at);
        }
        Op::Remember(transaction) => {
            pen.byte(number::REMEMBER_DENIED);
            put_denied(pen, transaction, at);
        }
        // Not noted: another op of the same Change makes the refund and notes the bucket.
        Op::NoteRefund { debit, item, posting } => {
            pen.byte(if *item == 0 { number::NOTE_REFUND } else { number::NOTE_ITEM_REFUND });
            pen.string(debit.as_bytes());
            if *item != 0 {
                pen.byte(*item);
            }
            pen.fields(|line| {
                line.varint(u64::from(posting.bucket.0));
                line.amount(posting.amount);
            });
        }
        Op::Forget => pen.byte(number::FORGET),
        Op::SetLimit(limit) => {
            pen.byte(number::SET_LIMIT);
            put_limit(pen, limit, at);
        }
        Op::RemoveLimit(id) => {
            pen.byte(number::REMOVE_LIMIT);
            pen.name(id);
        }
        Op::BeginLimitPeriod { limit, start } => {
            pen.byte(number::BEGIN_LIMIT_PERIOD);
            pen.byte(limit.0);
            pen.time(*start, at);
        }
        Op::CountUse { limit, used, overrun } => pen.fields(|line| {
            line.bytes([number::COUNT_USE, limit.0]);
            line.amount(*used);
            line.amount(*overrun);
        }),
        Op::UncountUse { limit, part, amount } => pen.fields(|line| {
            match part {
                0 => line.bytes([number::UNCOUNT_USE, limit.0]),
                _ => line.bytes([number::UNCOUNT_USE_OF_PART, limit.0, *part]),
            }
            line.amount(*amount);
        }),
        Op::ReachThreshold { limit, percent, used, amount } => {
            pen.byte(number::REACH_THRESHOLD);
            pen.name(limit);
            pen.fields(|line| {
                line.byte(*percent);
                line.amount(*used);
                line.amount(*amount);
            });
        }
        Op::CrossMark { bucket, mark, is_below } => {
            pen.byte(if *is_below { number::BELOW_MARK } else { number::ABOVE_MARK });
            pen.varint(u64::from(bucket.0));
            pen.signed(*mark);
            touched.note(*bucket);
        }
        Op::LateUse { key, unit, used, uncollected } => {
            pen.byte(number::LATE_USE);
            match key {
                ItemKey::Number(key) => {
                    pen.string(&[]);
                    pen.varint(u64::from(*key));
                }
                ItemKey::Id(id) => pen.string(id.as_bytes()),
            }
            pen.name(unit);
            pen.fields(|line| {
                line.amount(*used);
                line.amount(*uncollected);
            });
        }
        Op::NoteLate(late) => {
            pen.byte(number::NOTE_LATE);
            pen.string(late.session.as_bytes());
            pen.string(late.answer.as_bytes());
            pen.time(late.forget_at, at);
            pen.byte(late.answers_max);
        }
        Op::Transit(change) => {
            pen.byte(number::TRANSIT);
            pen.name(&change.unit);
            pen.signed(change.amount);
        }
        Op::KeepIdentity { kind, value, forget_at } => {
            pen.byte(number::KEEP_IDENTITY);
            pen.name(kind);
            pen.string(value.as_bytes());
            pen.time(*forget_at, at);
        }
        Op::ForgetIdentity { kind, value } => {
            pen.byte(number::FORGET_IDENTITY);
            pen.name(kind);
            pen.string(value.as_bytes());
        }
        Op::ForgetReceipt(id) => {
            pen.byte(number::FORGET_RECEIPT);
            pen.string(id.as_bytes());
        }
        Op::NameItem { at: item, key, unit } => {
            pen.fields(|line| put_item(line, number::NAME_NAMED_ITEM, *item));
            pen.string(key.to_string().as_bytes());
            pen.name(unit);
        }
        Op::NameKey(key) => {
            pen.byte(number::NAME_KEY);
            pen.string(key.to_string().as_bytes());
        }
        Op::NameBlob(session, blob) => {
            pen.fields(|line| put_session(line, number::NAME_BLOB, *session));
            pen.string(blob);
        }
        Op::NameIdentities(identities) => {
            pen.byte(number::NAME_IDENTITIES);
            pen.varint(identities.len() as u64);
            for identity in identities {
                pen.name(&identity.kind);
                pen.string(identity.value.as_bytes());
            }
        }
        Op::Deny(denial) => {
            pen.byte(number::DENY);
            put_denial(pen, denial);
        }
        Op::NameSession(_)
        | Op::Hold(..)
        | Op::Settle(..)
        | Op::Release(..)
        | Op::ReleaseExpired(..)
        | Op::Grant { .. }
        | Op::FallShort(..)
        | Op::Use { .. }
        | Op::Supervise { .. }
        | Op::StoreAnswer { .. }
        | Op::CloseSession(_)
        | Op::Credit(_)
        | Op::Void(_)
        | Op::Refund(_)
        | Op::RefundExpired(_)
        | Op::Debit(_)
        | Op::Overdraw(_)
        | Op::Expire(_) => unreachable!("it is written before"),
    }
}

#[inline]
fn put_posting(
    pen: &mut FieldWriter<'_>,
    number: u8,
    posting: &Posting,
    touched: &mut TouchedBuckets,
) {
    touched.note(posting.bucket);
    pen.fields(|line| {
        line.byte(number);
        line.varint(u64::from(posting.bucket.0));
        line.amount(posting.amount);
    });
}

#[inline]
fn put_session(line: &mut ShortFields<'_>, number: u8, session: SessionAt) {
    line.byte(number);
    line.varint(u64::from(session.0));
}

#[inline]
fn put_item(line: &mut ShortFields<'_>, number: u8, item: ItemAt) {
    put_session(line, number, item.session);
    line.byte(item.item);
}

#[inline]
fn put_on_item(
    pen: &mut FieldWriter<'_>,
    number: u8,
    item: ItemAt,
    posting: &Posting,
    touched: &mut TouchedBuckets,
) {
    touched.note(posting.bucket);
    let (session, bucket) = (item.session.0, u32::from(posting.bucket.0));
    pen.fields(|line| {
        if session | bucket < 0x80 {
            // In nearly all cases each of the four fields fits one byte.
            line.bytes([number, session as u8, item.item, bucket as u8]);
        } else {
            put_item(line, number, item);
            line.varint(u64::from(bucket));
        }
        line.amount(posting.amount);
    });
}

fn put_terms(pen: &mut FieldWriter<'_>, terms: &BucketTerms, at: Time) {
    let mut flags = 0;
    if terms.valid_from != Time(0) {
        flags |= VALID_FROM;
    }
    if terms.valid_to.is_some() {
        flags |= VALID_TO;
    }
    if terms.floor != 0 {
        flags |= FLOOR;
    }
    if terms.mark.is_some() {
        flags |= MARK;
    }
    pen.byte(flags);
    pen.signed(i64::from(terms.priority));
    if terms.valid_from != Time(0) {
        pen.time(terms.valid_from, at);
    }
    if let Some(valid_to) = terms.valid_to {
        pen.time(valid_to, at);
    }
    if terms.floor != 0 {
        pen.signed(terms.floor);
    }
    if let Some(mark) = terms.mark {
        pen.signed(mark);
    }
}
