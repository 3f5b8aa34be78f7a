//! Words that a field can be, as the commands have them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}
