//! The statement of an account: builds its command and reads its reply.

use crate::answer::{Answer, Body, StatementBody, StatementEntry, StatementMember};
use crate::build::{limit_of, words};
use crate::input::Input;
use crate::quantity::{Quantity, up_to};
use crate::reply::{Reader, each, field, integer, text};
use crate::text::Name;
use crate::words::Words;
use redis::Value;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_ledger::Code;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Most entries of an answer, as in SCUR.STATEMENT.
pub(crate) const ENTRIES_MAX: i64 = scurry_resp::COUNT_MAX as i64;

/// The schema of a log position, which is the cursor of a statement.
pub(crate) struct Position;

impl JsonSchema for Position {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Position".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (short, narrow) = (up_to(u32::MAX.into()), up_to(u16::MAX.into()));
        let sequence = up_to(i64::MAX.unsigned_abs());
        json_schema!({
            "type": "string",
            "pattern": format!("^({short})[.](0|{narrow}):({sequence})(-({short}))?$"),
        })
    }
}

pub(crate) fn build(input: &Input) -> Result<Words, Problem> {
    let [from, to, unit, limit, cursor, newest_first] =
        input.query(["from_ms", "to_ms", "unit", "limit", "cursor", "newest_first"])?;
    let time = |name: &str, value: Option<Vec<u8>>| {
        value.map(|value| input.number(name, Some(value))).transpose()
    };
    let (from, to) = (time("from_ms", from)?, time("to_ms", to)?);
    if from.zip(to).is_some_and(|(from, to)| to <= from) {
        return Err(field_problem(FaultLocation::Parameter("to_ms"), "must be after from_ms"));
    }
    let unit: Option<Name> = unit.map(|unit| input.parameter("unit", Some(unit))).transpose()?;
    let limit = time("limit", limit)?.map(|limit| limit_of(limit, ENTRIES_MAX)).transpose()?;
    let is_position = |cursor: &Vec<u8>| scurry_resp::Position::parse(cursor).is_some();
    if !cursor.as_ref().is_none_or(is_position) {
        let why = "must be the cursor of an earlier answer";
        return Err(field_problem(FaultLocation::Parameter("cursor"), why));
    }
    Ok(words("SCUR.STATEMENT", input)?
        .number("FROM", from)
        .number("TO", to)
        .option("UNIT", unit.as_ref().map(Name::as_str))
        .number("COUNT", limit)
        .option("CURSOR", cursor)
        .flag("REV", input.truth("newest_first", newest_first)?))
}

pub(crate) fn read(reply: &Value) -> Option<Answer> {
    let or_nil = |name| match field(reply, name)? {
        Value::Nil => Some(None),
        value => Some(Some(value)),
    };
    let cursor = match or_nil("next")? {
        Some(next) => Some(text(next)?),
        None => None,
    };
    let time = |name| match or_nil(name)? {
        Some(time) => Some(Some(integer(time)?)),
        None => Some(None),
    };
    let body = Body::Statement(StatementBody {
        account: text(field(reply, "account")?)?,
        cursor,
        complete: integer(field(reply, "complete")?)? == 1,
        kept_from_ms: time("kept_from")?,
        looked: integer(field(reply, "looked")?)?,
        reached_ms: time("reached")?,
        entries: each(field(reply, "entries")?, read_entry)?,
    });
    Some(Answer { code: Code::Ok, replayed: false, body })
}

fn read_entry(row: &mut Reader<'_>) -> Option<StatementEntry> {
    let (position, fields) = (row.text()?, row.value()?);
    let mut fields = Reader::of(fields)?;
    let (mut time_ms, mut event, mut more) = (None, None, BTreeMap::new());
    while let Some(name) = fields.value() {
        let (name, value) = (text(name)?, fields.value()?);
        match name.as_str() {
            "time" => time_ms = Some(integer(value)?),
            "event" => event = Some(text(value)?),
            // Times have their unit in their name, as in all bodies.
            "valid_from" | "valid_to" => {
                more.insert(format!("{name}_ms"), member(value)?);
            }
            _ => {
                more.insert(name, member(value)?);
            }
        }
    }
    Some(StatementEntry { position, time_ms: time_ms?, event: event?, more })
}

fn member(value: &Value) -> Option<StatementMember> {
    Some(match value {
        Value::Nil => StatementMember::Nothing(()),
        Value::Int(number) => StatementMember::Quantity(Quantity::Number(*number)),
        value => StatementMember::Text(text(value)?),
    })
}
