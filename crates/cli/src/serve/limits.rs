//! The table `[limits]` of the file: bounds of accounts, by the names that [`Limits`] gives them.

use anyhow::{Result, ensure};
use scurry_ledger::{ANSWERS_MAX, BLOB_LEN_MAX, BUCKETS_MAX, IDS_MAX, ITEMS_MAX, Limits, Overrun};
use serde::Deserialize;

/// The longest time that a setting may be, ms.
pub(super) const YEAR_MS: i64 = 366 * 24 * 3_600_000;

/// The fields of [`Limits`] as a file has them: one that it leaves out is the default.
#[derive(Deserialize)]
#[serde(remote = "Limits", default = "Limits::default", deny_unknown_fields)]
pub(crate) struct LimitsTable {
    identities_max: usize,
    buckets_max: usize,
    counters_max: usize,
    sessions_max: usize,
    session_ids_max: usize,
    items_max: usize,
    answers_max: usize,
    transactions_max: usize,
    blob_len_max: usize,
    tombstone_ms: i64,
    transaction_ms: i64,
    validity_ms_default: i64,
    tcc_ms_max: i64,
    #[serde(with = "OverrunWord")]
    overrun_default: Overrun,
}

#[derive(Deserialize)]
#[serde(remote = "Overrun", rename_all = "lowercase")]
enum OverrunWord {
    Overdraw,
    Clamp,
}

/// Refuses bounds that no store can keep. The error names the key and what it may be.
pub(super) fn check(limits: &Limits) -> Result<()> {
    for (name, count, least, most) in [
        ("identities_max", limits.identities_max, 0, 64),
        ("buckets_max", limits.buckets_max, 1, BUCKETS_MAX),
        ("counters_max", limits.counters_max, 0, 1_024),
        ("sessions_max", limits.sessions_max, 1, IDS_MAX),
        ("session_ids_max", limits.session_ids_max, 1, IDS_MAX),
        ("items_max", limits.items_max, 1, ITEMS_MAX),
        ("answers_max", limits.answers_max, 1, ANSWERS_MAX),
        ("transactions_max", limits.transactions_max, 1, IDS_MAX),
        ("blob_len_max", limits.blob_len_max, 0, BLOB_LEN_MAX),
    ] {
        ensure!((least..=most).contains(&count), "limits.{name} must be {least} to {most}");
    }
    for (name, ms, least) in [
        ("tombstone_ms", limits.tombstone_ms, 0),
        ("transaction_ms", limits.transaction_ms, 0),
        ("validity_ms_default", limits.validity_ms_default, 1),
        ("tcc_ms_max", limits.tcc_ms_max, 1),
    ] {
        ensure!((least..=YEAR_MS).contains(&ms), "limits.{name} must be {least} to {YEAR_MS} ms");
    }
    ensure!(
        limits.validity_ms_default <= limits.tcc_ms_max,
        "limits.validity_ms_default must not be above limits.tcc_ms_max"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_no_store_can_keep_are_named() {
        assert!(check(&Limits::default()).is_ok());
        for (limits, expected) in [
            (Limits { items_max: 17, ..Limits::default() }, "limits.items_max must be 1 to 16"),
            (Limits { tcc_ms_max: 0, ..Limits::default() }, "limits.tcc_ms_max must be 1 to"),
            (Limits { tcc_ms_max: 1, ..Limits::default() }, "above limits.tcc_ms_max"),
        ] {
            let error = check(&limits).expect_err("it is refused").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
