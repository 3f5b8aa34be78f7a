//! Chains. Each command is written as one object and read as the HTTP request that it would be alone, so that both
//! have the same rules.

use crate::body::{Debit, Refund, TopUp};
use crate::build;
use crate::input::{IDEMPOTENCY_KEY, Input};
use crate::members::UniqueMembers;
use crate::sessions::{self, SessionEnd, SessionOpening, SessionUpdate};
use crate::text::{AccountId, Id, Text};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_ledger::{ACCOUNT_ID_LEN_MAX, CHAIN_MAX, ID_LEN_MAX};
use scurry_resp::table::{Role, find};
use scurry_service::{Request, Write};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;

/// Commands on several accounts of one hash slot, all of which are carried out or none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    /// Each on another account.
    #[schemars(with = "Vec<ChainedCommand>", length(min = 1, max = CHAIN_MAX))]
    commands: Vec<UniqueMembers>,
}

/// The schema of a chain's command: one object with the path parameters, the key and the body of the request alone.
/// Only a schema: the command itself is read by [`link`].
struct ChainedCommand;

impl JsonSchema for ChainedCommand {
    fn schema_name() -> Cow<'static, str> {
        "ChainedCommand".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = [
            ("ChainedReserve", "reserve", OnSession::<SessionOpening>::json_schema(generator)),
            ("ChainedUpdate", "update", OnSession::<SessionUpdate>::json_schema(generator)),
            ("ChainedTerminate", "terminate", OnSession::<SessionEnd>::json_schema(generator)),
            ("ChainedDebit", "debit", OnAccount::<Debit>::json_schema(generator)),
            ("ChainedTopUp", "top_up", OnAccount::<TopUp>::json_schema(generator)),
            ("ChainedRefund", "refund", OnAccount::<Refund>::json_schema(generator)),
        ];
        let (mut mapping, mut branches) = (Map::new(), Vec::new());
        for (name, word, schema) in kinds {
            let place = format!("#/components/schemas/{name}");
            generator.definitions_mut().insert(name.to_owned(), named(word, schema).into());
            branches.push(json!({ "$ref": place }));
            mapping.insert(word.to_owned(), place.into());
        }
        json_schema!({
            "description": "A command of a chain: the request that it is alone, written as one object.",
            "oneOf": branches,
            "discriminator": { "propertyName": "operation", "mapping": mapping },
        })
    }
}

/// Returns the schema of an object with its members, the `operation` member that holds `word`, and no others.
fn named(word: &str, mut schema: Schema) -> Schema {
    let object = schema.ensure_object();
    let members = object.entry("properties").or_insert_with(|| json!({}));
    let described = "The request that the command is.";
    members["operation"] = json!({ "type": "string", "enum": [word], "description": described });
    if let Some(required) = object.entry("required").or_insert_with(|| json!([])).as_array_mut() {
        required.push(json!("operation"));
    }
    object.remove("unevaluatedProperties");
    object.insert("additionalProperties".to_owned(), json!(false));
    schema
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema alone")]
struct OnSession<B> {
    /// The account.
    account: AccountId,
    /// The session.
    session: Id,
    #[schemars(flatten)]
    body: B,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema alone")]
struct OnAccount<B> {
    /// The account.
    account: AccountId,
    /// The transaction id: the same when the chain is sent again.
    transaction: Id,
    #[schemars(flatten)]
    body: B,
}

/// A command that is allowed in a chain.
struct ChainCommand {
    word: &'static str,
    command: &'static str,
    /// True if it names a session, false if it names a transaction id.
    of_session: bool,
    build: fn(&Input) -> Result<Request, Problem>,
}

const CHAINABLE: [ChainCommand; 6] = [
    of_session("reserve", "SCUR.RESERVE", sessions::reserve),
    of_session("update", "SCUR.UPDATE", sessions::update),
    of_session("terminate", "SCUR.TERMINATE", sessions::terminate),
    of_transaction("debit", "SCUR.DEBIT", build::debit),
    of_transaction("top_up", "SCUR.TOPUP", build::top_up),
    of_transaction("refund", "SCUR.REFUND", build::refund),
];

type Build = fn(&Input) -> Result<Request, Problem>;

const fn of_session(word: &'static str, command: &'static str, build: Build) -> ChainCommand {
    ChainCommand { word, command, of_session: true, build }
}

const fn of_transaction(word: &'static str, command: &'static str, build: Build) -> ChainCommand {
    ChainCommand { word, command, of_session: false, build }
}

pub(crate) fn chain(input: &Input) -> Result<Request, Problem> {
    let body: Chain = input.json()?;
    let len = body.commands.len();
    if !(1..=CHAIN_MAX).contains(&len) {
        let why = format!("must be 1 to {CHAIN_MAX} commands");
        return Err(field_problem(FaultLocation::Body("/commands"), &why));
    }
    let each = body.commands.into_iter().enumerate();
    let links = each.map(|(at, UniqueMembers(members))| {
        link(input, members).map_err(|problem| problem.within(&format!("/commands/{at}")))
    });
    Ok(Request::Chain(links.collect::<Result<_, _>>()?))
}

/// Reads one command of a chain, by building the [`Input`] of the request alone.
fn link(input: &Input, mut members: Map<String, Json>) -> Result<Write, Problem> {
    let word: String = remove_string(&mut members, "operation")?;
    let Some(one) = CHAINABLE.iter().find(|one| one.word == word) else {
        let words = CHAINABLE.map(|one| one.word).join(", ");
        let why = format!("must be one of {words}");
        return Err(field_problem(FaultLocation::Body("/operation"), &why));
    };
    check_role(input, one)?;
    let account = text::<ACCOUNT_ID_LEN_MAX>(&mut members, "account")?;
    let mut params = vec![("account", account)];
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if one.of_session {
        params.push(("session", text::<ID_LEN_MAX>(&mut members, "session")?));
    } else {
        let id = text::<ID_LEN_MAX>(&mut members, "transaction")?;
        headers.insert(IDEMPOTENCY_KEY, as_key(&id)?);
    }
    // The other members are the body of the request alone.
    let body = Json::Object(members).to_string().into();
    let alone = Input { params, query: None, headers, body, user: input.user.clone() };
    match (one.build)(&alone)? {
        Request::Write(write) => Ok(write),
        Request::Chain(_) | Request::Read(_) => unreachable!("each of the table is a command"),
    }
}

/// Returns a transaction id as the Idempotency-Key header of the request alone, in quotes, which reading the header
/// removes. An id that contains quotes or backslashes is passed on unchanged, so that quotes around it are no part of
/// the id, as in a header.
fn as_key(id: &str) -> Result<HeaderValue, Problem> {
    let shown = if id.contains(['"', '\\']) { id.to_owned() } else { format!("\"{id}\"") };
    HeaderValue::from_str(&shown)
        .map_err(|error| field_problem(FaultLocation::Body("/transaction"), &error.to_string()))
}

/// Removes and returns a member that must be a string.
fn remove_string(members: &mut Map<String, Json>, name: &str) -> Result<String, Problem> {
    match members.remove(name) {
        Some(Json::String(text)) => Ok(text),
        other => {
            let why = if other.is_some() { "must be a string" } else { "is missing" };
            Err(field_problem(FaultLocation::Body(&format!("/{name}")), why))
        }
    }
}

/// Removes and returns a member that must be an id.
fn text<const MAX: usize>(members: &mut Map<String, Json>, name: &str) -> Result<String, Problem> {
    let given = remove_string(members, name)?;
    let checked = Text::<MAX>::new(given);
    let place = format!("/{name}");
    let checked = checked.map_err(|why| field_problem(FaultLocation::Body(&place), &why))?;
    Ok(checked.as_str().to_owned())
}

/// Checks that the user has the role of this command: a chain needs the roles of all its commands. Without a user
/// every role is granted.
fn check_role(input: &Input, one: &ChainCommand) -> Result<(), Problem> {
    let role = find(one.command.as_bytes()).map_or(Role::Admin, |spec| spec.role);
    let Some(user) = input.user.as_ref().filter(|user| !user.roles.permit(role)) else {
        return Ok(());
    };
    let why = format!("the user {} has not the role {}", user.name, role.name());
    Err(Problem::of_code("FORBIDDEN", StatusCode::FORBIDDEN, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a chain of one command, and returns it or the problem as text.
    fn read(command: &str) -> Result<Request, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = format!(r#"{{"commands":[{command}]}}"#).into();
        let input = Input { params: vec![], query: None, headers, body, user: None };
        chain(&input).map_err(|problem| format!("{problem:?}"))
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused_as_in_a_request_alone() {
        let debit = r#""account":"a","transaction":"t","unit":"cent""#;
        let reserve = r#""operation":"reserve","account":"a","session":"s","request":0"#;
        for (command, pointer) in [
            (
                format!(r#"{{"operation":"debit","operation":"top_up",{debit},"amount":5}}"#),
                "operation",
            ),
            (format!(r#"{{"operation":"debit",{debit},"amount":5,"amount":6}}"#), "amount"),
            (format!(r#"{{"operation":"debit",{debit},"amount":5,"amount":5}}"#), "amount"),
            (format!(r#"{{"operation":"debit",{debit},"amount":5,"account":"b"}}"#), "account"),
            (
                format!(r#"{{{reserve},"items":[{{"key":1,"unit":"cent","unit":"byte"}}]}}"#),
                "items/0/unit",
            ),
        ] {
            let why = read(&command).expect_err(&command);
            let field = pointer.rsplit('/').next().expect("it has a last part");
            assert!(why.contains(&format!("duplicate field `{field}`")), "{command}: {why}");
            let place = format!("\"pointer\": String(\"/commands/0/{pointer}\")");
            assert!(why.contains(&place), "{command}: {why}");
        }
        read(&format!(r#"{{"operation":"debit",{debit},"amount":5}}"#)).expect("nothing is twice");
    }
}
