//! The section `[nchf]` of a settings file.

use crate::entry::GrantBound;
use crate::request::Consumer;
use serde::Deserialize;

/// `[nchf]`. What is absent has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of settings, [nchf]")]
pub struct NchfSettings {
    /// Names of consumers (nFName, or `*` for all) whose numbers have 31 bits: none is granted more. None by default.
    #[serde(default)]
    pub int32_consumers: Vec<String>,
}

impl NchfSettings {
    pub(crate) fn bound_of(&self, consumer: &Consumer) -> GrantBound {
        let is_small =
            self.int32_consumers.iter().any(|name| name == "*" || name == consumer.name());
        GrantBound(if is_small { i64::from(i32::MAX) } else { i64::MAX })
    }
}
