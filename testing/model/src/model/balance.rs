//! Section 12, the commands with a transaction id, and section 4 for them.

use super::calendar::Zone;
use super::state::{Allowance, Counter, DebitPart, State, Transaction, take};
use super::{Context, Refusal, calendar, id, limit, provision, require, txn_id};
use scurry_ledger::{
    Answer, BucketAttributes, Cause, Code, Command, DebtRule, ItemAmount, ItemKey, Name, NewBucket,
    Period, PeriodClock, Status,
};
use std::collections::BTreeSet;

/// Effect of a command with a transaction id: code, amount, cause, and the parts of a debit.
pub(super) struct Effect {
    code: Code,
    pub(super) amount: i128,
    cause: Cause,
    parts: Option<Vec<DebitPart>>,
}

impl Effect {
    fn ok(amount: i128) -> Effect {
        Effect { code: Code::Ok, amount, cause: Cause::None, parts: None }
    }

    fn denied(code: Code, amount: i128, cause: Cause) -> Effect {
        Effect { code, amount, cause, parts: None }
    }
}

pub(super) fn execute(
    account: &mut Option<State>,
    context: Context<'_>,
    command: &Command<'_>,
    body: String,
) -> Result<Answer, Refusal> {
    let txn = fields(command, context.limits.items_max)?;
    let state = account.as_mut().ok_or(Code::UnknownAccount)?;
    if let Some(known) = state.remembered(context.now).find(|known| known.id == txn) {
        require(known.body == body, Code::RequestMismatch)?;
        return Err(Refusal::Replay(known.answer.clone()));
    }
    let full = state.remembered(context.now).count() >= context.limits.transactions_max;
    // A denied command changes nothing else: the copy is discarded.
    let mut tried = state.clone();
    let outcome = perform(&mut tried, context, command, full);
    let effect = outcome?;
    if effect.code == Code::Ok {
        *state = tried;
    }
    let amount = i64::try_from(effect.amount).map_err(|_| Code::Overflow)?;
    let Effect { code, cause, .. } = effect;
    let answer = Answer::Amount { code, version: state.version, amount, cause };
    let forget = context.now.saturating_add(context.limits.transaction_ms);
    let (parts, has_items) = (effect.parts, matches!(command, Command::DebitItems { .. }));
    let answer_kept = answer.clone();
    let new = Transaction { id: txn, body, answer: answer_kept, forget, parts, has_items };
    state.remember(context.now, new);
    Ok(answer)
}

/// Records a command that its chain denies (section 15). It moves nothing, but its id is used.
pub(super) fn deny(
    state: &mut State,
    context: Context<'_>,
    txn: &[u8],
    body: String,
    amount: i128,
) -> Result<Answer, Code> {
    let amount = i64::try_from(amount).map_err(|_| Code::Overflow)?;
    let (code, cause) = (Code::ChainDenied, Cause::Chain);
    let answer = Answer::Amount { code, version: state.version, amount, cause };
    let forget = context.now.saturating_add(context.limits.transaction_ms);
    let (id, answer_kept) = (id(txn)?, answer.clone());
    let new = Transaction { id, body, answer: answer_kept, forget, parts: None, has_items: false };
    state.remember(context.now, new);
    Ok(answer)
}

/// Checks everything that depends on the command alone. Returns the transaction id.
fn fields(command: &Command<'_>, items_max: usize) -> Result<String, Code> {
    let (txn, fine) = match *command {
        Command::TopUp { txn, amount, attributes, keys, .. } => {
            (txn, amount >= 1 && attributes_are_fine(&attributes) && provision::keys_are_fine(keys))
        }
        Command::Adjust { txn, amount, .. } => (txn, amount != 0 && amount != i64::MIN),
        Command::Bucket { txn, attributes, keys, remove, .. } => {
            let some = attributes != BucketAttributes::default() || keys.is_some();
            let fine =
                attributes_are_fine(&attributes) && provision::keys_are_fine(keys.unwrap_or(&[]));
            (txn, some != remove && fine)
        }
        Command::Debit { txn, amount, .. } => (txn, amount >= 1),
        Command::Refund { txn, debit, amount, .. } => {
            (txn, amount.is_none_or(|amount| amount >= 1) && txn_id(debit).is_ok())
        }
        Command::DebitItems { txn, items } => (txn, items_are_fine(items, items_max)),
        Command::RefundItems { txn, debit, items, .. } => {
            (txn, items_are_fine(items, items_max) && txn_id(debit).is_ok())
        }
        Command::Counter { txn, period, clock, .. } => {
            let needless = clock == PeriodClock::NONE;
            let recurs = period.is_some_and(|period| period != Period::None);
            (txn, (needless || recurs) && limit::clock_is_fine(period, &clock))
        }
        Command::Limit { txn, terms, .. } => (txn, limit::is_fine(&terms)),
        _ => return Err(Code::Invalid),
    };
    require(fine, Code::Invalid)?;
    txn_id(txn)
}

/// Reports whether there is at least one item, none occurs twice, and each has an amount.
fn items_are_fine(items: &[ItemAmount], items_max: usize) -> bool {
    let names: BTreeSet<_> = items.iter().map(|item| (item.key, item.unit)).collect();
    let some = !items.is_empty() && items.len() <= items_max && names.len() == items.len();
    some && items.iter().all(|item| item.amount >= 1)
}

/// Checks FLOOR <= 0 and FROM < TO. That TO is after now is checked after duplicates, because a later replay would fail
/// it.
fn attributes_are_fine(attributes: &BucketAttributes) -> bool {
    let from = attributes.valid_from.unwrap_or_default();
    let to = attributes.valid_to.flatten();
    attributes.floor.is_none_or(|floor| floor <= 0)
        && to.is_none_or(|to| from < to)
        && provision::allowance_is_fine(attributes)
}

fn perform(
    state: &mut State,
    context: Context<'_>,
    command: &Command<'_>,
    full: bool,
) -> Result<Effect, Code> {
    if let Command::TopUp { attributes, .. } | Command::Bucket { attributes, .. } = command {
        require(provision::ends_after(attributes, context.now), Code::Invalid)?;
    }
    match *command {
        Command::TopUp { bucket, amount, unit, attributes, keys, .. } => {
            topup(state, context, bucket, amount, unit, (attributes, keys), full)
        }
        Command::Adjust { bucket, amount, .. } => adjust(state, context, bucket, amount, full),
        Command::Bucket { bucket, attributes, keys, remove: false, .. } => {
            change(state, context, bucket, (attributes, keys), full)
        }
        Command::Bucket { bucket, .. } => {
            let serial = named(state, bucket)?;
            let empty = state.available(serial) == 0 && state.held(serial) == 0;
            require(empty, Code::NotEmpty)?;
            require(!full, Code::Busy)?;
            state.buckets.retain(|bucket| bucket.serial != serial);
            Ok(Effect::ok(0))
        }
        Command::Debit { unit, amount, .. } => debit(state, context, &[(None, unit, amount)], full),
        Command::DebitItems { items, .. } => {
            let one = |item: &ItemAmount| (Some(item.key), item.unit, item.amount);
            debit(state, context, &items.iter().map(one).collect::<Vec<_>>(), full)
        }
        Command::Refund { debit, amount, carry, .. } => {
            refund(state, context, debit, (RefundRequest::Amount(amount), carry), full)
        }
        Command::RefundItems { debit, items, carry, .. } => {
            refund(state, context, debit, (RefundRequest::Items(items), carry), full)
        }
        Command::Counter { counter, amount, unit, period, clock, .. } => {
            count(state, context, counter, amount, (unit, period, clock), full)
        }
        Command::Limit { limit, terms, .. } => {
            limit::execute(state, context, limit, terms, full).map(Effect::ok)
        }
        _ => Err(Code::Invalid),
    }
}

/// Returns the serial number of the bucket with this name.
fn named(state: &State, bucket: Name) -> Result<u32, Code> {
    state.bucket_named(bucket.as_str()).map(|bucket| bucket.serial).ok_or(Code::UnknownBucket)
}

pub(super) fn topup(
    state: &mut State,
    context: Context<'_>,
    bucket: Name,
    amount: i64,
    unit: Option<Name>,
    (attributes, keys): (BucketAttributes, &[ItemKey]),
    full: bool,
) -> Result<Effect, Code> {
    let now = context.now;
    let before = named(state, bucket).map_or(0, |serial| state.available(serial));
    match state.bucket_named(bucket.as_str()) {
        None => {
            let unit = unit.ok_or(Code::UnknownBucket)?;
            require(state.buckets_ever < 65_535, Code::NotApplicable)?;
            let room = make_room(state, context);
            let new = NewBucket { bucket, unit, amount, attributes };
            provision::add_bucket(state, now, &new, keys)?;
            require(room, Code::Busy)?;
        }
        Some(known) => {
            let of_new = BucketAttributes { valid_to: None, ..attributes };
            require(of_new == BucketAttributes::default() && keys.is_empty(), Code::Invalid)?;
            require(unit.is_none_or(|unit| unit.as_str() == known.unit), Code::Invalid)?;
            let serial = known.serial;
            let known = state.bucket(serial).ok_or(Code::UnknownBucket)?;
            if let Some(to) = attributes.valid_to {
                known.to = to.map(|to| to.0);
                let from = known.from;
                require(known.to.is_none_or(|to| to > from), Code::Invalid)?;
                done_until(&mut known.allowance, now);
            }
            require(!known.is_expired(now), Code::BucketExpired)?;
            known.credited += i128::from(amount);
        }
    }
    require(!full, Code::Busy)?;
    if state.status == Status::Closed {
        return Ok(Effect::denied(Code::ServiceDenied, before, Cause::Status));
    }
    // So far the named bucket has all of the credit. What it owes itself it has paid with it; the debts of the others
    // come before that.
    let serial = named(state, bucket)?;
    let unit = state.bucket(serial).ok_or(Code::UnknownBucket)?.unit.clone();
    let others = state.all_as_burnt(&unit).into_iter().filter(|&other| other != serial);
    let owed = |state: &mut State, other| state.bucket(other).map_or(0, |bucket| bucket.owed());
    let debts = others.map(|other| (other, state.debt(other).max(owed(state, other))));
    let debts: Vec<_> = debts.collect();
    let mut rest = i128::from(amount);
    for (other, part) in take(debts, amount.into()).0 {
        let paid = state.bucket(other).ok_or(Code::UnknownBucket)?;
        paid.credited += part;
        paid.pay_owed(part);
        state.bucket(serial).ok_or(Code::UnknownBucket)?.credited -= part;
        rest -= part;
    }
    state.bucket(serial).ok_or(Code::UnknownBucket)?.pay_owed(rest);
    state.fits()?;
    Ok(Effect::ok(state.available(serial)))
}

/// Makes room for one more bucket by removing spent ones, beginning with the one that ended first. Returns true when
/// there is room.
fn make_room(state: &mut State, context: Context<'_>) -> bool {
    while state.buckets.len() >= context.limits.buckets_max {
        let nothing_left = |serial| state.available(serial) == 0 && state.held(serial) == 0;
        // By then no debit from it is remembered any more.
        let spent_at = |to: i64| to.saturating_add(context.limits.transaction_ms);
        let spent = state.buckets.iter().filter(|bucket| nothing_left(bucket.serial));
        let spent = spent.filter_map(|bucket| Some((bucket.to?, bucket.id.clone())));
        let Some((to, id)) = spent.filter(|&(to, _)| to <= context.now).min() else { return false };
        if spent_at(to) > context.now {
            return false;
        }
        state.buckets.retain(|bucket| bucket.id != id);
    }
    true
}

fn adjust(
    state: &mut State,
    context: Context<'_>,
    bucket: Name,
    amount: i64,
    full: bool,
) -> Result<Effect, Code> {
    let serial = named(state, bucket)?;
    let before = state.available(serial);
    let known = state.bucket(serial).ok_or(Code::UnknownBucket)?;
    let floor = known.floor;
    if amount > 0 {
        require(!known.is_expired(context.now), Code::BucketExpired)?;
        known.credited += i128::from(amount);
        known.pay_owed(amount.into());
    } else {
        known.voided -= i128::from(amount);
    }
    // BUSY comes after the errors of the command and before a denial.
    require(!full, Code::Busy)?;
    let after = state.available(serial);
    if amount < 0 && after < floor {
        return Ok(Effect::denied(Code::CreditLimitReached, before, Cause::Bucket(bucket)));
    }
    state.fits()?;
    Ok(Effect::ok(after))
}

fn change(
    state: &mut State,
    context: Context<'_>,
    bucket: Name,
    (attributes, keys): (BucketAttributes, Option<&[ItemKey]>),
    full: bool,
) -> Result<Effect, Code> {
    let serial = named(state, bucket)?;
    let available = state.available(serial);
    let is_closed = state.status == Status::Closed;
    let known = state.bucket(serial).ok_or(Code::UnknownBucket)?;
    if let Some(keys) = keys {
        known.keys = keys.iter().map(ToString::to_string).collect();
    }
    known.priority = attributes.priority.unwrap_or(known.priority);
    known.from = attributes.valid_from.map_or(known.from, |from| from.0);
    known.to = attributes.valid_to.map_or(known.to, |to| to.map(|to| to.0));
    known.floor = attributes.floor.map_or(known.floor, i128::from);
    known.mark = attributes.mark.map_or(known.mark, |mark| mark.map(i128::from));
    let (from, to) = (known.from, known.to);
    require(to.is_none_or(|to| to > from), Code::Invalid)?;
    if let Some(period) = attributes.period.filter(|&period| period != Period::None) {
        let before = known.allowance;
        let amount = attributes.refill.map(i128::from).or(before.map(|before| before.amount));
        let amount = amount.ok_or(Code::Invalid)?;
        require(!is_closed, Code::NotApplicable)?;
        let zone = Zone::given(period, &attributes.clock, before.map(|before| before.zone));
        let since = match before {
            Some(before) if (before.zone.period, before.zone.begin) == (period, zone.begin) => {
                calendar::same_period(before.zone, zone, before.since.max(context.now))
            }
            _ => context.now,
        };
        let rollover = attributes.rollover.map(i128::from);
        let rollover = rollover.or(before.map(|before| before.rollover)).unwrap_or(0);
        let debt = attributes.debt.or(before.map(|before| before.debt)).unwrap_or(DebtRule::Net);
        let owed = before.map_or(0, |before| before.owed);
        let owed = if debt == DebtRule::Carry { owed } else { 0 };
        known.allowance = Some(Allowance { zone, amount, since, rollover, debt, owed });
    } else if attributes.period.is_some() {
        known.allowance = None;
    } else {
        done_until(&mut known.allowance, context.now);
    }
    if !known.is_valid(context.now) {
        done_until(&mut known.allowance, context.now);
    }
    require(!full, Code::Busy)?;
    if attributes.floor.is_some_and(|floor| i128::from(floor) > available) {
        return Ok(Effect::denied(Code::CreditLimitReached, available, Cause::Bucket(bucket)));
    }
    state.fits()?;
    // Periods that have begun under another offset.
    while let Some(moment) = state.bucket(serial).and_then(|bucket| bucket.next_refill()) {
        if moment > context.now {
            break;
        }
        state.refill(serial, moment);
    }
    state.fits()?;
    Ok(Effect::ok(state.available(serial)))
}

/// Notes that periods up to a moment bring no refill any more.
fn done_until(allowance: &mut Option<Allowance>, moment: i64) {
    if let Some(allowance) = allowance {
        allowance.since = allowance.since.max(moment);
    }
}

/// Debits items one after the other, each as if it were alone; a debit without items counts as one.
fn debit(
    state: &mut State,
    context: Context<'_>,
    items: &[(Option<ItemKey>, Name, i64)],
    full: bool,
) -> Result<Effect, Code> {
    require(!full, Code::Busy)?;
    if state.status != Status::Active {
        return Ok(Effect::denied(Code::ServiceDenied, 0, Cause::Status));
    }
    let before = state.clone();
    let (mut all, mut parts): (i128, Vec<DebitPart>) = (0, vec![]);
    for &(key, unit, amount) in items {
        let named = key.map(|key| key.to_string());
        let named = named.as_deref();
        let (debits, rest) = state.spread(unit.as_str(), named, amount.into(), context.now);
        let tightest = state.tightest(unit.as_str(), named, context.now);
        // The caller discards the copy, and with it the items debited so far.
        let short = state.grantable(unit.as_str(), named, context.now) < i128::from(amount);
        if rest > 0 || short || tightest.is_some_and(|(_, left)| left < i128::from(amount)) {
            let mut cause = state.shortage(unit.as_str(), named, amount.into(), context.now);
            if let Cause::Limit { allowed_at, .. } = &mut cause {
                let wanted = |(key, unit, amount): &(Option<ItemKey>, Name, i64)| {
                    let key = key.map(|key| key.to_string());
                    (unit.as_str().to_string(), key, i128::from(*amount))
                };
                let wanted: Vec<_> = items.iter().map(wanted).collect();
                *allowed_at = before.allowed_at(&wanted, context.now);
            }
            return Ok(Effect::denied(Code::CreditLimitReached, 0, cause));
        }
        state.debit_counts((unit.as_str(), named), amount.into(), context.now);
        let mut own: Vec<DebitPart> = vec![];
        for (serial, amount) in debits {
            let bucket = state.bucket(serial).ok_or(Code::UnknownBucket)?;
            bucket.consumed += amount;
            let refills = bucket.refills;
            match own.iter_mut().find(|part| part.serial == serial) {
                Some(part) => part.left += amount,
                None => {
                    let unit = unit.as_str().to_string();
                    own.push(DebitPart { key, unit, serial, left: amount, refills });
                }
            }
        }
        state.fits()?;
        parts.extend(own);
        all += i128::from(amount);
        require(i64::try_from(all).is_ok(), Code::Overflow)?;
    }
    Ok(Effect { parts: Some(parts), ..Effect::ok(all) })
}

/// Gives back the requested amounts from the debit's parts with these keys and units, or from all of them.
fn refund(
    state: &mut State,
    context: Context<'_>,
    debit: &[u8],
    (wanted, carry): (RefundRequest<'_>, bool),
    full: bool,
) -> Result<Effect, Code> {
    let debit = id(debit)?;
    let now = context.now;
    let known = state.remembered(now).find(|transaction| transaction.id == debit);
    let has_items = known.is_some_and(|known| known.has_items);
    let mut parts = known.and_then(|t| t.parts.clone()).ok_or(Code::UnknownTransaction)?;
    let mut all = 0;
    let sums: Vec<Sum> = match wanted {
        RefundRequest::Amount(amount) => {
            require(amount.is_none() || !has_items, Code::NotApplicable)?;
            vec![(None, amount)]
        }
        RefundRequest::Items(items) => {
            let one = |item: &ItemAmount| (Some((item.key, item.unit)), Some(item.amount));
            items.iter().map(one).collect()
        }
    };
    for (item, amount) in sums {
        let is_meant = |part: &DebitPart| {
            item.is_none_or(|(key, unit)| part.key == Some(key) && part.unit == unit.as_str())
        };
        let places: Vec<usize> = (0..parts.len()).filter(|&at| is_meant(&parts[at])).collect();
        let left: i128 = places.iter().map(|&at| parts[at].left).sum();
        let amount = amount.map_or(left, i128::from);
        require(left > 0 && amount <= left, Code::NotApplicable)?;
        let mut rest = amount;
        // The buckets that were debited last are refunded first.
        for &at in places.iter().rev() {
            let back = rest.min(parts[at].left);
            if back > 0 {
                let bucket = state.bucket(parts[at].serial).ok_or(Code::NotApplicable)?;
                bucket.refunded += back;
                bucket.take_back(back, parts[at].refills, now, carry);
                let unit = bucket.unit.clone();
                let key = parts[at].key.map(|key| key.to_string());
                state.refund_counts((&unit, key.as_deref()), &debit, back, now);
                parts[at].left -= back;
                rest -= back;
            }
        }
        all += amount;
    }
    require(!full, Code::Busy)?;
    state.fits()?;
    let mut kept = state.transactions.iter_mut().rev();
    if let Some(last) = kept.find(|transaction| transaction.id == debit) {
        last.parts = Some(parts);
    }
    Ok(Effect::ok(all))
}

/// Requested refund of one item, or of the whole debit; without an amount everything that is left.
type Sum = (Option<(ItemKey, Name)>, Option<i64>);

/// Request of a refund.
enum RefundRequest<'a> {
    Amount(Option<i64>),
    Items(&'a [ItemAmount]),
}

fn count(
    state: &mut State,
    context: Context<'_>,
    counter: Name,
    amount: i64,
    (unit, period, clock): (Option<Name>, Option<Period>, PeriodClock),
    full: bool,
) -> Result<Effect, Code> {
    let now = context.now;
    let new = Counter {
        unit: unit.map_or("events".to_string(), |unit| unit.as_str().to_string()),
        zone: Zone::given(period.unwrap_or(Period::None), &clock, None),
        written_at: now,
        value: 0,
    };
    let others = state.counters.len();
    let known = state.counters.get(counter.as_str());
    if let Some(known) = known {
        require(unit.is_none() || new.unit == known.unit, Code::Invalid)?;
        let given = period.map(|period| Zone::given(period, &clock, Some(known.zone)));
        require(given.is_none_or(|given| given == known.zone), Code::Invalid)?;
    } else {
        require(others < context.limits.counters_max, Code::Busy)?;
    }
    require(!full, Code::Busy)?;
    let known = state.counters.entry(counter.as_str().to_string()).or_insert(new);
    known.value = value_at(known, now) + i128::from(amount);
    // A period that begins with its first use goes on from then.
    if known.zone.length_from_use().is_none() || known.zone.is_over(known.written_at, now) {
        known.written_at = now;
    }
    let value = known.value;
    state.fits()?;
    Ok(Effect::ok(value))
}

/// Returns the value as read at `now`: 0 when its period is over.
pub(super) fn value_at(counter: &Counter, now: i64) -> i128 {
    if counter.zone.is_over(counter.written_at, now) { 0 } else { counter.value }
}
