//! Fields that are text, in JSON and in paths: ids and names, which are printable ASCII without space,
//! and words, as the commands have them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_ledger::{ACCOUNT_ID_LEN_MAX, ID_LEN_MAX, NAME_LEN_MAX, is_printable};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// 1 to `MAX` printable ASCII characters without space.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub(crate) struct Text<const MAX: usize>(String);

pub(crate) type AccountId = Text<ACCOUNT_ID_LEN_MAX>;
/// A session, a transaction id, the value of an identity.
pub(crate) type Id = Text<ID_LEN_MAX>;
/// A unit, a bucket, a counter, the kind of an identity.
pub(crate) type Name = Text<NAME_LEN_MAX>;

impl<const MAX: usize> Text<MAX> {
    /// Text that was checked; the fault in words when it is none.
    pub(crate) fn new(text: String) -> Result<Self, String> {
        if text.is_empty() || text.len() > MAX || !is_printable(text.as_bytes()) {
            return Err(format!("must be 1 to {MAX} printable ASCII characters without space"));
        }
        Ok(Text(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Text{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": MAX,
            "pattern": format!("^[!-~]{{1,{MAX}}}$"),
        })
    }
}

/// Status that an account can be created with.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FirstStatus {
    Active,
    Suspended,
}

/// The status of an account; closed is final.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Active,
    Suspended,
    Closed,
}

/// Treatment of use beyond what is there.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Overrun {
    Overdraw,
    Clamp,
}

/// When a counter begins anew, in UTC.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Period {
    None,
    Hour,
    Day,
    Week,
    Month,
}

/// When a bucket is refilled.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Recurring {
    Hour,
    Day,
    Week,
    Month,
}

/// Gives each variant its word.
macro_rules! words {
    ($($kind:ident { $($variant:ident = $word:literal),+ })+) => {
        $(impl $kind {
            pub(crate) fn word(self) -> &'static str {
                match self { $($kind::$variant => $word),+ }
            }
        })+
    };
}

words! {
    FirstStatus { Active = "active", Suspended = "suspended" }
    Status { Active = "active", Suspended = "suspended", Closed = "closed" }
    Overrun { Overdraw = "overdraw", Clamp = "clamp" }
    Period { None = "none", Hour = "hour", Day = "day", Week = "week", Month = "month" }
    Recurring { Hour = "hour", Day = "day", Week = "week", Month = "month" }
}
