//! Replies that a script gives a name to, for its later commands and results.

use crate::value::Value;
use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// As written, times substituted.
    Bytes(Vec<u8>),
    /// `$name`: the reply of this name.
    Kept(String),
}

/// Values that were kept in the run of a script.
#[derive(Debug, Default)]
pub(crate) struct Kept(BTreeMap<String, Vec<u8>>);

impl Kept {
    /// The words of a command, with what was kept.
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

    /// Keeps a string under a name that is new; true otherwise when it is the one that was kept.
    pub(crate) fn agrees(&mut self, name: &str, reply: &Value) -> bool {
        let Value::Word(bytes) = reply else { return false };
        let kept = self.0.entry(name.to_owned()).or_insert_with(|| bytes.clone());
        kept == bytes
    }
}
