//! Checks the fields of a command before anything is looked up. Every failure is INVALID.

use super::{Step, reject};
use crate::remembered::RECEIPT;
use crate::{
    ACCOUNT_ID_LEN_MAX, BUCKET_KEYS_MAX, Bound, BucketAttributes, Code, Command, Create, Cycle, Id,
    ItemAmount, ItemKey, ItemRequest, LimitSubject, LimitTerms, Limits, NewBucket, Period,
    PeriodClock, Rejection, SessionRequest, Span, Status, Time, Transfer, WindowTerms, Zone,
};

fn invalid<T>(why: &'static str) -> Step<T> {
    reject(Code::Invalid, why)
}

fn require(condition: bool, why: &'static str) -> Step<()> {
    if condition { Ok(()) } else { invalid(why) }
}

/// Refuses a value above a bound of the store; the refusal names the bound and its value.
pub(super) fn within(
    value: usize,
    (name, max): (&'static str, usize),
    why: &'static str,
) -> Step<()> {
    if value <= max {
        return Ok(());
    }
    let bound = Some(Bound { name, max, wait_ms: None });
    Err(Rejection { code: Code::Invalid, why, bound, expired_ms: None })
}

/// Checks every field of a command.
pub(super) fn check(command: &Command<'_>, limits: &Limits) -> Step<()> {
    match command {
        Command::Create(create) => check_create(create, limits),
        Command::Status { txn, identities, .. } => {
            txn.map_or(Ok(()), transaction_id)?;
            let mut identities = identities.iter();
            identities
                .try_for_each(|(_, value)| require(value.is_empty() || Id::is_id(value), IDENTITY))
        }
        Command::Delete { force, if_txn } => {
            if_txn.map_or(Ok(()), transaction_id)?;
            require(*force || if_txn.is_none(), "IFTXN goes with FORCE: its id is remembered")
        }
        Command::TopUp { txn, amount, attributes, keys, .. } => {
            transaction_id(txn)?;
            at_least_one(*amount)?;
            check_keys(keys.iter().copied())?;
            check_attributes(attributes)?;
            check_allowance(attributes)
        }
        Command::Adjust { txn, amount, .. } => {
            transaction_id(txn)?;
            require(*amount != 0, "amount must not be 0")?;
            require(*amount != i64::MIN, "amount must be at least -9223372036854775807")
        }
        Command::Bucket { txn, attributes, keys, remove, .. } => {
            transaction_id(txn)?;
            let changes = *attributes != BucketAttributes::default() || keys.is_some();
            require(
                changes != *remove,
                "name PRIORITY, FROM, TO, FLOOR, MARK, ITEM, ANYITEM or PERIOD, or REMOVE alone",
            )?;
            check_keys(keys.unwrap_or(&[]).iter().copied())?;
            check_attributes(attributes)?;
            check_allowance(attributes)
        }
        Command::Debit { txn, amount, .. } => {
            transaction_id(txn)?;
            at_least_one(*amount)
        }
        Command::Refund { txn, debit, amount, .. } => {
            transaction_id(txn)?;
            transaction_id(debit)?;
            amount.map_or(Ok(()), at_least_one)
        }
        Command::DebitItems { txn, items } => {
            transaction_id(txn)?;
            check_item_amounts(items, limits)
        }
        Command::RefundItems { txn, debit, items, .. } => {
            transaction_id(txn)?;
            transaction_id(debit)?;
            check_item_amounts(items, limits)
        }
        Command::Counter { txn, period, clock, .. } => {
            transaction_id(txn)?;
            require(period.is_some() || !clock.is_given(), CLOCK_WITHOUT_PERIOD)?;
            check_clock(*period, clock)
        }
        Command::Limit { txn, terms, .. } => {
            transaction_id(txn)?;
            check_limit(terms)
        }
        Command::Transfer(transfer) => check_transfer(transfer),
        // The host takes what the fields of the TRANSFER were.
        Command::Carry(_) => Ok(()),
        Command::Reserve(request) => check_reserve(request, limits),
        Command::Update(request) => check_update(request, limits),
        Command::Terminate(request) => check_terminate(request, limits),
        Command::Release { session, txn, .. } => {
            session_id(session)?;
            txn.map_or(Ok(()), transaction_id)
        }
    }
}

const IDENTITY: &str = "identity must be 1 to 255 printable ASCII characters without space";

fn transaction_id(txn: &[u8]) -> Step<()> {
    require(
        Id::is_id(txn),
        "transaction id must be 1 to 255 printable ASCII characters without space",
    )?;
    require(
        !txn.starts_with(RECEIPT),
        "transaction ids that begin with transfer: are those of received transfers",
    )
}

fn session_id(session: &[u8]) -> Step<()> {
    require(
        Id::is_id(session),
        "session id must be 1 to 255 printable ASCII characters without space",
    )
}

fn at_least_one(amount: i64) -> Step<()> {
    require(amount >= 1, "amount must be at least 1")
}

fn check_item_amounts(items: &[ItemAmount], limits: &Limits) -> Step<()> {
    require(!items.is_empty(), "at least one ITEM is needed")?;
    within(items.len(), ("items_max", limits.items_max), "the command has more items")?;
    for (index, item) in items.iter().enumerate() {
        let same = |other: &ItemAmount| other.key == item.key && other.unit == item.unit;
        require(!items[..index].iter().any(same), "an item is listed twice")?;
        at_least_one(item.amount)?;
    }
    Ok(())
}

fn check_create(create: &Create<'_>, limits: &Limits) -> Step<()> {
    create.txn.map_or(Ok(()), transaction_id)?;
    require(create.status != Status::Closed, "an account begins active or suspended")?;
    let identities_max = ("identities_max", limits.identities_max);
    within(create.identities.len(), identities_max, "the account would have more identities")?;
    let buckets_max = ("buckets_max", limits.buckets_max);
    within(create.buckets.len(), buckets_max, "the account would have more buckets")?;
    for (index, (kind, value)) in create.identities.iter().enumerate() {
        require(Id::is_id(value), IDENTITY)?;
        let unique = create.identities[..index].iter().all(|(other, _)| other != kind);
        require(unique, "identity kinds must differ")?;
    }
    for (index, NewBucket { bucket, amount, attributes, .. }) in create.buckets.iter().enumerate() {
        let unique = create.buckets[..index].iter().all(|other| other.bucket != *bucket);
        require(unique, "bucket ids must differ")?;
        require(*amount >= 0, "amount must be at least 0")?;
        check_attributes(attributes)?;
        check_allowance(attributes)?;
        let has_period = attributes.period.is_some_and(|period| period != Period::None);
        require(
            !has_period || attributes.refill.unwrap_or(*amount) >= 1,
            "AMOUNT must be at least 1, where the first credit is 0",
        )?;
        check_keys(create.keys_of(index))?;
    }
    Ok(())
}

/// Checks the keys of the items that a bucket is for.
fn check_keys(keys: impl Iterator<Item = ItemKey> + Clone) -> Step<()> {
    within(
        keys.clone().count(),
        ("bucket_keys_max", BUCKET_KEYS_MAX),
        "the bucket has more items",
    )?;
    let mut others = keys.clone();
    let twice = keys.clone().any(|key| {
        others.next();
        others.clone().any(|other| other == key)
    });
    require(!twice, "an item is listed twice")
}

fn check_allowance(attributes: &BucketAttributes) -> Step<()> {
    let BucketAttributes { period, clock, refill, rollover, debt, .. } = attributes;
    let has_period = period.is_some_and(|period| period != Period::None);
    let is_bare = !clock.is_given() && refill.is_none() && rollover.is_none() && debt.is_none();
    require(
        has_period || is_bare,
        "OFFSET, ZONE, BEGIN, AMOUNT, ROLLOVER and DEBT need a PERIOD that is not none",
    )?;
    require(
        clock.begin != Some(Cycle::FIRST_USE),
        "an allowance takes no BEGIN first-use: it is refilled without a use",
    )?;
    check_clock(*period, clock)?;
    require(refill.is_none_or(|refill| refill >= 1), "AMOUNT must be at least 1")?;
    require(rollover.is_none_or(|rollover| rollover >= 0), "ROLLOVER must be at least 0")
}

/// Refusal of a clock where nothing resets.
pub(super) const CLOCK_WITHOUT_PERIOD: &str = "OFFSET, ZONE and BEGIN are for a PERIOD";
/// Refusal of a begin that the period does not have.
pub(super) const BEGIN_RANGE: &str = "BEGIN is an hour 0 to 23 of a day, a weekday 1 to 7, a day 1 to 31 of month, quarter or year, or first-use of a fixed length without ZONE";

/// Checks the clock of periods. A begin is checked where its period is given.
fn check_clock(period: Option<Period>, clock: &PeriodClock) -> Step<()> {
    let most = i64::from(Zone::OFFSET_MINUTES_MAX);
    let in_range = clock.offset_minutes.is_none_or(|minutes| (-most..=most).contains(&minutes));
    require(in_range, "OFFSET must be at least -840 and at most 840 minutes")?;
    require(
        clock.offset_minutes.is_none() || clock.zone.is_none(),
        "ZONE and OFFSET both say the time zone: give one of them",
    )?;
    let has_zone = clock.offset_minutes.is_some() || clock.zone.is_some();
    require(
        clock.begin != Some(Cycle::FIRST_USE) || !has_zone,
        "BEGIN first-use takes no OFFSET and no ZONE: the period lasts for its length from then on",
    )?;
    require(period != Some(Period::None) || !clock.is_given(), CLOCK_WITHOUT_PERIOD)?;
    require(period.is_none_or(|period| clock.cycle(period, Cycle::NONE).is_valid()), BEGIN_RANGE)
}

/// Checks the fields of SCUR.LIMIT. OFFSET against the period of an existing limit is checked where the limit is known.
fn check_limit(terms: &LimitTerms) -> Step<()> {
    let LimitTerms::Set { counted, amount, window } = *terms else { return Ok(()) };
    require(amount >= 0, "amount must be at least 0")?;
    require(
        counted != LimitSubject::Sessions || window == WindowTerms::UNSAID,
        "a limit of SESSIONS takes no PERIOD, OFFSET, ZONE, BEGIN, ROLLING or RATE",
    )?;
    match window {
        WindowTerms::Period { period, clock } => check_clock(period, &clock),
        WindowTerms::Rolling { span_ms } => check_span(span_ms),
        WindowTerms::Rate { span_ms, burst } => {
            check_span(span_ms)?;
            require(burst.is_none_or(|burst| burst >= 1), "BURST must be at least 1")
        }
    }
}

fn check_span(span_ms: i64) -> Step<()> {
    require(Span::new(span_ms).is_some(), "ROLLING and RATE take a span of 1s to 9999d")
}

/// Checks the attributes of a bucket. The order of FROM and TO against those of an existing bucket is checked where the
/// bucket is known.
fn check_attributes(attributes: &BucketAttributes) -> Step<()> {
    require(attributes.floor.is_none_or(|floor| floor <= 0), "floor must be 0 or less")?;
    let from = attributes.valid_from.unwrap_or(Time(0));
    let end = attributes.valid_to.flatten();
    require(end.is_none_or(|end| from < end), VALIDITY_ORDER)
}

/// Refuses a validity that has already ended. This depends on the time, so it must come after the search for a
/// duplicate (I7).
pub(super) fn check_end(attributes: &BucketAttributes, now: Time) -> Step<()> {
    require(attributes.valid_to.flatten().is_none_or(|end| end > now), "TO must be in the future")
}

/// Refusal of a FROM that is not before TO.
pub(super) const VALIDITY_ORDER: &str = "FROM must be before TO";

fn check_common(request: &SessionRequest<'_>, limits: &Limits) -> Step<()> {
    session_id(request.session)?;
    // Most requests set neither.
    if request.options.validity_ms.is_some() || request.options.tcc_ms.is_some() {
        check_times(request, limits)?;
    }
    let blob_len = request.blob.map_or(0, <[u8]>::len);
    within(blob_len, ("blob_len_max", limits.blob_len_max), "DATA is longer")?;
    within(request.items.len(), ("items_max", limits.items_max), "the command has more items")?;
    for (index, item) in request.items.iter().enumerate() {
        let mut before = request.items[..index].iter();
        let unique = before.all(|other| (other.key, other.unit) != (item.key, item.unit));
        require(unique, "an item is listed twice: name each key and unit once")?;
        require(item.used.is_none_or(|used| used >= 0), "USED must be at least 0")?;
    }
    Ok(())
}

#[inline(never)]
fn check_times(request: &SessionRequest<'_>, limits: &Limits) -> Step<()> {
    let at_least_1 = |ms: Option<i64>| ms.is_none_or(|ms| ms >= 1);
    require(at_least_1(request.options.validity_ms), "VALIDITY must be at least 1 ms")?;
    require(at_least_1(request.options.tcc_ms), "TCC must be at least 1 ms")?;
    let tcc_ms_max = ("tcc_ms_max", usize::try_from(limits.tcc_ms_max).unwrap_or(usize::MAX));
    let millis = |ms: Option<i64>| usize::try_from(ms.unwrap_or(0)).unwrap_or(usize::MAX);
    within(millis(request.options.validity_ms), tcc_ms_max, "VALIDITY is longer")?;
    within(millis(request.options.tcc_ms), tcc_ms_max, "TCC is longer")
}

fn check_min(item: &ItemRequest) -> Step<()> {
    let requested = item.requested.unwrap_or(0);
    require(requested >= 0, "REQUESTED must be at least 0")?;
    require(
        item.min.is_none_or(|min| (0..=requested).contains(&min) && requested > 0),
        "MIN must be at least 0 and at most REQUESTED",
    )
}

const KEEPHOLD: &str = "KEEPHOLD is for UPDATE";
const CANCEL: &str = "CANCEL is for TERMINATE and RELEASE";

fn check_reserve(request: &SessionRequest<'_>, limits: &Limits) -> Step<()> {
    check_common(request, limits)?;
    require(request.options.if_version.is_none(), "RESERVE takes no IFVERSION")?;
    require(!request.options.late_use, "LATEUSE is for UPDATE and TERMINATE")?;
    require(!request.options.keep_hold, KEEPHOLD)?;
    require(!request.options.cancel, CANCEL)?;
    require(
        !(request.options.keep_open && request.options.close_on_denial),
        "KEEPOPEN and CLOSEONDENIAL exclude each other",
    )?;
    for item in request.items {
        require(item.used.is_none(), "RESERVE takes no USED")?;
        require(item.requested.is_some_and(|n| n >= 1), "REQUESTED must be at least 1")?;
        check_min(item)?;
    }
    Ok(())
}

/// Checks OVERRUN: an open session keeps its policy, so UPDATE and TERMINATE take OVERRUN for late use only.
fn check_overrun(request: &SessionRequest<'_>) -> Step<()> {
    require(
        request.options.overrun.is_none() || request.options.late_use,
        "OVERRUN is for RESERVE or LATEUSE",
    )
}

fn check_update(request: &SessionRequest<'_>, limits: &Limits) -> Step<()> {
    check_common(request, limits)?;
    check_overrun(request)?;
    require(!request.options.keep_open, "KEEPOPEN is for RESERVE")?;
    require(!request.options.cancel, CANCEL)?;
    require(
        !(request.options.keep_hold && request.options.close_on_denial),
        "KEEPHOLD and CLOSEONDENIAL exclude each other",
    )?;
    for item in request.items {
        require(
            item.used.is_some() || item.requested.is_some(),
            "an item needs USED or REQUESTED",
        )?;
        check_min(item)?;
    }
    Ok(())
}

fn check_terminate(request: &SessionRequest<'_>, limits: &Limits) -> Step<()> {
    check_common(request, limits)?;
    let plain = request.options.validity_ms.is_none()
        && request.options.tcc_ms.is_none()
        && request.blob.is_none()
        && !request.options.close_on_denial
        && !request.options.keep_open
        && !request.options.keep_hold;
    require(plain, "TERMINATE takes IFVERSION, LATEUSE, CANCEL and items only")?;
    check_overrun(request)?;
    for item in request.items {
        require(
            item.used.is_some() && item.requested.is_none() && item.min.is_none(),
            "an item of TERMINATE has USED only: UPDATE asks for more",
        )?;
    }
    Ok(())
}

/// Most bytes of the ids of a payer and a transfer together: with them the id of a receipt is one.
const IDS_LEN_MAX: usize = 241;

/// Checks the fields of a TRANSFER.
fn check_transfer(transfer: &Transfer<'_>) -> Step<()> {
    let Transfer { payer, id, amount, payee, .. } = *transfer;
    if !Id::is_id(id) {
        return invalid("transfer id must be 1 to 255 printable ASCII characters without space");
    }
    if amount < 1 {
        return invalid("amount must be at least 1");
    }
    if !Id::is_id(payee) || payee.len() > ACCOUNT_ID_LEN_MAX {
        return invalid("payee must be 1 to 128 printable ASCII characters without space");
    }
    if payee == payer {
        return invalid(
            "payee must be another account: SCUR.ADJUST moves units between buckets of one",
        );
    }
    if payer.len() + id.len() > IDS_LEN_MAX {
        return invalid("transfer id and account id are too long together: at most 241 bytes");
    }
    Ok(())
}
