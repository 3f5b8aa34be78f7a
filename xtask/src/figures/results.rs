//! Committed results by file name below docs/results, independent of where the files are read from.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Reader of files below docs/results; returns None for a missing file.
pub(crate) type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// File that records the machine and the commit of each result.
pub(crate) const RECORD: &str = "figures.json";

/// Committed results.
pub(crate) struct Results<'a> {
    read: Read<'a>,
}

impl<'a> Results<'a> {
    pub(crate) fn new(read: Read<'a>) -> Results<'a> {
        Results { read }
    }

    /// Returns the text of a file.
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        (self.read)(name).with_context(|| format!("docs/results has no {name}"))
    }

    /// Parses a JSON file.
    pub(crate) fn json(&self, name: &str) -> Result<Value> {
        serde_json::from_str(&self.text(name)?).with_context(|| format!("{name} is no JSON"))
    }

    /// Returns the rows of a file.
    pub(crate) fn rows(&self, name: &str) -> Result<Vec<Value>> {
        let mut file = self.json(name)?;
        match file["rows"].take() {
            Value::Array(rows) => Ok(rows),
            _ => bail!("{name} has no rows"),
        }
    }
}

/// Returns the number at a JSON pointer; None when it is missing or not a number.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer)?.as_f64()
}

/// Returns a text field; empty when it is missing.
pub(crate) fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Returns the elements of a list field; empty when it is missing.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}
