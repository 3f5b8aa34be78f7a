//! Sets bounds of accounts by name and text, as hosts read them from their settings.

use scurry_ledger::{
    ANSWERS_MAX, BLOB_LEN_MAX, BUCKETS_MAX, IDS_MAX, ITEMS_MAX, LIMITS_MAX, Limits, Overrun,
    SESSION_ITEMS_MAX,
};
use std::fmt;

/// Most identities of an account and of one command, whatever the configured bound is.
pub const IDENTITIES_MAX: usize = 64;
/// Longest time that a bound may have, ms.
pub const LIMIT_MS_MAX: i64 = 366 * 24 * 3_600_000;

/// Reasons why a bound cannot be set, or why two bounds contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitFault {
    /// There is no bound of this name.
    Unknown(String),
    /// The value is not a number within the bound's range.
    OutOfRange {
        /// Name of the bound.
        name: &'static str,
        /// Least allowed value.
        least: i64,
        /// Greatest allowed value.
        most: i64,
    },
    /// The value is not an overrun policy.
    NotAPolicy(String),
    /// The first bound is above the second, which is not allowed.
    Above(&'static str, &'static str),
}

impl fmt::Display for LimitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitFault::Unknown(name) => write!(f, "{name} is not a limit"),
            LimitFault::OutOfRange { name, least, most } => {
                write!(f, "{name} must be {least} to {most}")
            }
            LimitFault::NotAPolicy(value) => write!(f, "{value} is not overdraw or clamp"),
            LimitFault::Above(low, high) => write!(f, "{low} must not be above {high}"),
        }
    }
}

impl std::error::Error for LimitFault {}

fn count(name: &'static str, value: &str, least: usize, most: usize) -> Result<usize, LimitFault> {
    let wide = |number| i64::try_from(number).unwrap_or(i64::MAX);
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or(LimitFault::OutOfRange { name, least: wide(least), most: wide(most) })
}

fn time(name: &'static str, value: &str, least: i64) -> Result<i64, LimitFault> {
    let number = value.parse().ok().filter(|number| (least..=LIMIT_MS_MAX).contains(number));
    number.ok_or(LimitFault::OutOfRange { name, least, most: LIMIT_MS_MAX })
}

/// Sets one bound by its name in [`Limits`]. [`check_limits`] checks the bounds against each other.
pub fn set_limit(limits: &mut Limits, name: &str, value: &str) -> Result<(), LimitFault> {
    match name {
        "identities_max" => {
            limits.identities_max = count("identities_max", value, 0, IDENTITIES_MAX)?;
        }
        "buckets_max" => limits.buckets_max = count("buckets_max", value, 1, BUCKETS_MAX)?,
        "counters_max" => limits.counters_max = count("counters_max", value, 0, 1_024)?,
        "limits_max" => limits.limits_max = count("limits_max", value, 0, LIMITS_MAX)?,
        "sessions_max" => limits.sessions_max = count("sessions_max", value, 1, IDS_MAX)?,
        "session_ids_max" => limits.session_ids_max = count("session_ids_max", value, 1, IDS_MAX)?,
        "items_max" => limits.items_max = count("items_max", value, 1, ITEMS_MAX)?,
        "session_items_max" => {
            limits.session_items_max = count("session_items_max", value, 1, SESSION_ITEMS_MAX)?;
        }
        "answers_max" => limits.answers_max = count("answers_max", value, 1, ANSWERS_MAX)?,
        "transactions_max" => {
            limits.transactions_max = count("transactions_max", value, 1, IDS_MAX)?;
        }
        "blob_len_max" => limits.blob_len_max = count("blob_len_max", value, 0, BLOB_LEN_MAX)?,
        "denials_max" => limits.denials_max = count("denials_max", value, 0, ITEMS_MAX)?,
        "tombstone_ms" => limits.tombstone_ms = time("tombstone_ms", value, 0)?,
        "transaction_ms" => limits.transaction_ms = time("transaction_ms", value, 0)?,
        "validity_ms_default" => {
            limits.validity_ms_default = time("validity_ms_default", value, 1)?;
        }
        "tcc_ms_max" => limits.tcc_ms_max = time("tcc_ms_max", value, 1)?,
        "overrun_default" => {
            limits.overrun_default = Overrun::named(value.as_bytes())
                .ok_or_else(|| LimitFault::NotAPolicy(value.to_owned()))?;
        }
        _ => return Err(LimitFault::Unknown(name.to_owned())),
    }
    Ok(())
}

/// Checks that the bounds do not contradict each other.
pub fn check_limits(limits: &Limits) -> Result<(), LimitFault> {
    if limits.validity_ms_default > limits.tcc_ms_max {
        return Err(LimitFault::Above("validity_ms_default", "tcc_ms_max"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(name: &str, value: &str) -> String {
        set_limit(&mut Limits::default(), name, value).expect_err(name).to_string()
    }

    #[test]
    fn bounds_are_set_by_their_names_and_have_bounds_themselves() {
        let mut limits = Limits::default();
        set_limit(&mut limits, "answers_max", "2").expect("a bound");
        set_limit(&mut limits, "overrun_default", "clamp").expect("a policy");
        assert_eq!((limits.answers_max, limits.overrun_default), (2, Overrun::Clamp));
        assert_eq!(why("items_max", "65"), "items_max must be 1 to 64");
        assert_eq!(why("tcc_ms_max", "0"), "tcc_ms_max must be 1 to 31622400000");
        assert_eq!(why("tombstone_ms", "-1"), "tombstone_ms must be 0 to 31622400000");
        assert_eq!(why("sessions", "1"), "sessions is not a limit");
        assert_eq!(why("overrun_default", "x"), "x is not overdraw or clamp");
    }

    #[test]
    fn bounds_that_contradict_each_other_are_found() {
        check_limits(&Limits::default()).expect("the defaults go together");
        let limits = Limits { tcc_ms_max: 1, ..Limits::default() };
        assert_eq!(
            check_limits(&limits),
            Err(LimitFault::Above("validity_ms_default", "tcc_ms_max"))
        );
    }
}
