//! Commands with a transaction id: TOPUP, ADJUST, BUCKET, DEBIT, REFUND, COUNTER
//! (docs/ledger.md section 12; RFC 8506 section 6).

use super::account::{new_allowance, new_terms};
use super::draft::{Draft, sum};
use super::due::{expire_due, refill};
use super::fields::{VALIDITY_ORDER, check_end};
use super::limit::CountedUnits;
use super::transaction::{BalanceOutcome, check_body, check_room, remember};
use super::units::{allowed_at, burn_order, debit_parts, grantable, in_debt, regained, shortage};
use super::{Outcome, Step, limit, reject};
use crate::carried::Taken;
use crate::digest::CommandBody;
use crate::{
    Allowance, Answer, Bucket, BucketAttributes, BucketKeys, BucketNo, BucketTerms, Cause, Code,
    Command, Cycle, DebitPart, DebitedItem, DebtRule, Denial, ItemAmount, ItemKey, LimitTerms,
    Name, Op, Period, PeriodClock, Posting, Status, Time, Transaction,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::iter;

pub(super) fn run(
    draft: &mut Draft<'_>,
    command: &Command<'_>,
    body: &CommandBody,
) -> Step<Outcome> {
    let txn = match command {
        Command::TopUp { txn, .. }
        | Command::Adjust { txn, .. }
        | Command::Bucket { txn, .. }
        | Command::Debit { txn, .. }
        | Command::DebitItems { txn, .. }
        | Command::Refund { txn, .. }
        | Command::RefundItems { txn, .. }
        | Command::Counter { txn, .. }
        | Command::Limit { txn, .. } => *txn,
        _ => return reject(Code::Invalid, "the command has no transaction id"),
    };
    if let Some(known) = draft.account().transactions.find(txn) {
        check_body(&known, body)?;
        return Ok(Outcome::Replay(answer_of(&known)));
    }
    let done = match *command {
        Command::TopUp { bucket, amount, unit, ref attributes, keys, .. } => {
            topup(draft, bucket, amount, unit, (attributes, keys))?
        }
        Command::Adjust { bucket, amount, .. } => adjust(draft, bucket, amount)?,
        Command::Bucket { bucket, remove: true, .. } => remove_bucket(draft, bucket)?,
        Command::Bucket { bucket, ref attributes, keys, .. } => {
            change_bucket(draft, bucket, attributes, keys)?
        }
        Command::Debit { unit, amount, .. } => debit(draft, unit, amount)?,
        Command::DebitItems { items, .. } => debit_items(draft, items)?,
        Command::Refund { debit, amount, carry, .. } => refund(draft, debit, amount, carry)?,
        Command::RefundItems { debit, items, carry, .. } => {
            refund_items(draft, debit, items, carry)?
        }
        Command::Counter { counter, amount, unit, period, clock, .. } => {
            count(draft, counter, amount, (unit, period, clock))?
        }
        Command::Limit { limit, ref terms, .. } => change_limit(draft, limit, terms)?,
        _ => return reject(Code::Invalid, "the command has no transaction id"),
    };
    note_denial(draft, command, &done);
    Ok(answer(draft, txn, body, done))
}

/// Ends a command with a transaction id that its chain denies.
pub(super) fn deny(
    draft: &mut Draft<'_>,
    txn: &[u8],
    (command, body): (&Command<'_>, &CommandBody),
    amount: i64,
) -> Outcome {
    let done = BalanceOutcome::denied_by_chain(amount);
    note_denial(draft, command, &done);
    answer(draft, txn, body, done)
}

/// Records the denial of a command for readers of the log.
fn note_denial(draft: &mut Draft<'_>, command: &Command<'_>, done: &BalanceOutcome) {
    let &BalanceOutcome { code, cause, .. } = done;
    if code == Code::Ok {
        return;
    }
    let denial = |item, unit, requested| Denial { item, unit, requested, code, cause, left_out: 0 };
    let of_items = |items: &[ItemAmount], draft: &mut Draft<'_>| {
        let each = |of: &ItemAmount| denial(Some(of.key), of.unit, of.amount);
        draft.note_denials(items.iter().map(each));
    };
    let one = match *command {
        Command::Debit { unit, amount, .. } => denial(None, unit, amount),
        Command::DebitItems { items, .. } | Command::RefundItems { items, .. } => {
            return of_items(items, draft);
        }
        Command::TopUp { bucket, amount, unit, .. } => {
            let known = draft.account().bucket(bucket).map(|bucket| bucket.unit);
            denial(None, unit.or(known).unwrap_or(Name::EMPTY), amount)
        }
        Command::Refund { amount, .. } => denial(None, Name::EMPTY, amount.unwrap_or(0)),
        _ => denial(None, Name::EMPTY, 0),
    };
    draft.note_denials(iter::once(one));
}

fn answer(draft: &mut Draft<'_>, txn: &[u8], body: &CommandBody, done: BalanceOutcome) -> Outcome {
    let version = draft.next_version();
    let BalanceOutcome { code, amount, cause, .. } = done;
    remember(draft, txn, body, done);
    Outcome::Commit(Answer::Amount { code, version, amount, cause })
}

pub(super) fn answer_of(known: &Transaction) -> Answer {
    let Transaction { code, version, amount, cause, .. } = *known;
    Answer::Amount { code, version, amount, cause }
}

/// Returns the stored answer to a command whose fields are refused now.
pub(super) fn stored(draft: &mut Draft<'_>, txn: &[u8], body: &CommandBody) -> Option<Answer> {
    if !draft.account_exists() {
        return None;
    }
    expire_due(draft);
    let known = draft.account().transactions.find(txn)?;
    body.is(known.digest).then(|| answer_of(&known))
}

fn find(draft: &Draft<'_>, id: Name) -> Step<Bucket> {
    match draft.account().bucket(id) {
        Some(bucket) => Ok(*bucket),
        None => reject(
            Code::UnknownBucket,
            "the account has no bucket with this id (its case matters): SCUR.TOPUP with UNIT creates it",
        ),
    }
}

const NO_MORE_BUCKETS: &str = "the account has made 65535 buckets in its life, as many as it ever can: credit one \
     that it has, or another account";
const EXPIRED: &str = "the bucket's validity has ended: extend it with SCUR.BUCKET TO first";

fn terms_of(bucket: &Bucket) -> BucketTerms {
    let Bucket { priority, valid_from, valid_to, floor, mark, .. } = *bucket;
    BucketTerms { priority, valid_from, valid_to, floor, mark }
}

fn check_order(terms: &BucketTerms) -> Step<()> {
    if terms.valid_to.is_some_and(|end| end <= terms.valid_from) {
        return reject(Code::Invalid, VALIDITY_ORDER);
    }
    Ok(())
}

pub(super) fn topup(
    draft: &mut Draft<'_>,
    id: Name,
    amount: i64,
    unit: Option<Name>,
    (attributes, keys): (&BucketAttributes, &[ItemKey]),
) -> Step<BalanceOutcome> {
    check_end(attributes, draft.now)?;
    let existing = draft.account().bucket(id).copied();
    let no = match (&existing, unit) {
        (Some(bucket), unit) => {
            check_topup(bucket, unit, (attributes, keys), draft.now)?;
            bucket.no
        }
        (None, None) => return find(draft, id).map(|_| BalanceOutcome::ok(0)),
        // Serial numbers are never reused: an account that has given out all of them can get no more buckets.
        (None, Some(_)) if draft.account().next_bucket == u16::MAX => {
            return reject(Code::NotApplicable, NO_MORE_BUCKETS);
        }
        (None, Some(_)) => BucketNo(draft.account().next_bucket),
    };
    // BUSY comes before a denial: room is checked here, and spent buckets are removed only if the command is carried
    // out.
    let spent = if existing.is_none() { spent_to_remove(draft)? } else { Vec::new() };
    check_room(draft)?;
    if draft.account().status == Status::Closed {
        return Ok(BalanceOutcome::denied_service(existing.map_or(0, |bucket| bucket.available)));
    }
    for named in spent {
        draft.record(named);
    }
    match (&existing, unit, attributes.valid_to) {
        (None, Some(unit), _) => {
            draft.record(Op::AddBucket { id, unit, terms: new_terms(attributes) });
            if !keys.is_empty() {
                set_keys(draft, no, keys);
            }
            if let Some(allowance) = new_allowance(no, amount, attributes, draft.now) {
                draft.record_allowance(allowance)?;
            }
        }
        (Some(bucket), _, Some(valid_to)) => {
            let terms = BucketTerms { valid_to, ..terms_of(bucket) };
            draft.record(Op::SetBucket { bucket: no, terms });
            // The end of the bucket decides which refills are still to come, so the allowance is checked and set again.
            if let Some(&allowance) = draft.account().allowance(no) {
                draft.record_allowance(from_now_on(allowance, draft.now))?;
            }
        }
        _ => {}
    }
    let rest = pay_debts(draft, no, amount)?;
    if rest > 0 {
        credit(draft, Posting { bucket: no, amount: rest })?;
    }
    Ok(BalanceOutcome::ok(draft.bucket(no).available))
}

/// Credits the other buckets of a bucket's unit that are in debt, each what it owes. Returns the rest.
fn pay_debts(draft: &mut Draft<'_>, named: BucketNo, amount: i64) -> Step<i64> {
    let mut rest = amount;
    for no in in_debt(draft.account(), draft.bucket(named).unit, named) {
        let amount = draft.account().debt_of(draft.bucket(no)).min(rest);
        if amount > 0 {
            credit(draft, Posting { bucket: no, amount })?;
            rest -= amount;
        }
    }
    Ok(rest)
}

/// Credits a bucket. The credit pays what the bucket owes from earlier periods.
fn credit(draft: &mut Draft<'_>, posting: Posting) -> Step<()> {
    draft.record_inflow(Op::Credit, posting)?;
    if let Some(&allowance) = draft.account().allowance(posting.bucket)
        && allowance.owed > 0
    {
        let owed = (allowance.owed - posting.amount).max(0);
        draft.record(Op::SetAllowance(Allowance { owed, ..allowance }));
    }
    Ok(())
}

/// Returns the removals that make room for one more bucket: spent buckets, the one that ended first going first. A
/// bucket is spent when it is empty, has expired, and no debit from it is remembered: the last possible debit was
/// before its end.
fn spent_to_remove(draft: &Draft<'_>) -> Step<Vec<Op>> {
    let (account, max) = (draft.account(), draft.limits.buckets_max);
    let beyond = (account.buckets.len() + 1).saturating_sub(max);
    if beyond == 0 {
        return Ok(Vec::new());
    }
    let is_empty = |bucket: &&Bucket| bucket.available == 0 && bucket.held == 0;
    let mut spent: Vec<(Time, &Bucket)> = account
        .buckets
        .iter()
        .filter(is_empty)
        .filter(|bucket| bucket.is_expired(draft.now))
        .filter_map(|bucket| Some((bucket.valid_to?, bucket)))
        .collect();
    spent.sort_unstable_by_key(|&(end, bucket)| (end, bucket.id));
    let spent_at = |end: Time| end.plus_ms(draft.limits.transaction_ms);
    // The bucket that ends last among those needed decides: if it is spent, all of them are.
    match spent.get(beyond - 1).map(|&(end, _)| spent_at(end)) {
        Some(last) if last <= draft.now => {
            let removal = |&(_, bucket): &(Time, &Bucket)| Op::RemoveBucket {
                bucket: bucket.no,
                named: Some((bucket.id, bucket.unit)),
            };
            Ok(spent[..beyond].iter().map(removal).collect())
        }
        first => draft.busy(
            ("buckets_max", max),
            first,
            "the account has as many as allowed: remove one",
        ),
    }
}

fn check_topup(
    bucket: &Bucket,
    unit: Option<Name>,
    (attributes, keys): (&BucketAttributes, &[ItemKey]),
    now: Time,
) -> Step<()> {
    if unit.is_some_and(|unit| unit != bucket.unit) {
        return reject(
            Code::Invalid,
            "the bucket has another unit (its case matters): leave UNIT out, SCUR.GET shows it",
        );
    }
    if attributes.priority.is_some()
        || attributes.valid_from.is_some()
        || attributes.floor.is_some()
        || attributes.mark.is_some()
    {
        return reject(
            Code::Invalid,
            "the bucket exists: change PRIORITY, FROM, FLOOR and MARK with SCUR.BUCKET",
        );
    }
    if attributes.period.is_some() {
        return reject(Code::Invalid, "the bucket exists: change PERIOD with SCUR.BUCKET");
    }
    if !keys.is_empty() {
        return reject(Code::Invalid, "the bucket exists: change ITEM with SCUR.BUCKET");
    }
    let valid_to = attributes.valid_to.unwrap_or(bucket.valid_to);
    check_order(&BucketTerms { valid_to, ..terms_of(bucket) })?;
    if valid_to.is_some_and(|end| end <= now) {
        return reject(Code::BucketExpired, EXPIRED);
    }
    Ok(())
}

fn adjust(draft: &mut Draft<'_>, id: Name, amount: i64) -> Step<BalanceOutcome> {
    let bucket = find(draft, id)?;
    if amount > 0 && bucket.is_expired(draft.now) {
        return reject(Code::BucketExpired, EXPIRED);
    }
    check_room(draft)?;
    let posting = Posting { bucket: bucket.no, amount: amount.saturating_abs() };
    if amount > 0 {
        credit(draft, posting)?;
    } else {
        let after = i128::from(bucket.available) + i128::from(amount);
        if after < i128::from(bucket.floor) {
            return Ok(BalanceOutcome::beyond_credit(bucket.available, Cause::Bucket(bucket.id)));
        }
        draft.record_outflow(Op::Void, posting)?;
    }
    Ok(BalanceOutcome::ok(draft.bucket(bucket.no).available))
}

fn remove_bucket(draft: &mut Draft<'_>, id: Name) -> Step<BalanceOutcome> {
    let bucket = find(draft, id)?;
    if bucket.available != 0 || bucket.held != 0 {
        return reject(
            Code::NotEmpty,
            "the bucket is not empty: bring it to 0 with SCUR.ADJUST first",
        );
    }
    check_room(draft)?;
    let named = Some((bucket.id, bucket.unit));
    draft.record(Op::RemoveBucket { bucket: bucket.no, named });
    Ok(BalanceOutcome::ok(0))
}

/// Records the keys of the items that a bucket is for.
fn set_keys(draft: &mut Draft<'_>, bucket: BucketNo, keys: &[ItemKey]) {
    draft.record(Op::SetBucketKeys(Box::new(BucketKeys { bucket, keys: keys.to_vec() })));
}

fn change_bucket(
    draft: &mut Draft<'_>,
    id: Name,
    attributes: &BucketAttributes,
    keys: Option<&[ItemKey]>,
) -> Step<BalanceOutcome> {
    check_end(attributes, draft.now)?;
    let bucket = find(draft, id)?;
    let old = terms_of(&bucket);
    let terms = BucketTerms {
        priority: attributes.priority.unwrap_or(old.priority),
        valid_from: attributes.valid_from.unwrap_or(old.valid_from),
        valid_to: attributes.valid_to.unwrap_or(old.valid_to),
        floor: attributes.floor.unwrap_or(old.floor),
        mark: attributes.mark.unwrap_or(old.mark),
    };
    check_order(&terms)?;
    let allowance = changed_allowance(draft, bucket.no, (attributes, &terms))?;
    check_room(draft)?;
    if attributes.floor.is_some_and(|floor| floor > bucket.available) {
        return Ok(BalanceOutcome::beyond_credit(bucket.available, Cause::Bucket(bucket.id)));
    }
    // A change of PERIOD or of the keys alone needs no `SetBucket`.
    if terms != old || (attributes.period.is_none() && keys.is_none()) {
        draft.replace_mark(&bucket, terms.mark);
        draft.record(Op::SetBucket { bucket: bucket.no, terms });
    }
    if let Some(keys) = keys {
        set_keys(draft, bucket.no, keys);
    }
    match allowance {
        Some(allowance) => {
            draft.record_allowance(allowance)?;
            // In another zone a later period may have begun already.
            refill(draft, bucket.no, draft.now);
        }
        None if draft.account().allowance(bucket.no).is_some() => {
            draft.record(Op::EndAllowance(bucket.no));
        }
        None => {}
    }
    Ok(BalanceOutcome::ok(draft.bucket(bucket.no).available))
}

/// Returns the allowance after its terms, or those of its bucket, change now: periods that have already begun bring
/// nothing more, whether they brought something or not.
fn from_now_on(allowance: Allowance, now: Time) -> Allowance {
    let present = allowance.cycle.start(now);
    Allowance { period_start: allowance.period_start.max(present), ..allowance }
}

/// Returns the allowance that a bucket has after a change of its attributes, which gives it these terms.
fn changed_allowance(
    draft: &Draft<'_>,
    bucket: BucketNo,
    (attributes, terms): (&BucketAttributes, &BucketTerms),
) -> Step<Option<Allowance>> {
    let known = draft.account().allowance(bucket);
    let period = match attributes.period {
        None => return Ok(known.map(|&allowance| from_now_on(allowance, draft.now))),
        Some(Period::None) => return Ok(None),
        Some(period) => period,
    };
    let Some(amount) = attributes.refill.or(known.map(|known| known.amount)) else {
        return reject(Code::Invalid, "the bucket has no allowance yet: AMOUNT must say how much");
    };
    if draft.account().status == Status::Closed {
        return reject(Code::NotApplicable, "the account is closed: nothing is credited any more");
    }
    let before = known.map_or(Cycle::NONE, |known| known.cycle);
    let cycle = attributes.clock.cycle(period, before);
    let present = cycle.start(draft.now);
    let period_start = match known.filter(|known| cycle.is_moved_from(known.cycle)) {
        Some(&known) => {
            // A period keeps its number in another zone, whenever it begins there.
            let last = cycle.moved(known.cycle, from_now_on(known, draft.now).period_start);
            let is_expired = terms.valid_to.is_some_and(|end| end <= draft.now);
            if is_expired { last.max(present) } else { last }
        }
        None => present,
    };
    let rollover = attributes.rollover.or(known.map(|known| known.rollover)).unwrap_or(0);
    let debt = attributes.debt.or(known.map(|known| known.debt)).unwrap_or_default();
    let owed = known.filter(|_| debt == DebtRule::Carry).map_or(0, |known| known.owed);
    Ok(Some(Allowance { bucket, cycle, amount, period_start, rollover, debt, owed }))
}

fn change_limit(draft: &mut Draft<'_>, id: Name, terms: &LimitTerms) -> Step<BalanceOutcome> {
    let planned = limit::plan(draft, id, terms)?;
    check_room(draft)?;
    planned.carry_out(draft).map(BalanceOutcome::ok)
}

fn debit(draft: &mut Draft<'_>, unit: Name, amount: i64) -> Step<BalanceOutcome> {
    check_room(draft)?;
    if draft.account().status != Status::Active {
        return Ok(BalanceOutcome::denied_service(0));
    }
    let mut parts = Vec::new();
    let counting = CountedUnits { unit, item: None };
    match debit_one(draft, (counting, amount), 0, &mut parts)? {
        Some(cause) => Ok(BalanceOutcome::beyond_credit(0, cause)),
        None => Ok(BalanceOutcome { parts, ..BalanceOutcome::ok(amount) }),
    }
}

/// Debits each item as if it were alone, one after the other; if one is denied, none is debited.
fn debit_items(draft: &mut Draft<'_>, items: &[ItemAmount]) -> Step<BalanceOutcome> {
    check_room(draft)?;
    if draft.account().status != Status::Active {
        return Ok(BalanceOutcome::denied_service(0));
    }
    // A copy of the account is only needed when an earlier item may have to be undone.
    let mark = draft.mark_if(items.len() > 1);
    let (mut all, mut parts) = (0, Vec::new());
    for (place, &ItemAmount { key, unit, amount }) in items.iter().enumerate() {
        let place = u8::try_from(place).unwrap_or(u8::MAX);
        let counting = CountedUnits { unit, item: Some(key) };
        if let Some(cause) = debit_one(draft, (counting, amount), place, &mut parts)? {
            if let Some(mark) = mark {
                draft.roll_back(mark);
            }
            return Ok(BalanceOutcome::beyond_credit(0, cause_of_all(draft, cause, items)));
        }
        all = sum(all, amount)?;
    }
    let named = |&ItemAmount { key, unit, .. }: &ItemAmount| DebitedItem { key, unit };
    let items = items.iter().map(named).collect();
    Ok(BalanceOutcome { parts, items, ..BalanceOutcome::ok(all) })
}

/// Returns the cause of a denied debit of several items, with the time at which all of them would be allowed.
fn cause_of_all(draft: &Draft<'_>, cause: Cause, items: &[ItemAmount]) -> Cause {
    let Cause::Limit { id, .. } = cause else { return cause };
    let counting = |&ItemAmount { key, unit, amount }: &ItemAmount| {
        (CountedUnits { unit, item: Some(key) }, amount)
    };
    let wanted: Vec<_> = items.iter().map(counting).collect();
    Cause::Limit { id, allowed_at: allowed_at(draft.account(), &wanted, draft.now) }
}

/// Debits one amount, of an item or of the whole command. Returns the cause if it is denied, before any fact is
/// recorded.
fn debit_one(
    draft: &mut Draft<'_>,
    (counting, amount): (CountedUnits, i64),
    item: u8,
    parts: &mut Vec<DebitPart>,
) -> Step<Option<Cause>> {
    if grantable(draft.account(), counting, draft.now) < amount {
        return Ok(Some(shortage(draft.account(), counting, amount, draft.now)));
    }
    let burn = burn_order(draft.account(), counting, draft.now);
    let postings = debit_parts(draft.account(), &burn, amount);
    draft.name_identities();
    if let Some(key) = counting.item {
        draft.name_key(key);
    }
    parts.reserve(burn.len());
    for posting in postings {
        let Posting { bucket, amount } = posting;
        match parts.iter_mut().find(|part| part.item == item && part.bucket == bucket) {
            Some(part) => part.amount += amount,
            None => parts.push(DebitPart { item, bucket, amount, refunded: 0 }),
        }
        draft.record_outflow(Op::Debit, posting)?;
    }
    counting.begin(draft);
    counting.count(draft, amount, 0)?;
    Ok(None)
}

/// Returns a successful debit that is still remembered.
fn find_debit(draft: &Draft<'_>, debit: &[u8]) -> Step<Transaction> {
    match draft.account().transactions.find(debit) {
        Some(found) if !found.parts.is_empty() => Ok(found),
        _ => reject(
            Code::UnknownTransaction,
            "no successful debit is remembered under this id: use SCUR.ADJUST",
        ),
    }
}

const NOT_LEFT: &str = "less than that is left of the debit: refund at most what is left";
const NOTHING_LEFT: &str = "nothing is left of the debit: all of it was refunded";

fn refund(
    draft: &mut Draft<'_>,
    debit: &[u8],
    amount: Option<i64>,
    carry: bool,
) -> Step<BalanceOutcome> {
    let found = find_debit(draft, debit)?;
    if amount.is_some() && !found.items.is_empty() {
        return reject(
            Code::NotApplicable,
            "the debit has items: name them by ITEM, each with its amount",
        );
    }
    let left: i64 = found.parts.iter().map(DebitPart::left).sum();
    let amount = amount.unwrap_or(left);
    if left == 0 {
        return reject(Code::NotApplicable, NOTHING_LEFT);
    }
    if amount > left {
        return reject(Code::NotApplicable, NOT_LEFT);
    }
    let mut back = Vec::with_capacity(found.parts.len());
    give_back(draft, found.parts.iter(), amount, &mut back)?;
    record_refunds(draft, &found, back, carry)?;
    Ok(BalanceOutcome::ok(amount))
}

fn refund_items(
    draft: &mut Draft<'_>,
    debit: &[u8],
    items: &[ItemAmount],
    carry: bool,
) -> Step<BalanceOutcome> {
    let found = find_debit(draft, debit)?;
    let (mut all, mut back) = (0, Vec::with_capacity(found.parts.len()));
    for &ItemAmount { key, unit, amount } in items {
        let named = DebitedItem { key, unit };
        let of_item = |part: &&DebitPart| found.items.get(usize::from(part.item)) == Some(&named);
        let parts = found.parts.iter().filter(of_item);
        if amount > parts.clone().map(DebitPart::left).sum() {
            return reject(Code::NotApplicable, NOT_LEFT);
        }
        give_back(draft, parts, amount, &mut back)?;
        all = sum(all, amount)?;
    }
    record_refunds(draft, &found, back, carry)?;
    Ok(BalanceOutcome::ok(all))
}

/// Spreads an amount over the parts of a debit in reverse order, each up to what is left of it.
fn give_back<'p>(
    draft: &Draft<'_>,
    parts: impl DoubleEndedIterator<Item = &'p DebitPart>,
    amount: i64,
    back: &mut Vec<(u8, Posting)>,
) -> Step<()> {
    let mut rest = amount;
    for part in parts.rev() {
        let amount = rest.min(part.left());
        if amount > 0 {
            if draft.account().bucket_no(part.bucket).is_none() {
                return reject(Code::NotApplicable, "the debit's bucket was removed");
            }
            back.push((part.item, Posting { bucket: part.bucket, amount }));
            rest -= amount;
        }
    }
    Ok(())
}

fn record_refunds(
    draft: &mut Draft<'_>,
    found: &Transaction,
    back: Vec<(u8, Posting)>,
    carry: bool,
) -> Step<()> {
    check_room(draft)?;
    draft.name_identities();
    let &Transaction { id: ref debit, version: debited, ref items, .. } = found;
    for (item, posting) in back {
        let Posting { bucket: no, amount } = posting;
        // With CARRY it comes back as if it had been debited now.
        let taken = Taken::By(if carry { draft.next_version() } else { debited });
        let key = items.get(usize::from(item)).map(|item| item.key);
        if let Some(key) = key {
            draft.name_key(key);
        }
        let regained = regained(draft, posting, taken, draft.now);
        if regained > 0 {
            draft.record_inflow(Op::Refund, Posting { bucket: no, amount: regained })?;
        }
        if amount > regained {
            let expired = Posting { bucket: no, amount: amount - regained };
            draft.record_expired_inflow(Op::RefundExpired, expired)?;
        }
        draft.record(Op::NoteRefund { debit: debit.clone(), item, posting });
        let unit = draft.bucket(posting.bucket).unit;
        CountedUnits { unit, item: key }.uncount(draft, posting.amount, debited);
    }
    Ok(())
}

fn count(
    draft: &mut Draft<'_>,
    id: Name,
    amount: i64,
    (unit, period, clock): (Option<Name>, Option<Period>, PeriodClock),
) -> Step<BalanceOutcome> {
    let now = draft.now;
    let existing = draft.account().counters.iter().find(|counter| counter.id == id).copied();
    let (unit, cycle, value) = match existing {
        Some(counter) => {
            if unit.is_some_and(|unit| unit != counter.unit)
                || clock.cycle(period.unwrap_or(counter.cycle.period), counter.cycle)
                    != counter.cycle
            {
                return reject(Code::Invalid, "the counter has another unit, period or zone");
            }
            (counter.unit, counter.cycle, counter.value_at(now))
        }
        None => {
            if draft.account().counters.len() >= draft.limits.counters_max {
                let bound = ("counters_max", draft.limits.counters_max);
                return draft.busy(
                    bound,
                    None,
                    "the account has as many as allowed: use one of them",
                );
            }
            let unit = unit.or_else(|| Name::new(b"events"));
            let Some(unit) = unit else { return reject(Code::Invalid, "the counter needs a unit") };
            (unit, clock.cycle(period.unwrap_or(Period::None), Cycle::NONE), 0)
        }
    };
    check_room(draft)?;
    let value = sum(value, amount)?;
    // A counter is never set back to a period before.
    let begun = existing.filter(|of| of.cycle.begun_after(of.period_start, now).is_none());
    let period_start = begun.map_or_else(|| cycle.start(now), |counter| counter.period_start);
    draft.record(Op::SetCounter { id, unit, cycle, period_start, value });
    Ok(BalanceOutcome::ok(value))
}
