//! Builds the requests to the store from HTTP requests: one function per operation of the table.

use crate::body::{
    AccountCreation, Adjustment, Allowance, BucketChange, Count, Debit, ItemAmount, LimitSetting,
    Refund, StatusChange, TopUp, Transfer,
};
use crate::input::Input;
use crate::list_cursor::{self, LIMIT_MAX};
use crate::quantity::Amount;
use crate::text::{AccountId, Begin, Id, Name, Text, Zone};
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_ledger::{
    self as ledger, BucketAttributes, Command, Create, LimitSubject, LimitTerms, NewBucket, Period,
    PeriodClock, Time, WindowTerms,
};
use scurry_service::{ListRead, Read, Request, StoreRead};

/// Checks that a validity ends after it begins. Without `from_ms` it begins at 0. `at` is the JSON pointer of the
/// object around it.
fn check_order(at: &str, from_ms: Option<i64>, to_ms: Option<i64>) -> Result<(), Problem> {
    if to_ms.is_none_or(|to_ms| from_ms.unwrap_or(0) < to_ms) {
        return Ok(());
    }
    let why = "must be after valid_from_ms";
    Err(field_problem(FaultLocation::Body(&format!("{at}/valid_to_ms")), why))
}

/// Checks that no two elements of `list` have the same name. `member` is where the name is.
pub(crate) fn check_unique_names<T: PartialEq>(
    list: &str,
    member: &str,
    names: impl Iterator<Item = T>,
) -> Result<(), Problem> {
    let mut seen: Vec<T> = Vec::new();
    for (at, name) in names.enumerate() {
        if seen.contains(&name) {
            return Err(field_problem(
                FaultLocation::Body(&format!("/{list}/{at}/{member}")),
                "stands twice",
            ));
        }
        seen.push(name);
    }
    Ok(())
}

/// Returns the end of a validity: `Some(None)` is no end, `None` is not given.
fn end(valid_to_ms: Option<Option<i64>>) -> Option<Option<Time>> {
    valid_to_ms.map(|end| end.map(Time))
}

/// Returns the attributes of a bucket with the allowance of a body: `Some(None)` ends the allowance, `None` leaves it
/// unchanged.
fn with_allowance(
    attributes: BucketAttributes,
    allowance: Option<Option<Allowance>>,
) -> BucketAttributes {
    match allowance {
        None => attributes,
        Some(None) => BucketAttributes { period: Some(Period::None), ..attributes },
        Some(Some(of)) => BucketAttributes {
            period: Some(of.period.into()),
            clock: clock(of.offset_minutes, of.zone, of.begin.map(Begin)),
            refill: of.amount.map(i64::from),
            rollover: of.rollover.map(i64::from),
            debt: of.debt.map(ledger::DebtRule::from),
            ..attributes
        },
    }
}

fn clock(offset_minutes: Option<i16>, zone: Option<Zone>, begin: Option<Begin>) -> PeriodClock {
    let offset_minutes = offset_minutes.map(i64::from);
    PeriodClock { offset_minutes, zone: zone.map(|zone| zone.0), begin: begin.map(|begin| begin.0) }
}

impl<const LEAST: i64, const MOST: i64> From<Amount<LEAST, MOST>> for i64 {
    fn from(amount: Amount<LEAST, MOST>) -> i64 {
        amount.0
    }
}

pub(crate) fn account(input: &Input) -> Result<AccountId, Problem> {
    input.text("account")
}

/// Returns the request for a command to the account in the path.
pub(crate) fn write(input: &Input, command: &Command<'_>) -> Result<Request, Problem> {
    Ok(Request::write(account(input)?.as_str().as_bytes(), command))
}

/// Converts a name that was already checked to the ledger's type.
pub(crate) fn name(text: &Name) -> ledger::Name {
    ledger::Name::new(text.as_str().as_bytes()).unwrap_or_else(|| unreachable!("it was checked"))
}

fn path_name(input: &Input, parameter: &str) -> Result<ledger::Name, Problem> {
    Ok(name(&input.text(parameter)?))
}

pub(crate) fn totals(_: &Input) -> Result<StoreRead, Problem> {
    Ok(StoreRead::Totals)
}

/// Number of keys that one step of a list examines by default.
const COUNT: u16 = 100;

pub(crate) fn list(input: &Input) -> Result<StoreRead, Problem> {
    let [cursor, limit, prefix, status] = input.query(["cursor", "limit", "prefix", "status"])?;
    let cursor = list_cursor::read(cursor.as_deref())?;
    let count = count_of(input, limit, LIMIT_MAX)?.unwrap_or(COUNT);
    let prefix = prefix.map(|prefix| input.parameter("prefix", Some(prefix))).transpose()?;
    let prefix = prefix.map(AccountId::into_bytes);
    let status = status.map(|word| status_of(&word)).transpose()?;
    Ok(StoreRead::List(ListRead { cursor, count, prefix, status }))
}

/// Returns the number in the query's `limit`, which is `most` at most. None if there is no limit.
pub(crate) fn count_of(
    input: &Input,
    limit: Option<Vec<u8>>,
    most: i64,
) -> Result<Option<u16>, Problem> {
    let Some(limit) = limit else { return Ok(None) };
    let limit = input.number("limit", Some(limit))?;
    match u16::try_from(limit) {
        Ok(count) if limit <= most => Ok(Some(count)),
        _ => {
            let why = format!("must be at most {most}");
            Err(field_problem(FaultLocation::Parameter("limit"), &why))
        }
    }
}

pub(crate) fn status_of(word: &[u8]) -> Result<ledger::Status, Problem> {
    [ledger::Status::Active, ledger::Status::Suspended, ledger::Status::Closed]
        .into_iter()
        .find(|status| status.name().as_bytes() == word)
        .ok_or_else(|| {
            let why = "must be active, suspended or closed";
            field_problem(FaultLocation::Parameter("status"), why)
        })
}

pub(crate) fn find(input: &Input) -> Result<StoreRead, Problem> {
    let (kind, value): (Name, Id) = (input.text("kind")?, input.text("value")?);
    let value = ledger::Id::new(value.as_str().as_bytes());
    let value = value.unwrap_or_else(|| unreachable!("it was checked"));
    let [session] = input.query(["session"])?;
    let session = session.map(|session| input.parameter("session", Some(session))).transpose()?;
    let session = session.and_then(|session: Id| ledger::Id::new(session.as_str().as_bytes()));
    Ok(StoreRead::Find { kind: name(&kind), value, session })
}

pub(crate) fn create(input: &Input) -> Result<Request, Problem> {
    let body: AccountCreation = input.json()?;
    check_unique_names("buckets", "bucket", body.buckets.iter().map(|bucket| &bucket.bucket))?;
    let (mut buckets, mut keys) = (Vec::new(), Vec::new());
    for (at, bucket) in body.buckets.into_iter().enumerate() {
        check_order(&format!("/buckets/{at}"), bucket.valid_from_ms, bucket.valid_to_ms)?;
        let attributes = BucketAttributes {
            priority: bucket.priority,
            valid_from: bucket.valid_from_ms.map(Time),
            valid_to: end(bucket.valid_to_ms.map(Some)),
            floor: bucket.floor.map(i64::from),
            mark: bucket.mark.map(|mark| Some(mark.into())),
            ..BucketAttributes::default()
        };
        keys.extend(bucket.items.iter().map(|key| (at, key.0)));
        buckets.push(NewBucket {
            bucket: name(&bucket.bucket),
            unit: name(&bucket.unit),
            amount: bucket.amount.into(),
            attributes: with_allowance(attributes, bucket.allowance.map(Some)),
        });
    }
    let identities = body.identities.iter();
    let identities: Vec<_> =
        identities.map(|(kind, value)| (name(kind), value.as_str().as_bytes())).collect();
    let key = input.optional_key()?;
    let create = Create {
        txn: key.as_ref().map(|key| key.as_str().as_bytes()),
        status: body.status.map_or(ledger::Status::Active, ledger::Status::from),
        identities: &identities,
        buckets: &buckets,
        keys: &keys,
    };
    write(input, &Command::Create(create))
}

pub(crate) fn status(input: &Input) -> Result<Request, Problem> {
    let body: StatusChange = input.json()?;
    let identities = body.identities.iter().map(|(kind, value)| {
        // An empty value removes the identity.
        let value = value.as_ref().map_or("", Text::as_str);
        (name(kind), value.as_bytes())
    });
    let identities: Vec<_> = identities.collect();
    let key = input.optional_key()?;
    let txn = key.as_ref().map(|key| key.as_str().as_bytes());
    write(input, &Command::Status { txn, status: body.status.into(), identities: &identities })
}

pub(crate) fn delete(input: &Input) -> Result<Request, Problem> {
    let [force, if_txn] = input.query(["force", "if_transaction"])?;
    let force = input.truth("force", force)?;
    let if_txn = if_txn.map(|txn| input.parameter("if_transaction", Some(txn)));
    let if_txn: Option<Id> = if_txn.transpose()?;
    let if_txn = if_txn.as_ref().map(|txn| txn.as_str().as_bytes());
    write(input, &Command::Delete { force, if_txn })
}

pub(crate) fn top_up(input: &Input) -> Result<Request, Problem> {
    let body: TopUp = input.json()?;
    check_order("", body.valid_from_ms, body.valid_to_ms.flatten())?;
    let attributes = BucketAttributes {
        priority: body.priority,
        valid_from: body.valid_from_ms.map(Time),
        valid_to: end(body.valid_to_ms),
        floor: body.floor.map(i64::from),
        mark: body.mark.map(|mark| Some(mark.into())),
        ..BucketAttributes::default()
    };
    write(
        input,
        &Command::TopUp {
            txn: input.idempotency_key()?.as_str().as_bytes(),
            bucket: name(&body.bucket),
            amount: body.amount.into(),
            unit: body.unit.as_ref().map(name),
            attributes: with_allowance(attributes, body.allowance.map(Some)),
            keys: &body.items.iter().map(|key| key.0).collect::<Vec<_>>(),
        },
    )
}

pub(crate) fn adjust(input: &Input) -> Result<Request, Problem> {
    let body: Adjustment = input.json()?;
    let txn = input.idempotency_key()?;
    let (txn, bucket) = (txn.as_str().as_bytes(), name(&body.bucket));
    write(input, &Command::Adjust { txn, bucket, amount: body.amount.0 })
}

pub(crate) fn change_bucket(input: &Input) -> Result<Request, Problem> {
    let body: BucketChange = input.json()?;
    check_order("", body.valid_from_ms, body.valid_to_ms.flatten())?;
    let attributes = BucketAttributes {
        priority: body.priority,
        valid_from: body.valid_from_ms.map(Time),
        valid_to: end(body.valid_to_ms),
        floor: body.floor.map(i64::from),
        mark: body.mark.map(|mark| mark.map(i64::from)),
        ..BucketAttributes::default()
    };
    let attributes = with_allowance(attributes, body.allowance);
    let bucket = path_name(input, "bucket")?;
    let txn = input.idempotency_key()?;
    if attributes == BucketAttributes::default() && body.items.is_none() {
        let why = "must change something: priority, valid_from_ms, valid_to_ms, floor, mark, items or allowance";
        return Err(field_problem(FaultLocation::Body(""), why));
    }
    let txn = txn.as_str().as_bytes();
    let keys = body.items.map(|items| items.iter().map(|key| key.0).collect::<Vec<_>>());
    let keys = keys.as_deref();
    write(input, &Command::Bucket { txn, bucket, attributes, keys, remove: false })
}

pub(crate) fn remove_bucket(input: &Input) -> Result<Request, Problem> {
    let (bucket, txn) = (path_name(input, "bucket")?, input.idempotency_key()?);
    let (txn, attributes) = (txn.as_str().as_bytes(), BucketAttributes::default());
    write(input, &Command::Bucket { txn, bucket, attributes, keys: None, remove: true })
}

/// Returns the items of a debit or refund: at least one, and no key and unit twice.
fn item_amounts(items: &[ItemAmount]) -> Result<Vec<ledger::ItemAmount>, Problem> {
    if items.is_empty() {
        return Err(field_problem(FaultLocation::Body("/items"), "must have at least one item"));
    }
    check_unique_names("items", "key", items.iter().map(|item| (item.key.0, &item.unit)))?;
    let amount = |item: &ItemAmount| ledger::ItemAmount {
        key: item.key.0,
        unit: name(&item.unit),
        amount: item.amount.0,
    };
    Ok(items.iter().map(amount).collect())
}

pub(crate) fn debit(input: &Input) -> Result<Request, Problem> {
    let body: Debit = input.json()?;
    let txn = input.idempotency_key()?;
    let txn = txn.as_str().as_bytes();
    match (body.unit, body.amount, body.items) {
        (Some(unit), Some(amount), None) => {
            write(input, &Command::Debit { txn, unit: name(&unit), amount: amount.into() })
        }
        (None, None, Some(items)) => {
            write(input, &Command::DebitItems { txn, items: &item_amounts(&items)? })
        }
        _ => {
            let why = "must have unit and amount, or items";
            Err(field_problem(FaultLocation::Body(""), why))
        }
    }
}

pub(crate) fn transfer(input: &Input) -> Result<Request, Problem> {
    let body: Transfer = input.json()?;
    let (payer, id) = (account(input)?, input.idempotency_key()?);
    write(
        input,
        &Command::Transfer(ledger::Transfer {
            payer: payer.as_str().as_bytes(),
            id: id.as_str().as_bytes(),
            unit: name(&body.unit),
            amount: body.amount.into(),
            payee: body.payee.as_str().as_bytes(),
            bucket: name(&body.bucket),
        }),
    )
}

pub(crate) fn refund(input: &Input) -> Result<Request, Problem> {
    let body: Refund = input.json()?;
    let txn = input.idempotency_key()?;
    let (txn, debit) = (txn.as_str().as_bytes(), body.debit.as_str().as_bytes());
    let carry = body.carry;
    match (body.amount, body.items) {
        (amount, None) => {
            write(input, &Command::Refund { txn, debit, amount: amount.map(i64::from), carry })
        }
        (None, Some(items)) => {
            let items = &item_amounts(&items)?;
            write(input, &Command::RefundItems { txn, debit, items, carry })
        }
        (Some(_), Some(_)) => {
            let why = "stands beside amount: one of them says what goes back";
            Err(field_problem(FaultLocation::Body("/items"), why))
        }
    }
}

pub(crate) fn count(input: &Input) -> Result<Request, Problem> {
    let body: Count = input.json()?;
    let (counter, txn) = (path_name(input, "counter")?, input.idempotency_key()?);
    let (unit, period) = (body.unit.as_ref().map(name), body.period.map(Period::from));
    let clock = clock(body.offset_minutes, body.zone, body.begin);
    let (txn, amount) = (txn.as_str().as_bytes(), body.amount.into());
    write(input, &Command::Counter { txn, counter, amount, unit, period, clock })
}

pub(crate) fn set_limit(input: &Input) -> Result<Request, Problem> {
    let body: LimitSetting = input.json()?;
    let limit = path_name(input, "limit")?;
    let counted = match body.unit.as_ref().map(name) {
        Some(unit) => LimitSubject::Units { unit, item: body.item.map(|item| item.0) },
        None => {
            // Without a unit the limit counts open sessions, which have no item and no period.
            let of_units = [
                ("/item", body.item.is_some()),
                ("/period", body.period.is_some()),
                ("/offset_minutes", body.offset_minutes.is_some()),
                ("/zone", body.zone.is_some()),
                ("/begin", body.begin.is_some()),
                ("/rolling_ms", body.rolling_ms.is_some()),
                ("/rate_ms", body.rate_ms.is_some()),
                ("/burst", body.burst.is_some()),
            ];
            if let Some((place, _)) = of_units.iter().find(|(_, given)| *given) {
                return Err(field_problem(FaultLocation::Body(place), "needs a unit"));
            }
            LimitSubject::Sessions
        }
    };
    let amount = body.amount.into();
    let terms = LimitTerms::Set { counted, amount, window: window(body)? };
    let txn = input.idempotency_key()?;
    write(input, &Command::Limit { txn: txn.as_str().as_bytes(), limit, terms })
}

/// Returns the window of a limit: one of periods, a rolling span and a rate.
fn window(body: LimitSetting) -> Result<WindowTerms, Problem> {
    let period = body.period.map(Period::from);
    let clock = clock(body.offset_minutes, body.zone, body.begin);
    let excluded = |place, why| Err(field_problem(FaultLocation::Body(place), why));
    let has_periods = period.is_some() || clock.is_given();
    match (body.rolling_ms, body.rate_ms, body.burst) {
        (None, None, None) => Ok(WindowTerms::Period { period, clock }),
        (_, None, Some(_)) => excluded("/burst", "needs rate_ms"),
        (Some(_), ..) if has_periods => excluded("/rolling_ms", "excludes periods"),
        (Some(_), Some(_), _) => excluded("/rolling_ms", "excludes rate_ms"),
        (Some(span), None, None) => Ok(WindowTerms::Rolling { span_ms: span.into() }),
        (None, Some(_), _) if has_periods => excluded("/rate_ms", "excludes periods"),
        (None, Some(span), burst) => {
            Ok(WindowTerms::Rate { span_ms: span.into(), burst: burst.map(i64::from) })
        }
    }
}

pub(crate) fn remove_limit(input: &Input) -> Result<Request, Problem> {
    let (limit, txn) = (path_name(input, "limit")?, input.idempotency_key()?);
    let (txn, terms) = (txn.as_str().as_bytes(), LimitTerms::Remove);
    write(input, &Command::Limit { txn, limit, terms })
}

pub(crate) fn check(input: &Input) -> Result<Request, Problem> {
    let [unit, amount, item] = input.query(["unit", "amount", "item"])?;
    let unit: Name = input.parameter("unit", unit)?;
    let item = item.map(|item| input.item_key("item", &item)).transpose()?;
    let amount = input.number("amount", amount)?;
    let account = account(input)?.into_bytes();
    Ok(Request::Read(Read::Check { account, unit: name(&unit), item, amount }))
}

pub(crate) fn get(input: &Input) -> Result<Request, Problem> {
    Ok(Request::Read(Read::Account { account: account(input)?.into_bytes() }))
}

pub(crate) fn audit(input: &Input) -> Result<Request, Problem> {
    Ok(Request::Read(Read::Audit { account: account(input)?.into_bytes() }))
}
