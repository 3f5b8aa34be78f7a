//! An event as it is compared: the same whether SCUR.WATCH, a file or a stream shows it.

use anyhow::{Context, Result, bail};
use scurry_conformance::Value;
use scurry_crash::wire::{array, text};
use scurry_service::Position;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Fields that are not compared: the position is, and these have another form in JSON.
const ELSEWHERE: [&str; 6] = ["data", "event", "account", "id", "store", "time"];

/// An event of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShippedEvent {
    pub(super) at: Position,
    pub(super) event: String,
    pub(super) account: String,
    /// All other fields as text.
    pub(super) fields: BTreeMap<String, String>,
}

impl ShippedEvent {
    /// Reads an event of SCUR.WATCH.
    pub(super) fn of_watch(shown: &Value) -> Result<ShippedEvent> {
        let [id, pairs] = array(shown)? else { bail!("no event: {shown}") };
        let mut fields = BTreeMap::new();
        for pair in array(pairs)?.chunks(2) {
            let [name, value] = pair else { bail!("no pairs: {shown}") };
            let (name, value) = match (text(name)?, value) {
                (_, Value::Nil) => continue,
                // The value of a counter is a number, that of an identity a word.
                (name, Value::Int(number)) if name == "value" => {
                    ("count".to_owned(), number.to_string())
                }
                (name, Value::Int(number)) => (name, number.to_string()),
                (name, value) => {
                    (name, text(value).with_context(|| format!("a field of {shown}"))?)
                }
            };
            fields.insert(name, value);
        }
        ShippedEvent::of(&text(id)?, fields)
    }

    /// Reads an event in JSON.
    pub(super) fn of_json(json: &str) -> Result<ShippedEvent> {
        let Json::Object(object) = serde_json::from_str(json)? else { bail!("no object: {json}") };
        let mut fields = BTreeMap::new();
        for (name, value) in object {
            match value {
                Json::String(text) => fields.insert(name, text),
                Json::Number(number) => fields.insert(name, number.to_string()),
                Json::Object(identities) => {
                    for (kind, value) in identities {
                        let value = value.as_str().context("an identity")?.to_owned();
                        fields.insert(format!("identity.{kind}"), value);
                    }
                    None
                }
                other => bail!("{name} is {other}"),
            };
        }
        let id = fields.get("id").context("no id")?.clone();
        ShippedEvent::of(&id, fields).with_context(|| json.to_owned())
    }

    fn of(id: &str, mut fields: BTreeMap<String, String>) -> Result<ShippedEvent> {
        let event = fields.get("event").context("no event")?.clone();
        if event == "missed" {
            bail!("events were missed: {id}");
        }
        let at = Position::parse(id.as_bytes()).with_context(|| format!("{id} is no position"))?;
        let account = fields.get("account").cloned().unwrap_or_default();
        fields.retain(|name, _| !ELSEWHERE.contains(&name.as_str()));
        Ok(ShippedEvent { at, event, account, fields })
    }

    /// Returns a number. None where the event has none of this name.
    pub(super) fn number(&self, name: &str) -> Option<i128> {
        self.fields.get(name)?.parse().ok()
    }

    /// Returns sequence and index.
    pub(super) fn place(&self) -> (u64, u32) {
        (self.at.sequence, self.at.index)
    }
}
