//! Sessions in JSON: the bodies that open, update and end one, the commands made from them, and the answer that shows one.

use crate::answer::{Answer, AnswerBody, OpenItem, OpenSession};
use crate::answers_from_replies::{account_body, amount, id, integer, name as shown_name, shown};
use crate::body::{any_of, base64_of, something_of};
use crate::build::{account, check_unique_names, name, write};
use crate::input::Input;
use crate::quantity::Amount;
use crate::text::{Id, Key, Name, Overrun};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_ledger::{
    self as ledger, BLOB_LEN_MAX, Command, ITEMS_MAX, SessionOptions, SessionRequest,
};
use scurry_resp::LIMIT_MS_MAX;
use scurry_service::{Read, Reply, Request};
use serde::{Deserialize, Deserializer};

/// The longest supervision time that any store's settings allow, ms. The bounds on identities here are likewise the
/// widest. Most stores are set to less (crates/cli/scurry.example.toml) and refuse values above their setting.
const TCC_MS_MAX: i64 = LIMIT_MS_MAX;

/// A session that is opened.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionOpening {
    /// The request number (CC-Request-Number).
    pub(crate) request: u32,
    /// Each with another key, or another unit. None: they are asked for later, by an update.
    #[serde(default)]
    #[schemars(length(max = ITEMS_MAX), extend("x-scurry-limit" = "items_max"))]
    pub(crate) items: Vec<ItemRequest>,
    /// How long grants are good for.
    #[schemars(range(min = 1, max = TCC_MS_MAX), extend("x-scurry-limit" = "tcc_ms_max"))]
    pub(crate) validity_ms: Option<i64>,
    /// The supervision time: without a request for so long the session expires. Twice the validity
    /// unless told otherwise.
    #[schemars(range(min = 1, max = TCC_MS_MAX), extend("x-scurry-limit" = "tcc_ms_max"))]
    pub(crate) tcc_ms: Option<i64>,
    /// Treatment of use beyond the balance.
    pub(crate) overrun: Option<Overrun>,
    /// One denied item denies all.
    #[serde(default)]
    pub(crate) close_on_denial: bool,
    /// The session opens although every item is denied. Not with `close_on_denial`.
    #[serde(default)]
    pub(crate) keep_open: bool,
    /// Bytes of the caller's, base64.
    pub(crate) data: Option<Data>,
}

/// Units that are asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemRequest {
    /// Key of the item: its rating group, or another name.
    pub(crate) key: Key,
    /// Unit that is counted.
    pub(crate) unit: Name,
    /// Units that are asked for.
    pub(crate) requested: Amount<1>,
    /// With less than this nothing is granted. At most `requested`.
    pub(crate) min: Option<Amount<0>>,
}

/// Use so far, and the request for the next grant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionUpdate {
    /// The request number (CC-Request-Number).
    pub(crate) request: u32,
    /// Only when the session has this version.
    #[schemars(range(min = 0))]
    pub(crate) if_version: Option<i64>,
    /// The items, each under another key or unit.
    #[serde(default)]
    #[schemars(length(max = ITEMS_MAX), extend("x-scurry-limit" = "items_max"))]
    pub(crate) items: Vec<UpdatedItem>,
    /// How long grants are good for.
    #[schemars(range(min = 1, max = TCC_MS_MAX), extend("x-scurry-limit" = "tcc_ms_max"))]
    pub(crate) validity_ms: Option<i64>,
    /// The supervision time: without a request for so long the session expires.
    #[schemars(range(min = 1, max = TCC_MS_MAX), extend("x-scurry-limit" = "tcc_ms_max"))]
    pub(crate) tcc_ms: Option<i64>,
    /// One denied item denies all.
    #[serde(default)]
    pub(crate) close_on_denial: bool,
    /// An item that asks and is denied keeps what it held. Not with `close_on_denial`.
    #[serde(default)]
    pub(crate) keep_hold: bool,
    /// Use is debited also where the session is not open any more.
    #[serde(default)]
    pub(crate) late_use: bool,
    /// For late use alone: an open session keeps its own.
    pub(crate) overrun: Option<Overrun>,
    /// Bytes of the caller's, base64.
    pub(crate) data: Option<Data>,
}

/// `used` or `requested`, or both.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = {}, "then" = any_of(something_of(&["used", "requested"], &[]))))]
pub(crate) struct UpdatedItem {
    /// Key of the item: its rating group, or another name.
    pub(crate) key: Key,
    /// Unit that is counted.
    pub(crate) unit: Name,
    /// Units that were used since the last report.
    pub(crate) used: Option<Amount<0>>,
    /// Replaces the item's hold.
    pub(crate) requested: Option<Amount<0>>,
    /// At most `requested`.
    pub(crate) min: Option<Amount<0>>,
}

/// Use at the end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionEnd {
    /// The request number (CC-Request-Number).
    pub(crate) request: u32,
    /// Only when the session has this version.
    #[schemars(range(min = 0))]
    pub(crate) if_version: Option<i64>,
    /// The items, each under another key or unit.
    #[serde(default)]
    #[schemars(length(max = ITEMS_MAX), extend("x-scurry-limit" = "items_max"))]
    pub(crate) items: Vec<EndedItem>,
    /// A session that is not known yet ends too: should its opening come later, it opens nothing.
    #[serde(default)]
    pub(crate) cancel: bool,
    /// Use is debited also where the session is not open any more.
    #[serde(default)]
    pub(crate) late_use: bool,
    /// For late use alone: an open session keeps its own.
    pub(crate) overrun: Option<Overrun>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedItem {
    /// Key of the item: its rating group, or another name.
    pub(crate) key: Key,
    /// Unit that is counted.
    pub(crate) unit: Name,
    /// Units that were used since the last report.
    pub(crate) used: Amount<0>,
}

/// Opaque bytes, base64 with padding in JSON.
pub(crate) struct Data(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(|error| {
            serde::de::Error::custom(format_args!("is not base64 with padding: {error}"))
        })?;
        Ok(Data(bytes))
    }
}

impl JsonSchema for Data {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Data".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({
            "type": "string",
            "contentEncoding": "base64",
            "x-scurry-limit": "blob_len_max",
        });
        schema.ensure_object().extend(base64_of(BLOB_LEN_MAX as u64));
        schema
    }
}

/// Checks that an item's minimum, if given, is at most the requested amount, which must then be positive. `at` is the
/// item's index.
fn check_min(at: usize, min: Option<i64>, requested: Option<i64>) -> Result<(), Problem> {
    let requested = requested.unwrap_or(0);
    if min.is_none_or(|min| min <= requested && requested > 0) {
        return Ok(());
    }
    let why = "must be at most requested, which must be there";
    Err(field_problem(FaultLocation::Body(&format!("/items/{at}/min")), why))
}

pub(crate) fn get_session(input: &Input) -> Result<Request, Problem> {
    let session: Id = input.text("session")?;
    let account = account(input)?.into_bytes();
    Ok(Request::Read(Read::Session { account, session: session.into_bytes() }))
}

pub(crate) fn release(input: &Input) -> Result<Request, Problem> {
    let session: Id = input.text("session")?;
    let [cancel] = input.query(["cancel"])?;
    let cancel = input.truth("cancel", cancel)?;
    let key = input.optional_key()?;
    let txn = key.as_ref().map(|key| key.as_str().as_bytes());
    write(input, &Command::Release { session: session.as_str().as_bytes(), txn, cancel })
}

pub(crate) fn reserve(input: &Input) -> Result<Request, Problem> {
    let body: SessionOpening = input.json()?;
    if body.keep_open && body.close_on_denial {
        let why = "does not go with close_on_denial";
        return Err(field_problem(FaultLocation::Body("/keep_open"), why));
    }
    check_unique_names("items", "key", body.items.iter().map(|item| (item.key, &item.unit)))?;
    for (at, item) in body.items.iter().enumerate() {
        check_min(at, item.min.map(i64::from), Some(item.requested.into()))?;
    }
    let items = body.items.iter().map(|item| ledger::ItemRequest {
        key: item.key.0,
        unit: name(&item.unit),
        used: None,
        requested: Some(item.requested.into()),
        min: item.min.map(i64::from),
    });
    let session: Id = input.text("session")?;
    let request = SessionRequest {
        session: session.as_str().as_bytes(),
        request: body.request,
        options: SessionOptions {
            validity_ms: body.validity_ms,
            tcc_ms: body.tcc_ms,
            overrun: body.overrun.map(ledger::Overrun::from),
            close_on_denial: body.close_on_denial,
            keep_open: body.keep_open,
            ..SessionOptions::default()
        },
        blob: body.data.as_ref().map(|data| &data.0[..]),
        items: &items.collect::<Vec<_>>(),
    };
    write(input, &Command::Reserve(request))
}

fn check_overrun(overrun: Option<Overrun>, late_use: bool) -> Result<(), Problem> {
    if overrun.is_some() && !late_use {
        let why = "goes with late_use here: an open session keeps its own";
        return Err(field_problem(FaultLocation::Body("/overrun"), why));
    }
    Ok(())
}

/// Converts the session version that a body requires.
fn version(if_version: Option<i64>) -> Result<Option<u64>, Problem> {
    let checked = if_version.map(u64::try_from).transpose();
    checked.map_err(|_| field_problem(FaultLocation::Body("/if_version"), "must be at least 0"))
}

pub(crate) fn update(input: &Input) -> Result<Request, Problem> {
    let body: SessionUpdate = input.json()?;
    check_overrun(body.overrun, body.late_use)?;
    if body.keep_hold && body.close_on_denial {
        let why = "does not go with close_on_denial";
        return Err(field_problem(FaultLocation::Body("/keep_hold"), why));
    }
    check_unique_names("items", "key", body.items.iter().map(|item| (item.key, &item.unit)))?;
    for (at, item) in body.items.iter().enumerate() {
        if item.used.is_none() && item.requested.is_none() {
            let place = format!("/items/{at}");
            return Err(field_problem(FaultLocation::Body(&place), "must have used or requested"));
        }
        check_min(at, item.min.map(i64::from), item.requested.map(i64::from))?;
    }
    let items = body.items.iter().map(|item| ledger::ItemRequest {
        key: item.key.0,
        unit: name(&item.unit),
        used: item.used.map(i64::from),
        requested: item.requested.map(i64::from),
        min: item.min.map(i64::from),
    });
    let session: Id = input.text("session")?;
    let request = SessionRequest {
        session: session.as_str().as_bytes(),
        request: body.request,
        options: SessionOptions {
            if_version: version(body.if_version)?,
            validity_ms: body.validity_ms,
            tcc_ms: body.tcc_ms,
            overrun: body.overrun.map(ledger::Overrun::from),
            close_on_denial: body.close_on_denial,
            keep_hold: body.keep_hold,
            late_use: body.late_use,
            ..SessionOptions::default()
        },
        blob: body.data.as_ref().map(|data| &data.0[..]),
        items: &items.collect::<Vec<_>>(),
    };
    write(input, &Command::Update(request))
}

pub(crate) fn terminate(input: &Input) -> Result<Request, Problem> {
    let body: SessionEnd = input.json()?;
    check_overrun(body.overrun, body.late_use)?;
    check_unique_names("items", "key", body.items.iter().map(|item| (item.key, &item.unit)))?;
    let items = body.items.iter().map(|item| ledger::ItemRequest {
        key: item.key.0,
        unit: name(&item.unit),
        used: Some(item.used.into()),
        requested: None,
        min: None,
    });
    let session: Id = input.text("session")?;
    let request = SessionRequest {
        session: session.as_str().as_bytes(),
        request: body.request,
        options: SessionOptions {
            if_version: version(body.if_version)?,
            overrun: body.overrun.map(ledger::Overrun::from),
            late_use: body.late_use,
            cancel: body.cancel,
            ..SessionOptions::default()
        },
        items: &items.collect::<Vec<_>>(),
        ..SessionRequest::default()
    };
    write(input, &Command::Terminate(request))
}

pub(crate) fn open_session(reply: Reply) -> Option<Answer> {
    let Reply::Session(open) = reply else { return None };
    let items = open.items.iter().map(|item| OpenItem {
        key: Key(item.key),
        unit: shown_name(item.unit),
        granted: amount(item.granted),
        outstanding: amount(item.outstanding),
        used: amount(item.used),
        from_hold: amount(item.from_hold),
        direct: amount(item.direct),
        released: amount(item.released),
        uncollected: amount(item.uncollected),
        standing: item.standing.name(),
    });
    shown(AnswerBody::OpenSession(Box::new(OpenSession {
        session: id(&open.row.id),
        version: integer(open.row.version),
        deadline_ms: open.row.deadline.0,
        opened_ms: open.row.opened.0,
        active_ms: open.row.active.0,
        validity_ms: open.validity_ms,
        tcc_ms: open.tcc_ms,
        overrun: open.overrun.name().to_owned(),
        last_request: open.last_request.map(i64::from),
        data: STANDARD.encode(&open.blob),
        items: items.collect(),
        account: account_body(open.account),
    })))
}
