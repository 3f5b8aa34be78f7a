//! Replies that a script stores under a name, for its later commands and results.

use crate::value::Value;
use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// Argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Literal bytes, with times substituted.
    Bytes(Vec<u8>),
    /// `$name`: the reply stored under this name.
    Kept(String),
}

/// Values stored during the run of a script.
#[derive(Debug, Default)]
pub(crate) struct StoredValues(BTreeMap<String, Vec<u8>>);

impl StoredValues {
    /// Returns the words of a command, with stored replies substituted.
    pub(crate) fn words(&self, arguments: &[Argument]) -> Result<Vec<Vec<u8>>> {
        let word = |argument: &Argument| match argument {
            Argument::Bytes(bytes) => Ok(bytes.clone()),
            Argument::Kept(name) => {
                let kept = self.0.get(name).cloned();
                kept.with_context(|| format!("no reply before this one was kept as ${name}"))
            }
        };
        arguments.iter().map(word).collect()
    }

    /// Stores a string under a new name. For a known name, reports whether the reply equals the stored one.
    pub(crate) fn agrees(&mut self, name: &str, reply: &Value) -> bool {
        let Value::Word(bytes) = reply else { return false };
        let kept = self.0.entry(name.to_owned()).or_insert_with(|| bytes.clone());
        kept == bytes
    }
}
