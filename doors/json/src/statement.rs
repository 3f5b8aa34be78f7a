//! The statement of an account: builds its request and reads its reply.

use crate::answer::{Answer, AnswerBody, StatementBody, StatementEntry, StatementMember};
use crate::answers_from_replies::{integer, lossy};
use crate::build::{account, count_of, name};
use crate::input::Input;
use crate::quantity::{Quantity, regex_up_to};
use crate::text::Name;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_ledger::{Code, ID_LEN_MAX, Id, Time};
use scurry_service::{Event, EventField, StatementRead, StoreRead, StoreReply};
use std::borrow::Cow;

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
        let (short, narrow) = (regex_up_to(u32::MAX.into()), regex_up_to(u16::MAX.into()));
        let sequence = regex_up_to(i64::MAX.unsigned_abs());
        json_schema!({
            "type": "string",
            "pattern": format!("^({short})[.](0|{narrow}):({sequence})(-({short}))?$"),
        })
    }
}

pub(crate) fn build(input: &Input) -> Result<StoreRead, Problem> {
    let [from, to, unit, transaction, session, limit, cursor, newest_first] = input.query([
        "from_ms",
        "to_ms",
        "unit",
        "transaction",
        "session",
        "limit",
        "cursor",
        "newest_first",
    ])?;
    let id = |name: &str, value: Option<Vec<u8>>| {
        let text = value.map(|value| input.parameter::<ID_LEN_MAX>(name, Some(value)));
        let text = text.transpose()?;
        Ok::<_, Problem>(text.and_then(|text| Id::new(text.as_str().as_bytes())))
    };
    let time = |name: &str, value: Option<Vec<u8>>| {
        value.map(|value| input.number(name, Some(value)).map(Time)).transpose()
    };
    let (from, to) = (time("from_ms", from)?, time("to_ms", to)?);
    if from.zip(to).is_some_and(|(from, to)| to <= from) {
        return Err(field_problem(FaultLocation::Parameter("to_ms"), "must be after from_ms"));
    }
    let unit: Option<Name> = unit.map(|unit| input.parameter("unit", Some(unit))).transpose()?;
    let count = count_of(input, limit, ENTRIES_MAX)?;
    let position = |cursor: Vec<u8>| {
        let why = "must be the cursor of an earlier answer";
        let fault = || field_problem(FaultLocation::Parameter("cursor"), why);
        scurry_service::Position::parse(&cursor).ok_or_else(fault)
    };
    let cursor = cursor.map(position).transpose()?;
    Ok(StoreRead::Statement(StatementRead {
        account: account(input)?.into_bytes(),
        from,
        to,
        unit: unit.as_ref().map(name),
        transaction: id("transaction", transaction)?,
        session: id("session", session)?,
        count,
        cursor,
        newest_first: input.truth("newest_first", newest_first)?,
    }))
}

pub(crate) fn read(reply: StoreReply) -> Option<Answer> {
    let StoreReply::Statement(statement) = reply else { return None };
    let body = AnswerBody::Statement(StatementBody {
        account: lossy(&statement.account),
        cursor: statement.next.map(|next| next.to_string()),
        complete: statement.complete,
        kept_from_ms: statement.kept_from.map(|time| time.0),
        looked: integer(statement.looked),
        reached_ms: statement.reached.map(|time| time.0),
        entries: statement.entries.iter().map(entry).collect::<Option<_>>()?,
    });
    Some(Answer { code: Code::Ok, replayed: false, body })
}

fn entry(event: &Event<'_>) -> Option<StatementEntry> {
    // A statement has events of commits alone.
    let commit = event.commit.as_ref()?;
    let account = ("account".to_owned(), StatementMember::Text(lossy(&commit.account)));
    let fields = event.fields.iter().map(|(name, value)| {
        let name = match name.as_ref() {
            // Times have their unit in their name, as in all bodies.
            "valid_from" | "valid_to" => format!("{name}_ms"),
            name => name.to_owned(),
        };
        let value = match value {
            EventField::Nothing => StatementMember::Nothing(()),
            EventField::Number(number) => StatementMember::Quantity(Quantity::Number(*number)),
            EventField::Bytes(bytes) => StatementMember::Text(lossy(bytes)),
        };
        (name, value)
    });
    Some(StatementEntry {
        position: event.id.to_string(),
        time_ms: commit.time.0,
        event: event.name.clone().into_owned(),
        more: fields.chain([account]).collect(),
    })
}
