//! A row `[[services]]` of the settings file, as it is written there. Nothing is checked here but names and types;
//! [`crate::ServiceTable::new`] checks the rest.

use crate::{Mode, Threshold};
use serde::Deserialize;

/// A row `[[services]]`: for which requests it is, and how they are charged. Only what is written is present. Amounts are
/// minor units, times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceRow {
    /// Service-Context-Id: `32251@3gpp.org`, or `32251@` for any domain. None is any context.
    ///
    /// Only the label after the last dot of the part before the `@` counts in a request, so both are also for
    /// `extensions.MNC.MCC.release.32251@3gpp.org`. A context without `@` must be equal to the whole identifier. Upper and
    /// lower case differ.
    pub context: Option<String>,
    /// Rating-Group. None is any, and none at all.
    pub rating_group: Option<u32>,
    /// Service-Identifier. None is any, and none at all. A row with it makes the service an item of its own.
    pub service: Option<u32>,
    /// What is measured. Required, unless the mode is `free`, for which it does not matter.
    pub measure: Option<MeasureKey>,
    /// Unit of the account's buckets, 1 to 16 characters. By default `octet`, `second` or `unit`; required for money.
    pub unit: Option<String>,
    /// Number of the currency in ISO 4217, only for money. None takes any currency.
    pub currency: Option<u32>,
    /// Decimals of a minor unit, 0 to 18, only for money. 2 by default.
    pub decimals: Option<u8>,
    /// How the service is charged: `charge` by default.
    ///
    /// With `free` nothing is reserved or debited, and clients need not ask again: only the keys that choose requests apply.
    /// With `record` nothing is reserved, and what clients report becomes an item of the session in `unit`, by default
    /// `record`. An account should have no bucket of that unit: otherwise the reported use is debited from it.
    pub mode: Option<Mode>,
    /// What a client gets that does not say how much. By default 10 MiB, 600 s, 1 unit or 1.00 of money, or the nearest
    /// amount that `grant_min` and `grant_max` allow.
    pub grant: Option<i64>,
    /// Least grant: if less is left, the request is denied. 1 by default.
    pub grant_min: Option<i64>,
    /// Largest grant. By default there is no bound but 4294967295 s for time, which has 32 bits in requests.
    pub grant_max: Option<i64>,
    /// Validity of a grant, 1 to [`crate::VALIDITY_S_MAX`] s. 600 by default.
    pub validity_s: Option<u32>,
    /// When the client asks again: units that are left, or `"20%"` of the grant. By default when all are used. Not for money,
    /// for which clients know no threshold.
    pub threshold: Option<Threshold>,
    /// Seconds without traffic after which the client returns the quota, up to [`crate::QUOTA_S_MAX`]. 0 is never. By default
    /// the client decides.
    pub quota_holding_s: Option<u32>,
    /// Seconds without traffic that still count as used time, 1 to [`crate::QUOTA_S_MAX`], only for time. By default the
    /// client decides.
    pub quota_consumption_s: Option<u32>,
    /// What the client does when the last units are used: `terminate` by default.
    #[serde(rename = "final")]
    pub final_action: Option<FinalKey>,
    /// Address to which users are redirected, only with `final = "redirect"`: IPv4, IPv6, URL or SIP URI.
    pub redirect: Option<String>,
    /// IPFilterRules of what stays allowed, only with `final = "restrict"`.
    pub filters: Option<Vec<String>>,
    /// Names of filters that the client knows, only with `final = "restrict"`.
    pub filter_ids: Option<Vec<String>>,
    /// Which units are the last ones: `last` by default.
    pub final_when: Option<FinalWhen>,
    /// What becomes of a session whose first request is denied: `refuse` by default.
    pub denied_at_start: Option<DeniedAtStart>,
    /// Bucket of refunds that name no debit, 1 to 16 characters. None by default.
    pub refund_bucket: Option<String>,
}

/// What a row measures; [`crate::Measure`] has it with the currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasureKey {
    /// Octets.
    Volume,
    /// Seconds.
    Time,
    /// Units of the service.
    Units,
    /// Money.
    Money,
}

/// What a client does when the last units are used; [`crate::FinalAction`] has it with addresses and filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalKey {
    /// It ends the service.
    #[default]
    Terminate,
    /// It redirects the user.
    Redirect,
    /// It restricts the user.
    Restrict,
}

/// Which units are the last ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalWhen {
    /// Those after which nothing is left in the account.
    #[default]
    Last,
    /// Also those after which only what other sessions hold is left.
    Held,
}

/// What becomes of a session whose first request is denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeniedAtStart {
    /// It is refused.
    #[default]
    Refuse,
    /// It stays open, so that the client can ask again.
    Keep,
}
