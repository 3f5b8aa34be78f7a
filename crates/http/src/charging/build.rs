//! The commands that requests are.

use super::body::{
    AccountCreation, Adjustment, Allowance, BucketChange, Count, Debit, ItemAmount, LimitSetting,
    Refund, SessionEnd, SessionOpening, SessionUpdate, StatusChange, TopUp,
};
use super::command::Command;
use super::input::{FaultLocation, Input, field_problem};
use super::list_cursor::{Cursor, LIMIT_MAX};
use super::quantity::Amount;
use super::text::{AccountId, Id, Name, Overrun, Period, Status, Text};
use crate::problem::Problem;

/// A validity that ends after it begins.
fn check_order(at: &str, from_ms: Option<i64>, to_ms: Option<i64>) -> Result<(), Problem> {
    if to_ms.is_none_or(|to_ms| from_ms.unwrap_or(0) < to_ms) {
        return Ok(());
    }
    let why = "must be after valid_from_ms";
    Err(field_problem(FaultLocation::Body(&format!("{at}/valid_to_ms")), why))
}

/// A minimum that what is requested reaches.
fn check_min(at: usize, min: Option<i64>, requested: Option<i64>) -> Result<(), Problem> {
    let requested = requested.unwrap_or(0);
    if min.is_none_or(|min| min <= requested && requested > 0) {
        return Ok(());
    }
    let why = "must be at most requested, which must be there";
    Err(field_problem(FaultLocation::Body(&format!("/items/{at}/min")), why))
}

/// No element is named as one before it.
fn check_names<T: PartialEq>(
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

/// TO of a bucket: a time, `none`, or not said.
fn end(valid_to_ms: Option<Option<i64>>) -> Option<String> {
    valid_to_ms.map(|end| end.map_or_else(|| "none".to_owned(), |end| end.to_string()))
}

/// PERIOD of a bucket and what belongs to it: an allowance, none any more, or not said.
fn allowance(command: Command, allowance: Option<Option<Allowance>>) -> Command {
    match allowance {
        None => command,
        Some(None) => command.word("PERIOD").word("none"),
        Some(Some(Allowance { period, offset_minutes, amount })) => command
            .word("PERIOD")
            .word(period.word())
            .number("OFFSET", offset_minutes)
            .number("AMOUNT", amount),
    }
}

impl<const LEAST: i64, const MOST: i64> From<Amount<LEAST, MOST>> for i64 {
    fn from(amount: Amount<LEAST, MOST>) -> i64 {
        amount.0
    }
}

fn account(input: &Input) -> Result<AccountId, Problem> {
    input.text("account")
}

pub(super) fn command(name: &str, input: &Input) -> Result<Command, Problem> {
    Ok(Command::new(name).word(account(input)?.as_str()))
}

/// A command with a transaction id behind the account.
fn transaction(name: &str, input: &Input) -> Result<Command, Problem> {
    Ok(command(name, input)?.word(input.idempotency_key()?.as_str()))
}

/// The transaction id of a command that may be without one.
fn key(input: &Input) -> Result<Option<String>, Problem> {
    Ok(input.optional_key()?.map(|key| key.as_str().to_owned()))
}

/// A command with the transaction id behind the account, where one is given.
fn keyed(name: &str, input: &Input) -> Result<Command, Problem> {
    Ok(command(name, input)?.option("TXN", key(input)?.as_deref()))
}

/// A command with a session behind the account.
fn session(name: &str, input: &Input) -> Result<Command, Problem> {
    let session: Id = input.text("session")?;
    Ok(command(name, input)?.word(session.as_str()))
}

pub(super) fn totals(_: &Input) -> Result<Command, Problem> {
    Ok(Command::new("SCUR.TOTALS"))
}

/// Keys that one step of a list looks at unless told otherwise.
const LIMIT: i64 = 100;

pub(super) fn list(input: &Input) -> Result<Command, Problem> {
    let [cursor, limit, prefix, status] = input.query(["cursor", "limit", "prefix", "status"])?;
    let cursor = Cursor::read(cursor.as_deref())?;
    let limit = match limit {
        None => LIMIT,
        Some(limit) => limit_of(input.number("limit", Some(limit))?, LIMIT_MAX)?,
    };
    let prefix = prefix.map(|prefix| input.parameter("prefix", Some(prefix))).transpose()?;
    let prefix = prefix.as_ref().map(AccountId::as_str);
    let status = status.map(|word| status_of(&word)).transpose()?;
    Ok(Command::new("SCUR.LIST")
        .word(cursor.within.to_string())
        .word("COUNT")
        .integer(limit)
        .option("PREFIX", prefix)
        .option("STATUS", status.map(Status::word)))
}

/// The server that a list asks; a cursor that is wrong is refused where the command is made.
pub(super) fn listed_server(input: &Input) -> usize {
    let cursor = input.query(["cursor", "limit", "prefix", "status"]).map(|[cursor, ..]| cursor);
    let cursor = cursor.and_then(|cursor| Cursor::read(cursor.as_deref()));
    cursor.map_or(0, |cursor| cursor.server)
}

pub(super) fn limit_of(limit: i64, most: i64) -> Result<i64, Problem> {
    if limit <= most {
        return Ok(limit);
    }
    let why = format!("must be at most {most}");
    Err(field_problem(FaultLocation::Parameter("limit"), &why))
}

fn status_of(word: &[u8]) -> Result<Status, Problem> {
    [Status::Active, Status::Suspended, Status::Closed]
        .into_iter()
        .find(|status| status.word().as_bytes() == word)
        .ok_or_else(|| {
            let why = "must be active, suspended or closed";
            field_problem(FaultLocation::Parameter("status"), why)
        })
}

pub(super) fn find(input: &Input) -> Result<Command, Problem> {
    let (kind, value): (Name, Id) = (input.text("kind")?, input.text("value")?);
    Ok(Command::new("SCUR.FIND").word(kind.as_str()).word(value.as_str()))
}

pub(super) fn create(input: &Input) -> Result<Command, Problem> {
    let body: AccountCreation = input.json()?;
    let mut command = keyed("SCUR.CREATE", input)?.option("STATUS", body.status.map(|s| s.word()));
    for (kind, value) in &body.identities {
        command = command.word("IDENTITY").word(kind.as_str()).word(value.as_str());
    }
    check_names("buckets", "bucket", body.buckets.iter().map(|bucket| &bucket.bucket))?;
    for (at, bucket) in body.buckets.into_iter().enumerate() {
        let at = format!("/buckets/{at}");
        check_order(&at, bucket.valid_from_ms, bucket.valid_to_ms)?;
        command = command
            .word("BUCKET")
            .word(bucket.bucket.as_str())
            .word(bucket.unit.as_str())
            .integer(bucket.amount)
            .number("PRIORITY", bucket.priority)
            .number("FROM", bucket.valid_from_ms)
            .number("TO", bucket.valid_to_ms)
            .number("FLOOR", bucket.floor);
        command = allowance(command, bucket.allowance.map(Some));
    }
    Ok(command)
}

pub(super) fn status(input: &Input) -> Result<Command, Problem> {
    let body: StatusChange = input.json()?;
    let status = command("SCUR.STATUS", input)?.word(body.status.word());
    let mut command = status.option("TXN", key(input)?.as_deref());
    for (kind, value) in &body.identities {
        let value = value.as_ref().map_or("", Text::as_str);
        command = command.word("IDENTITY").word(kind.as_str()).word(value);
    }
    Ok(command)
}

pub(super) fn delete(input: &Input) -> Result<Command, Problem> {
    let [force] = input.query(["force"])?;
    let force = input.truth("force", force)?;
    Ok(command("SCUR.DELETE", input)?.flag("FORCE", force))
}

pub(super) fn top_up(input: &Input) -> Result<Command, Problem> {
    let body: TopUp = input.json()?;
    check_order("", body.valid_from_ms, body.valid_to_ms.flatten())?;
    let command = transaction("SCUR.TOPUP", input)?
        .word(body.bucket.as_str())
        .integer(body.amount)
        .option("UNIT", body.unit.as_ref().map(Text::as_str))
        .number("PRIORITY", body.priority)
        .number("FROM", body.valid_from_ms)
        .option("TO", end(body.valid_to_ms))
        .number("FLOOR", body.floor);
    Ok(allowance(command, body.allowance.map(Some)))
}

pub(super) fn adjust(input: &Input) -> Result<Command, Problem> {
    let body: Adjustment = input.json()?;
    Ok(transaction("SCUR.ADJUST", input)?.word(body.bucket.as_str()).integer(body.amount.0))
}

pub(super) fn change_bucket(input: &Input) -> Result<Command, Problem> {
    let body: BucketChange = input.json()?;
    check_order("", body.valid_from_ms, body.valid_to_ms.flatten())?;
    let bucket: Name = input.text("bucket")?;
    let command = transaction("SCUR.BUCKET", input)?.word(bucket.as_str());
    let unchanged = command.0.len();
    let command = command
        .number("PRIORITY", body.priority)
        .number("FROM", body.valid_from_ms)
        .option("TO", end(body.valid_to_ms))
        .number("FLOOR", body.floor);
    let command = allowance(command, body.allowance);
    if command.0.len() == unchanged {
        let why = "must change something: priority, valid_from_ms, valid_to_ms, floor or allowance";
        return Err(field_problem(FaultLocation::Body(""), why));
    }
    Ok(command)
}

pub(super) fn remove_bucket(input: &Input) -> Result<Command, Problem> {
    let bucket: Name = input.text("bucket")?;
    Ok(transaction("SCUR.BUCKET", input)?.word(bucket.as_str()).word("REMOVE"))
}

/// ITEM key unit amount of each; one at least, and none twice.
fn item_amounts(mut command: Command, items: &[ItemAmount]) -> Result<Command, Problem> {
    if items.is_empty() {
        return Err(field_problem(FaultLocation::Body("/items"), "must have at least one item"));
    }
    let names = items.iter().map(|item| (item.key.0, item.unit.as_str().to_owned()));
    check_names("items", "key", names)?;
    for ItemAmount { key, unit, amount } in items {
        command = command.word("ITEM").word(key.0.to_string()).word(unit.as_str());
        command = command.integer(amount.0);
    }
    Ok(command)
}

pub(super) fn debit(input: &Input) -> Result<Command, Problem> {
    let body: Debit = input.json()?;
    let command = transaction("SCUR.DEBIT", input)?;
    match (body.unit, body.amount, body.items) {
        (Some(unit), Some(amount), None) => Ok(command.word(unit.as_str()).integer(amount)),
        (None, None, Some(items)) => item_amounts(command, &items),
        _ => {
            let why = "must have unit and amount, or items";
            Err(field_problem(FaultLocation::Body(""), why))
        }
    }
}

pub(super) fn refund(input: &Input) -> Result<Command, Problem> {
    let body: Refund = input.json()?;
    let command = transaction("SCUR.REFUND", input)?.word(body.debit.as_str());
    match (body.amount, body.items) {
        (Some(amount), None) => Ok(command.integer(amount)),
        (None, Some(items)) => item_amounts(command, &items),
        (None, None) => Ok(command),
        (Some(_), Some(_)) => {
            let why = "stands beside amount: one of them says what goes back";
            Err(field_problem(FaultLocation::Body("/items"), why))
        }
    }
}

pub(super) fn count(input: &Input) -> Result<Command, Problem> {
    let body: Count = input.json()?;
    let counter: Name = input.text("counter")?;
    Ok(transaction("SCUR.COUNTER", input)?
        .word(counter.as_str())
        .integer(body.amount)
        .option("UNIT", body.unit.as_ref().map(Text::as_str))
        .option("PERIOD", body.period.map(Period::word)))
}

pub(super) fn set_limit(input: &Input) -> Result<Command, Problem> {
    let body: LimitSetting = input.json()?;
    let limit: Name = input.text("limit")?;
    let of_sessions = [
        ("/item", body.item.is_some()),
        ("/period", body.period.is_some()),
        ("/offset_minutes", body.offset_minutes.is_some()),
    ];
    if body.unit.is_none()
        && let Some((place, _)) = of_sessions.iter().find(|(_, given)| *given)
    {
        return Err(field_problem(FaultLocation::Body(place), "needs a unit"));
    }
    Ok(transaction("SCUR.LIMIT", input)?
        .word(limit.as_str())
        .flag("SESSIONS", body.unit.is_none())
        .option("UNIT", body.unit.as_ref().map(Text::as_str))
        .option("ITEM", body.item.map(|item| item.0.to_string()))
        .option("PERIOD", body.period.map(Period::word))
        .number("OFFSET", body.offset_minutes)
        .number("AMOUNT", Some(body.amount)))
}

pub(super) fn remove_limit(input: &Input) -> Result<Command, Problem> {
    let limit: Name = input.text("limit")?;
    Ok(transaction("SCUR.LIMIT", input)?.word(limit.as_str()).word("REMOVE"))
}

pub(super) fn check(input: &Input) -> Result<Command, Problem> {
    let [unit, amount] = input.query(["unit", "amount"])?;
    let unit: Name = input.parameter("unit", unit)?;
    let amount = input.number("amount", amount)?;
    Ok(command("SCUR.CHECK", input)?.word(unit.as_str()).integer(amount))
}

pub(super) fn get(input: &Input) -> Result<Command, Problem> {
    command("SCUR.GET", input)
}

pub(super) fn audit(input: &Input) -> Result<Command, Problem> {
    command("SCUR.AUDIT", input)
}

pub(super) fn get_session(input: &Input) -> Result<Command, Problem> {
    session("SCUR.SESSION", input)
}

pub(super) fn release(input: &Input) -> Result<Command, Problem> {
    session("SCUR.RELEASE", input)
}

pub(super) fn reserve(input: &Input) -> Result<Command, Problem> {
    let body: SessionOpening = input.json()?;
    if body.keep_open && body.close_on_denial {
        let why = "does not go with close_on_denial";
        return Err(field_problem(FaultLocation::Body("/keep_open"), why));
    }
    check_names("items", "key", body.items.iter().map(|item| (item.key, &item.unit)))?;
    for (at, item) in body.items.iter().enumerate() {
        check_min(at, item.min.map(i64::from), Some(item.requested.into()))?;
    }
    let mut command = session("SCUR.RESERVE", input)?
        .integer(body.request)
        .duration("VALIDITY", body.validity_ms)
        .duration("TCC", body.tcc_ms)
        .option("OVERRUN", body.overrun.map(Overrun::word))
        .flag("CLOSEONDENIAL", body.close_on_denial)
        .flag("KEEPOPEN", body.keep_open)
        .option("DATA", body.data.map(|data| data.0));
    for item in body.items {
        command = command
            .word("ITEM")
            .word(item.key.0.to_string())
            .word(item.unit.as_str())
            .number("REQUESTED", Some(item.requested))
            .number("MIN", item.min);
    }
    Ok(command)
}

fn check_overrun(overrun: Option<Overrun>, late_use: bool) -> Result<(), Problem> {
    if overrun.is_some() && !late_use {
        let why = "goes with late_use here: an open session keeps its own";
        return Err(field_problem(FaultLocation::Body("/overrun"), why));
    }
    Ok(())
}

pub(super) fn update(input: &Input) -> Result<Command, Problem> {
    let body: SessionUpdate = input.json()?;
    check_overrun(body.overrun, body.late_use)?;
    check_names("items", "key", body.items.iter().map(|item| (item.key, &item.unit)))?;
    for (at, item) in body.items.iter().enumerate() {
        if item.used.is_none() && item.requested.is_none() {
            let place = format!("/items/{at}");
            return Err(field_problem(FaultLocation::Body(&place), "must have used or requested"));
        }
        check_min(at, item.min.map(i64::from), item.requested.map(i64::from))?;
    }
    let mut command = session("SCUR.UPDATE", input)?
        .integer(body.request)
        .number("IFVERSION", body.if_version)
        .duration("VALIDITY", body.validity_ms)
        .duration("TCC", body.tcc_ms)
        .flag("CLOSEONDENIAL", body.close_on_denial)
        .option("DATA", body.data.map(|data| data.0))
        .flag("LATEUSE", body.late_use)
        .option("OVERRUN", body.overrun.map(Overrun::word));
    for item in body.items {
        command = command
            .word("ITEM")
            .word(item.key.0.to_string())
            .word(item.unit.as_str())
            .number("USED", item.used)
            .number("REQUESTED", item.requested)
            .number("MIN", item.min);
    }
    Ok(command)
}

pub(super) fn terminate(input: &Input) -> Result<Command, Problem> {
    let body: SessionEnd = input.json()?;
    check_overrun(body.overrun, body.late_use)?;
    check_names("items", "key", body.items.iter().map(|item| (item.key, &item.unit)))?;
    let mut command = session("SCUR.TERMINATE", input)?
        .integer(body.request)
        .number("IFVERSION", body.if_version)
        .flag("LATEUSE", body.late_use)
        .option("OVERRUN", body.overrun.map(Overrun::word));
    for item in body.items {
        command = command
            .word("ITEM")
            .word(item.key.0.to_string())
            .word(item.unit.as_str())
            .number("USED", Some(item.used));
    }
    Ok(command)
}
