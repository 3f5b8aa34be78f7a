//! Which events are shipped.

use crate::{Record, STATE_EVENTS};

/// A choice of events. `missed`, `cleared`, `loaded` and the events of a state always pass: a consumer that does not see
/// them is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of events; empty for all. The store leaves out the others.
    pub names: Vec<&'static str>,
    /// Units; empty for all. Events without a unit pass.
    pub units: Vec<String>,
    /// Begin of account ids; empty for all.
    pub account_prefix: String,
}

impl Filter {
    /// Names that a choice of names always has.
    pub const ALWAYS: [&'static str; 3] = ["missed", "cleared", "loaded"];

    /// Returns the names that the store is asked for; none for all.
    pub fn asked(&self) -> Vec<&'static str> {
        match self.names.is_empty() {
            true => Vec::new(),
            false => self.names.iter().copied().chain(["cleared", "loaded"]).collect(),
        }
    }

    /// Reports whether an event is shipped.
    pub fn takes(&self, record: &Record) -> bool {
        if record.account.is_empty() {
            return true;
        }
        let name = record.event.as_str();
        let is_always = || Filter::ALWAYS.contains(&name) || STATE_EVENTS.contains(&name);
        let has_unit = || record.unit.as_ref().is_none_or(|unit| self.units.contains(unit));
        record.account.starts_with(&self.account_prefix)
            && (self.names.is_empty() || is_always() || self.names.contains(&name))
            && (self.units.is_empty() || has_unit())
    }
}
