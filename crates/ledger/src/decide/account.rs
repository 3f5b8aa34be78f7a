//! CREATE, STATUS, DELETE (docs/ledger.md section 11).

use super::draft::Draft;
use super::due::expire_due;
use super::fields::check_end;
use super::former::keep_given_up;
use super::transaction::{BalanceOutcome, check_body, check_room, remember};
use super::{Outcome, Step, fields, reject};
use crate::digest::CommandBody;
use crate::{
    Allowance, Answer, BucketAttributes, BucketKeys, BucketNo, BucketTerms, Code, Create, Cycle,
    Id, ItemKey, Name, Op, Period, Posting, Status, Time,
};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Returns the terms of a new bucket.
pub(super) fn new_terms(attributes: &BucketAttributes) -> BucketTerms {
    BucketTerms {
        priority: attributes.priority.unwrap_or(0),
        valid_from: attributes.valid_from.unwrap_or(Time(0)),
        valid_to: attributes.valid_to.flatten(),
        floor: attributes.floor.unwrap_or(0),
        mark: attributes.mark.flatten(),
    }
}

/// Returns the allowance of a new bucket. Its first period is the present one, which the first credit covers.
pub(super) fn new_allowance(
    bucket: BucketNo,
    first_credit: i64,
    attributes: &BucketAttributes,
    now: Time,
) -> Option<Allowance> {
    let period = attributes.period.filter(|&period| period != Period::None)?;
    let cycle = attributes.clock.cycle(period, Cycle::NONE);
    Some(Allowance {
        bucket,
        cycle,
        amount: attributes.refill.unwrap_or(first_credit),
        period_start: cycle.start(now),
        rollover: attributes.rollover.unwrap_or(0),
        debt: attributes.debt.unwrap_or_default(),
        owed: 0,
    })
}

pub(super) fn create(
    draft: &mut Draft<'_>,
    create: &Create<'_>,
    body: &CommandBody,
) -> Step<Outcome> {
    if draft.account_exists() {
        // A retry under the same transaction id gets its stored answer; any other CREATE conflicts.
        if let Some(known) = duplicate(draft, create.txn, body)? {
            return Ok(Outcome::Replay(known));
        }
        return reject(
            Code::AccountExists,
            "an account with this id exists: read it with SCUR.GET",
        );
    }
    create.buckets.iter().try_for_each(|new| check_end(&new.attributes, draft.now))?;
    draft.record(Op::Create(create.status));
    for (kind, value) in create.identities {
        set_identity(draft, *kind, value);
    }
    for (index, new) in create.buckets.iter().enumerate() {
        let no = BucketNo(draft.account().next_bucket);
        let terms = new_terms(&new.attributes);
        draft.record(Op::AddBucket { id: new.bucket, unit: new.unit, terms });
        let keys: Vec<ItemKey> = create.keys_of(index).collect();
        if !keys.is_empty() {
            draft.record(Op::SetBucketKeys(Box::new(BucketKeys { bucket: no, keys })));
        }
        let allowance = new_allowance(no, new.amount, &new.attributes, draft.now);
        if let Some(allowance) = allowance {
            draft.record_allowance(allowance)?;
        }
        if new.amount > 0 {
            draft.record_inflow(Op::Credit, Posting { bucket: no, amount: new.amount })?;
        }
    }
    // No check for room: a new account always has room for one transaction id.
    Ok(done(draft, create.txn, body))
}

/// Returns the answer remembered under the transaction id, if there is one.
fn duplicate(draft: &Draft<'_>, txn: Option<&[u8]>, body: &CommandBody) -> Step<Option<Answer>> {
    let Some(known) = txn.and_then(|txn| draft.account().transactions.find(txn)) else {
        return Ok(None);
    };
    check_body(&known, body)?;
    Ok(Some(Answer::Account { code: known.code, version: known.version }))
}

/// Does the same as [`duplicate`], for a command whose fields are refused now.
pub(super) fn stored(draft: &mut Draft<'_>, txn: &[u8], body: &CommandBody) -> Option<Answer> {
    if !draft.account_exists() {
        return None;
    }
    expire_due(draft);
    duplicate(draft, Some(txn), body).ok().flatten()
}

/// Ends a command, and remembers it if it has a transaction id.
fn done(draft: &mut Draft<'_>, txn: Option<&[u8]>, body: &CommandBody) -> Outcome {
    let version = draft.next_version();
    if let Some(txn) = txn {
        remember(draft, txn, body, BalanceOutcome::ok(0));
    }
    Outcome::Commit(Answer::Account { code: Code::Ok, version })
}

fn set_identity(draft: &mut Draft<'_>, kind: Name, value: &[u8]) {
    let value = Id::new(value).unwrap_or(Id::EMPTY);
    draft.record(Op::SetIdentity { kind, value });
}

pub(super) fn status(
    draft: &mut Draft<'_>,
    txn: Option<&[u8]>,
    (status, identities): (Status, &[(Name, &[u8])]),
    body: &CommandBody,
) -> Step<Outcome> {
    if let Some(known) = duplicate(draft, txn, body)? {
        return Ok(Outcome::Replay(known));
    }
    if draft.account().status == Status::Closed && status != Status::Closed {
        return reject(Code::NotApplicable, "a closed account stays closed");
    }
    draft.record(Op::SetStatus(status));
    // Nothing is credited to a closed account any more.
    while status == Status::Closed
        && let Some(&Allowance { bucket, .. }) = draft.account().allowances.first()
    {
        draft.record(Op::EndAllowance(bucket));
    }
    let before = match identities.is_empty() {
        true => Vec::new(),
        false => draft.account().identities.clone(),
    };
    for (kind, value) in identities {
        let identities = &draft.account().identities;
        // Only a kind that the account does not have yet adds an identity.
        if !value.is_empty() && !identities.iter().any(|identity| identity.kind == *kind) {
            let bound = ("identities_max", draft.limits.identities_max);
            let why = "the account would have more identities: remove one first, by an empty value";
            fields::within(identities.len() + 1, bound, why)?;
        }
        set_identity(draft, *kind, value);
    }
    keep_given_up(draft, before)?;
    if txn.is_some() {
        check_room(draft)?;
    }
    Ok(done(draft, txn, body))
}

pub(super) fn delete(draft: &mut Draft<'_>, force: bool, if_txn: Option<&[u8]>) -> Step<Outcome> {
    let account = draft.account();
    if if_txn.is_some_and(|txn| account.transactions.find(txn).is_none()) {
        return reject(
            Code::UnknownTransaction,
            "the account does not remember the transaction of IFTXN: it was deleted and made again, \
             or the id is forgotten; read it with SCUR.GET",
        );
    }
    if account.status != Status::Closed {
        return reject(
            Code::NotEmpty,
            "the account is not closed: close it with SCUR.STATUS first",
        );
    }
    if account.sessions_open() > 0 {
        return reject(
            Code::NotEmpty,
            "the account has open sessions: end them with SCUR.RELEASE first; a transfer ends by itself",
        );
    }
    // These comparisons compute no amount: they only ask whether anything is left in any bucket.
    if account.buckets.iter().any(|bucket| bucket.available != 0 || bucket.held != 0) {
        return reject(
            Code::NotEmpty,
            "a bucket is not empty: bring it to 0 with SCUR.ADJUST first",
        );
    }
    if account.keeps_receipts() {
        return reject(
            Code::NotEmpty,
            "a transfer to the account is about to be concluded: retry in a second",
        );
    }
    let remembers = account.tombstones_kept() + account.transactions_kept() > 0;
    if remembers && !force {
        return reject(
            Code::NotEmpty,
            "ids are still remembered against duplicates: retry later, or FORCE",
        );
    }
    let answer = Answer::Account { code: Code::Ok, version: draft.next_version() };
    draft.record(Op::Delete);
    Ok(Outcome::Commit(answer))
}
