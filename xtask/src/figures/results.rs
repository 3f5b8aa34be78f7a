//! Kept results as the tables read them: by name below docs/results, whoever has them.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Where the text of a file below docs/results comes from.
pub(crate) type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Says of each file on what machine and at what commit it was measured.
pub(crate) const RECORD: &str = "figures.json";

/// The kept results.
pub(crate) struct Results<'a> {
    read: Read<'a>,
}

impl<'a> Results<'a> {
    pub(crate) fn new(read: Read<'a>) -> Results<'a> {
        Results { read }
    }

    /// The text of a file.
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        (self.read)(name).with_context(|| format!("docs/results has no {name}"))
    }

    /// A file of JSON.
    pub(crate) fn json(&self, name: &str) -> Result<Value> {
        serde_json::from_str(&self.text(name)?).with_context(|| format!("{name} is no JSON"))
    }

    /// The rows of a file.
    pub(crate) fn rows(&self, name: &str) -> Result<Vec<Value>> {
        let mut file = self.json(name)?;
        match file["rows"].take() {
            Value::Array(rows) => Ok(rows),
            _ => bail!("{name} has no rows"),
        }
    }
}

/// A number in a value; none where there is none.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer)?.as_f64()
}

/// A text in a value; empty where there is none.
pub(crate) fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The values of a list.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}
