//! Section 11: CREATE, STATUS, DELETE.

use super::calendar::Zone;
use super::limit::clock_is_fine;
use super::session;
use super::state::{Allowance, Bucket, Former, State, Transaction};
use super::{Context, RECEIPT, Refusal, id, require, txn_id};
use scurry_ledger::{
    Answer, BucketAttributes, Code, Create, DebtRule, ItemKey, Limits, Name, NewBucket, Period,
    PeriodClock, Status,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn create(
    account: &mut Option<State>,
    context: Context<'_>,
    create: &Create<'_>,
    body: String,
) -> Result<Answer, Refusal> {
    let known = known(account.as_ref(), context, create.txn);
    if let Some(known) = known.filter(|known| known.body == body) {
        return Err(Refusal::Replay(known.answer.clone()));
    }
    let txn = create.txn.map(txn_id).transpose()?;
    let limits = context.limits;
    require(create.status != Status::Closed, Code::Invalid)?;
    require(create.identities.len() <= limits.identities_max, Code::Invalid)?;
    require(create.buckets.len() <= limits.buckets_max, Code::Invalid)?;
    let kinds: BTreeSet<Name> = create.identities.iter().map(|identity| identity.0).collect();
    require(kinds.len() == create.identities.len(), Code::Invalid)?;
    let names: BTreeSet<Name> = create.buckets.iter().map(|new| new.bucket).collect();
    require(names.len() == create.buckets.len(), Code::Invalid)?;
    let mut identities = vec![];
    for (kind, value) in create.identities {
        identities.push((kind.as_str().to_string(), id(value)?));
    }
    let mut state = State {
        status: create.status,
        version: 1,
        changed_at: context.now,
        identities,
        former: vec![],
        buckets: vec![],
        buckets_ever: 0,
        counters: BTreeMap::new(),
        limits: vec![],
        uncollected: BTreeMap::new(),
        sessions: BTreeMap::new(),
        closed: vec![],
        transactions: vec![],
    };
    for (index, new) in create.buckets.iter().enumerate() {
        require(new.amount >= 0, Code::Invalid)?;
        let keys = create.keys.iter().filter(|(of, _)| *of == index);
        let keys: Vec<ItemKey> = keys.map(|(_, key)| *key).collect();
        require(keys_are_fine(&keys), Code::Invalid)?;
        add_bucket(&mut state, context.now, new, &keys)?;
    }
    require(known.is_none(), Code::RequestMismatch)?;
    require(account.is_none(), Code::AccountExists)?;
    // Checked only now, because it depends on the time.
    let in_future = |new: &NewBucket| ends_after(&new.attributes, context.now);
    require(create.buckets.iter().all(in_future), Code::Invalid)?;
    state.fits()?;
    let answer = Answer::Account { code: Code::Ok, version: 1 };
    remember(&mut state, context, txn, body, &answer);
    *account = Some(state);
    Ok(answer)
}

/// Returns for how long a former identity is kept at first, ms.
pub(super) fn kept_for(limits: &Limits) -> i64 {
    match (limits.transaction_ms, limits.tombstone_ms) {
        (0, 0) => 1_000,
        (0, tombstone_ms) => tombstone_ms,
        (transaction_ms, _) => transaction_ms,
    }
}

/// Returns the remembered transaction with this id.
fn known<'s>(
    state: Option<&'s State>,
    context: Context<'_>,
    txn: Option<&[u8]>,
) -> Option<&'s Transaction> {
    let txn = id(txn?).ok()?;
    state?.remembered(context.now).find(|known| known.id == txn)
}

/// Executes a RELEASE: with a transaction id it is remembered, like a STATUS.
pub(super) fn release(
    account: &mut Option<State>,
    context: Context<'_>,
    (session, txn): (&[u8], Option<&[u8]>),
    cancel: bool,
    body: String,
) -> Result<Answer, Refusal> {
    id(session)?;
    let new = txn.map(txn_id).transpose()?;
    if let Some(known) = known(account.as_ref(), context, txn) {
        require(known.body == body, Code::RequestMismatch)?;
        return Err(Refusal::Replay(known.answer.clone()));
    }
    let remembered = account.as_ref().map_or(0, |state| state.remembered(context.now).count());
    let answer = session::release(account, context, session, cancel)?;
    require(new.is_none() || remembered < context.limits.transactions_max, Code::Busy)?;
    if let Some(state) = account {
        remember(state, context, new, body, &answer);
    }
    Ok(answer)
}

/// Remembers the answer to a command with a transaction id.
fn remember(
    state: &mut State,
    context: Context<'_>,
    txn: Option<String>,
    body: String,
    answer: &Answer,
) {
    let Some(id) = txn else { return };
    let forget = context.now.saturating_add(context.limits.transaction_ms);
    let (answer, parts) = (answer.clone(), None);
    let new = Transaction { id, body, answer, forget, parts, has_items: false };
    state.remember(context.now, new);
}

/// Reports whether the validity, if set, has not ended yet.
pub(super) fn ends_after(attributes: &BucketAttributes, now: i64) -> bool {
    attributes.valid_to.flatten().is_none_or(|to| to.0 > now)
}

/// Reports whether a bucket may be for these items.
pub(super) fn keys_are_fine(keys: &[ItemKey]) -> bool {
    keys.len() <= 64 && keys.iter().collect::<BTreeSet<_>>().len() == keys.len()
}

/// Adds a bucket with its first credit. The caller checks that its validity has not ended.
pub(super) fn add_bucket(
    state: &mut State,
    now: i64,
    new: &NewBucket,
    keys: &[ItemKey],
) -> Result<(), Code> {
    let attributes = &new.attributes;
    let from = attributes.valid_from.map_or(0, |time| time.0);
    let to = attributes.valid_to.flatten().map(|time| time.0);
    let floor = attributes.floor.unwrap_or(0);
    require(floor <= 0, Code::Invalid)?;
    require(to.is_none_or(|to| to > from), Code::Invalid)?;
    require(allowance_is_fine(attributes), Code::Invalid)?;
    let period = attributes.period.filter(|&period| period != Period::None);
    let allowance = period.map(|period| Allowance {
        zone: Zone::given(period, &attributes.clock, None),
        amount: attributes.refill.unwrap_or(new.amount).into(),
        rollover: attributes.rollover.unwrap_or(0).into(),
        debt: attributes.debt.unwrap_or(DebtRule::Net),
        owed: 0,
        since: now,
    });
    require(allowance.is_none_or(|allowance| allowance.amount > 0), Code::Invalid)?;
    state.buckets.push(Bucket {
        serial: state.buckets_ever,
        id: new.bucket.as_str().to_string(),
        unit: new.unit.as_str().to_string(),
        priority: attributes.priority.unwrap_or(0),
        created: now,
        from,
        to,
        floor: floor.into(),
        mark: attributes.mark.flatten().map(i128::from),
        credited: new.amount.into(),
        refunded: 0,
        consumed: 0,
        expired: 0,
        voided: 0,
        overdrawn: 0,
        refills: 0,
        noted: BTreeMap::new(),
        allowance,
        keys: keys.iter().map(ToString::to_string).collect(),
    });
    state.buckets_ever += 1;
    Ok(())
}

/// Checks an allowance: OFFSET and AMOUNT need a PERIOD other than none, OFFSET is at most 14 hours from UTC, and
/// AMOUNT >= 1.
pub(super) fn allowance_is_fine(attributes: &BucketAttributes) -> bool {
    let has_none = matches!(attributes.period, None | Some(Period::None));
    let alone = attributes.clock != PeriodClock::NONE
        || attributes.refill.is_some()
        || attributes.rollover.is_some()
        || attributes.debt.is_some();
    let fine =
        clock_is_fine(attributes.period, &attributes.clock) && attributes.clock.begin != Some(255);
    !(has_none && alone)
        && fine
        && attributes.refill.is_none_or(|amount| amount >= 1)
        && attributes.rollover.is_none_or(|units| units >= 0)
}

pub(super) fn status(
    account: &mut Option<State>,
    context: Context<'_>,
    txn: Option<&[u8]>,
    (status, identities): (Status, &[(Name, &[u8])]),
    body: String,
) -> Result<Answer, Refusal> {
    let new = txn.map(txn_id).transpose()?;
    for (_, value) in identities {
        require(value.is_empty() || id(value).is_ok(), Code::Invalid)?;
    }
    if let Some(known) = known(account.as_ref(), context, txn) {
        require(known.body == body, Code::RequestMismatch)?;
        return Err(Refusal::Replay(known.answer.clone()));
    }
    let state = account.as_mut().ok_or(Code::UnknownAccount)?;
    let remembered = state.remembered(context.now).count();
    let reopened = state.status == Status::Closed && status != Status::Closed;
    require(!reopened, Code::NotApplicable)?;
    let before = state.identities.clone();
    for (kind, value) in identities {
        state.identities.retain(|(other, _)| other != kind.as_str());
        if !value.is_empty() {
            state.identities.push((kind.as_str().to_string(), id(value)?));
            require(state.identities.len() <= context.limits.identities_max, Code::Invalid)?;
        }
    }
    state.former.retain(|former| !state.identities.contains(&former.identity));
    if state.knows_a_session(context.now) {
        for identity in before.into_iter().filter(|one| !state.identities.contains(one)) {
            let forget = context.now + kept_for(context.limits);
            state.former.push(Former { identity, since: context.now, forget });
        }
        require(state.former.len() <= 16, Code::Busy)?;
    }
    state.status = status;
    if status == Status::Closed {
        state.buckets.iter_mut().for_each(|bucket| bucket.allowance = None);
    }
    let answer = Answer::Account { code: Code::Ok, version: state.version };
    require(new.is_none() || remembered < context.limits.transactions_max, Code::Busy)?;
    remember(state, context, new, body, &answer);
    Ok(answer)
}

pub(super) fn delete(
    account: &mut Option<State>,
    context: Context<'_>,
    force: bool,
    if_txn: Option<&[u8]>,
) -> Result<Answer, Refusal> {
    let now = context.now;
    let wanted = if_txn.map(txn_id).transpose()?;
    require(wanted.is_none() || force, Code::Invalid)?;
    let Some(state) = account.as_ref() else {
        let gone = Answer::Account { code: Code::Ok, version: 0 };
        let replay = wanted.map(|_| Refusal::Replay(gone));
        return Err(replay.unwrap_or(Refusal::Reject(Code::UnknownAccount)));
    };
    if let Some(wanted) = wanted {
        let has = state.remembered(now).any(|known| known.id == wanted);
        require(has, Code::UnknownTransaction)?;
    }
    let empty = |bucket: &Bucket| state.available(bucket.serial) + state.held(bucket.serial) == 0;
    let forgotten = state.tombstones(now).count() + state.remembered(now).count() == 0;
    require(state.status == Status::Closed, Code::NotEmpty)?;
    require(state.sessions.is_empty(), Code::NotEmpty)?;
    require(state.buckets.iter().all(empty), Code::NotEmpty)?;
    let is_receipt = |id: &str| id.starts_with(RECEIPT);
    require(state.remembered(now).all(|known| !is_receipt(&known.id)), Code::NotEmpty)?;
    require(forgotten || force, Code::NotEmpty)?;
    let version = state.version;
    *account = None;
    Ok(Answer::Account { code: Code::Ok, version })
}
