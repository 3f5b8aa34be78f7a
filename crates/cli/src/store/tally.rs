//! Counts records or entries by kind.

use serde_json::{Map, Value, json};

/// Counts by kind, in the order of first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountsByKind(Vec<(&'static str, u64)>);

impl CountsByKind {
    pub(crate) fn add(&mut self, kind: &'static str) {
        // A linear search, since there are only a few kinds.
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.0.push((kind, 1)),
        }
    }

    pub(crate) fn merge(&mut self, other: &CountsByKind) {
        for &(kind, count) in &other.0 {
            match self.0.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, sum)) => *sum += count,
                None => self.0.push((kind, count)),
            }
        }
    }

    pub(crate) fn sum(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Formats the counts as text: `account 12, value 3`.
    pub(crate) fn text(&self) -> String {
        let parts: Vec<String> =
            self.0.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        parts.join(", ")
    }

    pub(crate) fn json(&self) -> Value {
        let counts = self.0.iter().map(|(kind, count)| ((*kind).to_owned(), json!(count)));
        Value::Object(counts.collect::<Map<_, _>>())
    }
}
