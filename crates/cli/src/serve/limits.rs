//! The table `[limits]` of the settings file: bounds of accounts, under the names of the fields of [`Limits`].

use crate::option_values::{Number, from_text};
use anyhow::{Result, ensure};
use scurry_ledger::{
    ANSWERS_MAX, BLOB_LEN_MAX, BUCKETS_MAX, IDS_MAX, ITEMS_MAX, LIMITS_MAX, Limits, Overrun,
    SESSION_ITEMS_MAX,
};
use serde::{Deserialize, Deserializer};
use std::str::FromStr;

/// Upper bound of a time in the settings, ms.
pub(super) const YEAR_MS: u64 = 366 * 24 * 3_600_000;

/// Fields of [`Limits`] as the file has them, each with its least and greatest value. A field that the file omits has
/// its default.
#[derive(Deserialize)]
#[serde(remote = "Limits", default = "Limits::default", deny_unknown_fields)]
#[serde(expecting = "a table of bounds, [limits]")]
pub(crate) struct LimitsTable {
    #[serde(deserialize_with = "number::<0, 64, _, _>")]
    identities_max: usize,
    #[serde(deserialize_with = "number::<1, { BUCKETS_MAX as u64 }, _, _>")]
    buckets_max: usize,
    #[serde(deserialize_with = "number::<0, 1_024, _, _>")]
    counters_max: usize,
    #[serde(deserialize_with = "number::<0, { LIMITS_MAX as u64 }, _, _>")]
    limits_max: usize,
    #[serde(deserialize_with = "number::<1, { IDS_MAX as u64 }, _, _>")]
    sessions_max: usize,
    #[serde(deserialize_with = "number::<1, { IDS_MAX as u64 }, _, _>")]
    session_ids_max: usize,
    #[serde(deserialize_with = "number::<1, { ITEMS_MAX as u64 }, _, _>")]
    items_max: usize,
    #[serde(deserialize_with = "number::<1, { SESSION_ITEMS_MAX as u64 }, _, _>")]
    session_items_max: usize,
    #[serde(deserialize_with = "number::<1, { ANSWERS_MAX as u64 }, _, _>")]
    answers_max: usize,
    #[serde(deserialize_with = "number::<1, { IDS_MAX as u64 }, _, _>")]
    transactions_max: usize,
    #[serde(deserialize_with = "number::<0, { BLOB_LEN_MAX as u64 }, _, _>")]
    blob_len_max: usize,
    #[serde(deserialize_with = "number::<0, { ITEMS_MAX as u64 }, _, _>")]
    denials_max: usize,
    #[serde(deserialize_with = "number::<0, YEAR_MS, _, _>")]
    tombstone_ms: i64,
    #[serde(deserialize_with = "number::<0, YEAR_MS, _, _>")]
    transaction_ms: i64,
    #[serde(deserialize_with = "number::<1, YEAR_MS, _, _>")]
    validity_ms_default: i64,
    #[serde(deserialize_with = "number::<1, YEAR_MS, _, _>")]
    tcc_ms_max: i64,
    #[serde(deserialize_with = "overrun")]
    overrun_default: Overrun,
}

fn number<'de, const LEAST: u64, const MOST: u64, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    Number::<T, LEAST, MOST>::deserialize(deserializer).map(|number| number.0)
}

struct OverrunWord(Overrun);

impl FromStr for OverrunWord {
    type Err = String;

    fn from_str(text: &str) -> Result<OverrunWord, String> {
        let words = Overrun::WORDS;
        Overrun::named(text.as_bytes())
            .map(OverrunWord)
            .ok_or_else(|| format!("{text:?} is not a rule of overrun: use {words}"))
    }
}

fn overrun<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Overrun, D::Error> {
    from_text(deserializer).map(|OverrunWord(overrun)| overrun)
}

/// Refuses bounds that contradict each other. The error names the keys.
pub(super) fn check(limits: &Limits) -> Result<()> {
    ensure!(
        limits.validity_ms_default <= limits.tcc_ms_max,
        "limits.validity_ms_default must not be above limits.tcc_ms_max"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Options;

    #[test]
    fn bounds_that_no_store_can_keep_are_named() {
        assert!(check(&Limits::default()).is_ok());
        for (text, expected) in [
            ("items_max = 65", "\"65\" is not a whole number from 1 to 64"),
            ("session_items_max = -1", "\"-1\" is not a whole number from 1 to 256"),
            ("tcc_ms_max = 0", "\"0\" is not a whole number from 1 to 31622400000"),
        ] {
            let error = toml::from_str::<Options>(&format!("[limits]\n{text}")).expect_err(text);
            assert!(error.to_string().contains(expected), "{error}");
        }
        let limits = Limits { tcc_ms_max: 1, ..Limits::default() };
        let error = check(&limits).expect_err("it is refused").to_string();
        assert!(error.contains("above limits.tcc_ms_max"), "{error}");
    }
}
