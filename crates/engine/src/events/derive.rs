//! Derives events from the facts of a Change.

use super::origin::{Origins, tombstone};
use super::{Ending, Event, Movement, Origin};
use scurry_ledger::{BucketNo, Change, Code, Op, Posting, TombstoneKind, Transaction};

/// An event with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventWithOrigin {
    /// The event.
    pub event: Event,
    /// The origin.
    pub origin: Origin,
}

/// Derives the events of a Change, in the order of its facts. Movements of the same kind, bucket and item are combined
/// into one event, at the place of the first.
pub fn events_of(change: &Change, events: &mut Vec<EventWithOrigin>) {
    events.clear();
    let origins = Origins::from_change(change);
    // A short list: it has an entry for each combination of bucket, movement and item.
    let mut moved: Vec<(Movement, BucketNo, usize)> = Vec::new();
    for (at, op) in change.ops.iter().enumerate() {
        if let Some((movement, posting)) = movement(op) {
            let movement = match movement {
                Movement::Credited if origins.is_refill(at) => Movement::Refilled,
                other => other,
            };
            let origin = origins.of_fact(at);
            let one = |(way, bucket, place): &&(Movement, BucketNo, usize)| {
                *way == movement && *bucket == posting.bucket && events[*place].origin == origin
            };
            match moved.iter().find(one).map(|&(_, _, place)| &mut events[place].event) {
                Some(Event::Moved(_, sum)) => {
                    sum.amount = sum.amount.saturating_add(posting.amount);
                }
                _ => {
                    moved.push((movement, posting.bucket, events.len()));
                    events.push(EventWithOrigin { event: Event::Moved(movement, posting), origin });
                }
            }
        } else {
            let origin = origins.of_fact(at);
            if let Some(event) = event(op, &change.ops[at + 1..]) {
                events.push(EventWithOrigin { event, origin });
            }
        }
    }
}

/// Returns the answer that a Change remembers under a transaction id, as an event for readers who ask for it.
pub(super) fn answer_of(change: &Change) -> Option<EventWithOrigin> {
    change.ops.iter().find_map(|op| {
        let Op::Remember(transaction) = op else { return None };
        let Transaction { code, version, amount, cause, .. } = **transaction;
        let event = Event::Answered { code, version, amount, cause };
        let transaction = Some(transaction.id.clone());
        Some(EventWithOrigin { event, origin: Origin { transaction, ..Origin::default() } })
    })
}

fn movement(op: &Op) -> Option<(Movement, Posting)> {
    Some(match op {
        Op::Credit(posting) => (Movement::Credited, *posting),
        Op::Void(posting) => (Movement::Voided, *posting),
        Op::Refund(posting) => (Movement::Refunded, *posting),
        Op::RefundExpired(posting) => (Movement::RefundedExpired, *posting),
        Op::Debit(posting) => (Movement::Debited, *posting),
        Op::Overdraw(posting) => (Movement::Overdrawn, *posting),
        Op::Expire(posting) => (Movement::Expired, *posting),
        Op::Hold(_, posting) => (Movement::Reserved, *posting),
        Op::Settle(_, posting) => (Movement::Settled, *posting),
        Op::Release(_, posting) => (Movement::Released, *posting),
        Op::ReleaseExpired(_, posting) => (Movement::ReleasedExpired, *posting),
        _ => return None,
    })
}

/// Returns the event of a fact that moves no units. How a session ended is recorded by the next fact.
fn event(op: &Op, behind: &[Op]) -> Option<Event> {
    Some(match op {
        Op::Create(status) => Event::Created(*status),
        Op::Delete => Event::Deleted,
        Op::SetStatus(status) => Event::StatusSet(*status),
        Op::SetIdentity { kind, value } => Event::IdentitySet { kind: *kind, value: value.clone() },
        Op::AddBucket { id, unit, terms } => {
            Event::BucketAdded { id: *id, unit: *unit, terms: *terms }
        }
        Op::SetBucket { bucket, terms } => Event::BucketChanged { bucket: *bucket, terms: *terms },
        Op::RemoveBucket { bucket, named } => {
            Event::BucketRemoved { bucket: *bucket, named: *named }
        }
        Op::SetBucketKeys(set) => {
            Event::BucketItemsSet { bucket: set.bucket, keys: set.keys.clone() }
        }
        Op::SetCounter { id, unit, value, .. } => {
            Event::CounterSet { id: *id, unit: *unit, value: *value }
        }
        Op::SetLimit(limit) => Event::LimitSet { id: limit.id, amount: limit.amount },
        Op::RemoveLimit(id) => Event::LimitRemoved(*id),
        Op::ReachThreshold { limit, percent, used, amount } => {
            Event::LimitReached { id: *limit, percent: *percent, used: *used, amount: *amount }
        }
        Op::CrossMark { bucket, mark, is_below: true } => {
            Event::BelowMark { bucket: *bucket, mark: *mark }
        }
        Op::CrossMark { bucket, mark, is_below: false } => {
            Event::AboveMark { bucket: *bucket, mark: *mark }
        }
        Op::OpenSession { .. } => Event::SessionOpened,
        Op::CloseSession(_) => {
            let ending = match behind.iter().find_map(tombstone).map(|known| &known.kind) {
                Some(TombstoneKind::Expired) => Ending::Expired,
                Some(TombstoneKind::Released) => Ending::Released,
                Some(TombstoneKind::Returned { .. }) => Ending::Returned,
                Some(TombstoneKind::Answered { code, .. }) => Ending::Closed(*code),
                Some(TombstoneKind::Unknown) | None => Ending::Closed(Code::Ok),
            };
            Event::SessionEnded(ending)
        }
        Op::LateUse { unit, used, uncollected, .. } => {
            Event::LateUse { unit: *unit, used: *used, uncollected: *uncollected }
        }
        Op::AddItem { key, unit, .. } => Event::ItemAdded { key: *key, unit: *unit },
        Op::Deny(denial) => Event::Denied(**denial),
        Op::Use { uncollected, .. } if *uncollected > 0 => Event::Uncollected(*uncollected),
        // These move units and are handled above.
        Op::Credit(_)
        | Op::Void(_)
        | Op::Refund(_)
        | Op::RefundExpired(_)
        | Op::Debit(_)
        | Op::Overdraw(_)
        | Op::Expire(_)
        | Op::Hold(..)
        | Op::Settle(..)
        | Op::Release(..)
        | Op::ReleaseExpired(..)
        // These change no balance, and what matters in them is covered by another fact.
        | Op::NameSession(_)
        | Op::NameItem { .. }
        | Op::NameKey(_)
        | Op::NameBlob(..)
        | Op::NameIdentities(_)
        | Op::SetAllowance(_)
        | Op::EndAllowance(_)
        | Op::BeginPeriod { .. }
        | Op::Grant { .. }
        | Op::FallShort(..)
        | Op::Use { .. }
        | Op::Supervise { .. }
        | Op::SetBlob(..)
        | Op::StoreAnswer { .. }
        | Op::StoreTombstone(_)
        | Op::Remember(_)
        | Op::NoteRefund { .. }
        | Op::NoteLate(_)
        | Op::Forget
        | Op::Transit(_)
        | Op::ForgetReceipt(_)
        | Op::KeepIdentity { .. }
        | Op::ForgetIdentity { .. }
        | Op::BeginLimitPeriod { .. }
        | Op::CountUse { .. }
        | Op::UncountUse { .. } => return None,
    })
}
