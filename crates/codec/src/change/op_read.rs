//! Reads an op.

use super::limit::{take_counter_cycle, take_cycle_at, take_limit, take_threshold};
use super::op::{FLOOR, MARK, VALID_FROM, VALID_TO, number, twice};
use super::remembered::{
    take_denial, take_denied, take_items_debited, take_tombstone, take_transaction,
};
use super::{ChangeError, ChangeVisitor};
use crate::Malformed;
use crate::cursor::Cursor;
use crate::session_terms::terms_from_bits;
use alloc::boxed::Box;
use alloc::vec::Vec;
use scurry_ledger::{
    Allowance, BUCKET_KEYS_MAX, BucketKeys, BucketNo, BucketTerms, DebtRule, Identity, ItemAt,
    ItemId, ItemKey, LateAnswer, LimitAt, Op, PackedAnswer, Posting, SessionAt, Standing, Status,
    Time, UnitAmount,
};

/// Reads one op and passes it on. Each kind has its own call of `facts`: an op is large, so only the bytes of its kind
/// are written, and the consumer's code for that kind can be inlined here.
#[inline]
pub(super) fn read_op(
    from: &mut Cursor<'_>,
    at: Time,
    facts: &mut impl ChangeVisitor,
) -> Result<(), ChangeError> {
    match from.byte()? {
        number::HOLD => {
            let (item, posting) = take_on_item(from)?;
            facts.visit(Op::Hold(item, posting));
        }
        number::GRANT => facts.visit(Op::Grant {
            at: take_item(from)?,
            amount: from.amount()?,
            request: from.narrow()?,
        }),
        number::SETTLE => {
            let (item, posting) = take_on_item(from)?;
            facts.visit(Op::Settle(item, posting));
        }
        number::RELEASE => {
            let (item, posting) = take_on_item(from)?;
            facts.visit(Op::Release(item, posting));
        }
        number::FALL_SHORT => {
            let item = take_item(from)?;
            let standing = Standing::from_number(from.byte()?).ok_or(Malformed::Choice)?;
            facts.visit(Op::FallShort(item, standing));
        }
        number::USE => facts.visit(Op::Use {
            at: take_item(from)?,
            used: from.amount()?,
            direct: from.amount()?,
            uncollected: from.amount()?,
        }),
        number::SUPERVISE => {
            let (session, validity_ms) = (take_session(from)?, from.amount()?);
            let tcc_ms = twice(validity_ms).wrapping_add(from.signed()?);
            let deadline = from.time(Time(at.0.wrapping_add(tcc_ms)))?;
            facts.visit(Op::Supervise { session, validity_ms, tcc_ms, deadline });
        }
        number::STORE_ANSWER => {
            let session = take_session(from)?;
            let answer = PackedAnswer::of_request(from.narrow()?, from.string()?);
            let (answer, answers_max) = (answer.ok_or(Malformed::Answer)?, from.byte()?);
            facts.visit(Op::StoreAnswer { session, answer, answers_max });
        }
        number::NAME_SESSION => facts.visit(Op::NameSession(from.id()?)),
        number => {
            // Works on a copy: a cursor whose address is not passed to a call can stay in registers.
            let mut behind = from.clone();
            take_rarer(number, &mut behind, at, facts)?;
            *from = behind;
        }
    }
    Ok(())
}

/// Does the same as [`read_op`] for ops that few Changes have, after their number.
#[inline(never)]
fn take_rarer(
    op: u8,
    from: &mut Cursor<'_>,
    at: Time,
    facts: &mut impl ChangeVisitor,
) -> Result<(), ChangeError> {
    match op {
        number::CREATE => facts.visit(Op::Create(take_status(from)?)),
        number::DELETE => facts.visit(Op::Delete),
        number::SET_STATUS => facts.visit(Op::SetStatus(take_status(from)?)),
        number::SET_IDENTITY => {
            facts.visit(Op::SetIdentity { kind: from.name()?, value: from.id_or_empty()? })
        }
        number::ADD_BUCKET => facts.visit(Op::AddBucket {
            id: from.name()?,
            unit: from.name()?,
            terms: take_terms(from, at)?,
        }),
        number::SET_BUCKET => {
            facts.visit(Op::SetBucket { bucket: take_bucket(from)?, terms: take_terms(from, at)? })
        }
        number::REMOVE_BUCKET => {
            facts.visit(Op::RemoveBucket { bucket: take_bucket(from)?, named: None })
        }
        number::REMOVE_NAMED_BUCKET => facts.visit(Op::RemoveBucket {
            bucket: take_bucket(from)?,
            named: Some((from.name()?, from.name()?)),
        }),
        number::CREDIT => facts.visit(Op::Credit(take_posting(from)?)),
        number::VOID => facts.visit(Op::Void(take_posting(from)?)),
        number::REFUND => facts.visit(Op::Refund(take_posting(from)?)),
        number::REFUND_EXPIRED => facts.visit(Op::RefundExpired(take_posting(from)?)),
        number::DEBIT => facts.visit(Op::Debit(take_posting(from)?)),
        number::OVERDRAW => facts.visit(Op::Overdraw(take_posting(from)?)),
        number::EXPIRE => facts.visit(Op::Expire(take_posting(from)?)),
        number::SET_ALLOWANCE => facts.visit(Op::SetAllowance(take_allowance(from, at)?)),
        number::SET_ALLOWANCE_WITH_TERMS => {
            facts.visit(Op::SetAllowance(take_allowance_with_terms(from, at)?))
        }
        number::SET_BUCKET_KEYS => {
            let (bucket, count) = (take_bucket(from)?, from.varint()?);
            if count > BUCKET_KEYS_MAX as u64 {
                return Err(Malformed::Number.into());
            }
            let key = |_| ItemKey::new(from.string()?).ok_or(Malformed::Id);
            let keys = (0..count).map(key).collect::<Result<_, _>>()?;
            facts.visit(Op::SetBucketKeys(Box::new(BucketKeys { bucket, keys })));
        }
        number::END_ALLOWANCE => facts.visit(Op::EndAllowance(take_bucket(from)?)),
        number::BEGIN_PERIOD => facts.visit(Op::BeginPeriod {
            bucket: take_bucket(from)?,
            period_start: from.time(at)?,
            carried: 0,
        }),
        number::BEGIN_PERIOD_IN_DEBT => facts.visit(Op::BeginPeriod {
            bucket: take_bucket(from)?,
            period_start: from.time(at)?,
            carried: take_positive(from)?,
        }),
        number::SET_COUNTER => facts.visit(Op::SetCounter {
            id: from.name()?,
            unit: from.name()?,
            cycle: take_counter_cycle(from)?,
            period_start: from.time(at)?,
            value: from.signed()?,
        }),
        number::OPEN_SESSION => {
            let id = from.id()?;
            let terms = terms_from_bits(from.byte()?).ok_or(Malformed::Choice)?;
            facts.visit(Op::OpenSession { id, terms });
        }
        number::ADD_ITEM => facts.visit(Op::AddItem {
            session: take_session(from)?,
            key: ItemKey::Number(from.narrow()?),
            unit: from.name()?,
        }),
        number::RELEASE_EXPIRED => {
            let (item, posting) = take_on_item(from)?;
            facts.visit(Op::ReleaseExpired(item, posting));
        }
        number::SET_BLOB => facts.visit(Op::SetBlob(take_session(from)?, from.string()?.to_vec())),
        number::CLOSE_SESSION => facts.visit(Op::CloseSession(take_session(from)?)),
        number::BURY => facts.visit(Op::StoreTombstone(Box::new(take_tombstone(from, at)?))),
        number::REMEMBER => facts.visit(Op::Remember(Box::new(take_transaction(from, at)?))),
        number::ADD_NAMED_ITEM => facts.visit(Op::AddItem {
            session: take_session(from)?,
            key: ItemId::new(from.string()?).map(ItemKey::Id).ok_or(Malformed::Id)?,
            unit: from.name()?,
        }),
        number::REMEMBER_DENIED => {
            facts.visit(Op::Remember(Box::new(take_denied(from, at)?)));
        }
        number::NOTE_REFUND => {
            let (debit, item) = (from.id()?, 0);
            facts.visit(Op::NoteRefund { debit, item, posting: take_posting(from)? });
        }
        number::NOTE_ITEM_REFUND => {
            let (debit, item) = (from.id()?, from.byte()?);
            if item == 0 {
                return Err(Malformed::Number.into());
            }
            facts.visit(Op::NoteRefund { debit, item, posting: take_posting(from)? });
        }
        number::REMEMBER_ITEMS => {
            facts.visit(Op::Remember(Box::new(take_items_debited(from, at)?)));
        }
        number::FORGET => facts.visit(Op::Forget),
        number::SET_LIMIT => facts.visit(Op::SetLimit(Box::new(take_limit(from, at)?))),
        number::REMOVE_LIMIT => facts.visit(Op::RemoveLimit(from.name()?)),
        number::BEGIN_LIMIT_PERIOD => facts
            .visit(Op::BeginLimitPeriod { limit: LimitAt(from.byte()?), start: from.time(at)? }),
        number::COUNT_USE => facts.visit(Op::CountUse {
            limit: LimitAt(from.byte()?),
            used: take_positive(from)?,
            overrun: from.amount()?,
        }),
        number::UNCOUNT_USE => {
            let limit = LimitAt(from.byte()?);
            facts.visit(Op::UncountUse { limit, part: 0, amount: take_positive(from)? });
        }
        number::UNCOUNT_USE_OF_PART => {
            let (limit, part) = (LimitAt(from.byte()?), from.byte()?);
            if part == 0 {
                return Err(Malformed::Choice.into());
            }
            facts.visit(Op::UncountUse { limit, part, amount: take_positive(from)? });
        }
        number::REACH_THRESHOLD => facts.visit(Op::ReachThreshold {
            limit: from.name()?,
            percent: take_threshold(from)?,
            used: from.amount()?,
            amount: from.amount()?,
        }),
        number::BELOW_MARK => facts.visit(take_crossing(from, true)?),
        number::ABOVE_MARK => facts.visit(take_crossing(from, false)?),
        number::LATE_USE => {
            let key = match from.string()? {
                [] => ItemKey::Number(from.narrow()?),
                id => ItemId::new(id).map(ItemKey::Id).ok_or(Malformed::Id)?,
            };
            facts.visit(Op::LateUse {
                key,
                unit: from.name()?,
                used: take_positive(from)?,
                uncollected: from.amount()?,
            });
        }
        number::NOTE_LATE => facts.visit(Op::NoteLate(Box::new(LateAnswer {
            session: from.id()?,
            answer: PackedAnswer::from_bytes(from.string()?).ok_or(Malformed::Answer)?,
            forget_at: from.time(at)?,
            answers_max: from.byte()?,
        }))),
        number::TRANSIT => {
            facts.visit(Op::Transit(UnitAmount { unit: from.name()?, amount: from.signed()? }));
        }
        number::KEEP_IDENTITY => {
            let (kind, value) = (from.name()?, from.id()?);
            facts.visit(Op::KeepIdentity { kind, value, forget_at: from.time(at)? });
        }
        number::FORGET_IDENTITY => {
            facts.visit(Op::ForgetIdentity { kind: from.name()?, value: from.id()? });
        }
        number::FORGET_RECEIPT => facts.visit(Op::ForgetReceipt(from.id()?)),
        number::NAME_ITEM => facts.visit(Op::NameItem {
            at: take_item(from)?,
            key: ItemKey::Number(from.narrow()?),
            unit: from.name()?,
        }),
        number::NAME_NAMED_ITEM => {
            let at = take_item(from)?;
            let key = ItemId::new(from.string()?).ok_or(Malformed::Id)?;
            facts.visit(Op::NameItem { at, key: ItemKey::Id(key), unit: from.name()? });
        }
        number::NAME_KEY => {
            facts.visit(Op::NameKey(ItemKey::new(from.string()?).ok_or(Malformed::Id)?));
        }
        number::NAME_BLOB => {
            facts.visit(Op::NameBlob(take_session(from)?, from.string()?.to_vec()));
        }
        number::NAME_IDENTITIES => {
            let count = from.varint()?;
            if count == 0 {
                return Err(Malformed::Number.into());
            }
            let mut identities = Vec::new();
            for _ in 0..count {
                identities.push(Identity { kind: from.name()?, value: from.id()? });
            }
            facts.visit(Op::NameIdentities(identities.into()));
        }
        number::DENY => facts.visit(Op::Deny(Box::new(take_denial(from)?))),
        number => return Err(ChangeError::Op(number)),
    }
    Ok(())
}

#[inline]
fn take_bucket(from: &mut Cursor<'_>) -> Result<BucketNo, Malformed> {
    Ok(BucketNo(from.narrow()?))
}

#[inline]
fn take_posting(from: &mut Cursor<'_>) -> Result<Posting, Malformed> {
    let bucket = take_bucket(from)?;
    Ok(Posting { bucket, amount: take_positive(from)? })
}

#[inline]
fn take_positive(from: &mut Cursor<'_>) -> Result<i64, Malformed> {
    let amount = from.amount()?;
    if amount < 1 { Err(Malformed::Number) } else { Ok(amount) }
}

/// Reads an item, and the posting between its hold and a bucket.
#[expect(clippy::inline_always, reason = "the cursor stays in registers")]
#[inline(always)]
fn take_on_item(from: &mut Cursor<'_>) -> Result<(ItemAt, Posting), Malformed> {
    // In nearly all cases each of the three fields fits one byte.
    let (item, bucket) = match from.single_bytes() {
        Some([session, item, bucket]) => {
            let session = SessionAt(u32::from(session));
            (ItemAt { session, item }, BucketNo(u16::from(bucket)))
        }
        None => (take_item(from)?, take_bucket(from)?),
    };
    Ok((item, Posting { bucket, amount: take_positive(from)? }))
}

#[inline]
fn take_session(from: &mut Cursor<'_>) -> Result<SessionAt, Malformed> {
    Ok(SessionAt(from.narrow()?))
}

#[inline]
fn take_item(from: &mut Cursor<'_>) -> Result<ItemAt, Malformed> {
    Ok(ItemAt { session: take_session(from)?, item: from.byte()? })
}

fn take_status(from: &mut Cursor<'_>) -> Result<Status, Malformed> {
    match from.byte()? {
        0 => Ok(Status::Active),
        1 => Ok(Status::Suspended),
        2 => Ok(Status::Closed),
        _ => Err(Malformed::Choice),
    }
}

fn take_allowance(from: &mut Cursor<'_>, at: Time) -> Result<Allowance, Malformed> {
    let bucket = take_bucket(from)?;
    let cycle = take_cycle_at(from)?;
    let (amount, period_start) = (take_positive(from)?, from.time(at)?);
    let (rollover, debt, owed) = (0, DebtRule::Net, 0);
    Ok(Allowance { bucket, cycle, amount, period_start, rollover, debt, owed })
}

fn take_allowance_with_terms(from: &mut Cursor<'_>, at: Time) -> Result<Allowance, Malformed> {
    let plain = take_allowance(from, at)?;
    let rollover = from.amount()?;
    let debt = DebtRule::from_number(from.byte()?).ok_or(Malformed::Choice)?;
    let allowance = Allowance { rollover, debt, owed: from.amount()?, ..plain };
    // Each allowance has one form.
    if allowance.has_terms() { Ok(allowance) } else { Err(Malformed::Choice) }
}

fn take_crossing(from: &mut Cursor<'_>, is_below: bool) -> Result<Op, Malformed> {
    Ok(Op::CrossMark { bucket: take_bucket(from)?, mark: from.signed()?, is_below })
}

fn take_terms(from: &mut Cursor<'_>, at: Time) -> Result<BucketTerms, Malformed> {
    let flags = from.byte()?;
    if flags & !(VALID_FROM | VALID_TO | FLOOR | MARK) != 0 {
        return Err(Malformed::Choice);
    }
    let priority = i32::try_from(from.signed()?).map_err(|_| Malformed::Number)?;
    let valid_from = if flags & VALID_FROM == 0 { Time(0) } else { from.time(at)? };
    let valid_to = if flags & VALID_TO == 0 { None } else { Some(from.time(at)?) };
    let floor = if flags & FLOOR == 0 { 0 } else { from.signed()? };
    let mark = if flags & MARK == 0 { None } else { Some(from.signed()?) };
    // An attribute of 0 must be left out, so that each Change has one form.
    if (flags & VALID_FROM != 0 && valid_from == Time(0)) || (flags & FLOOR != 0 && floor == 0) {
        return Err(Malformed::Number);
    }
    Ok(BucketTerms { priority, valid_from, valid_to, floor, mark })
}
