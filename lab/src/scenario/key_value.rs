//! The key-value part of a scenario.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{ScenarioKind, VALUE_SIZE_MAX};
use crate::names::ACCOUNTS_MAX;
use crate::wire::Quorum;

/// Most keys of one batch.
const BATCH_MAX: u32 = 100_000;
/// Least bytes of a value that is indexed: it has to hold the number of its write.
const INDEXED_SIZE_MIN: usize = 8;

/// Key-value mix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyValue {
    /// Number of keys.
    pub keys: u32,
    /// Bytes of every value.
    pub value_size: usize,
    /// Weight of GET; in an index load of FIND.
    pub get_share: u32,
    /// Weight of SET.
    pub set_share: u32,
    /// Weight of DEL.
    pub del_share: u32,
    /// Keys of one SET, which becomes an MSET: one request, and one unit of work where all keys belong to one thread.
    /// None is a plain SET.
    #[serde(default)]
    pub batch: Option<u32>,
    /// Keys that are set before the load; None means all.
    #[serde(default)]
    pub filled: Option<u32>,
    /// Choice of the next key.
    #[serde(default)]
    pub order: Order,
    /// Value for the HTTP door's `replicas=ack/from`; None for its default.
    #[serde(default)]
    pub quorum: Option<String>,
}

/// Choice of the next key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Any key, uniformly.
    #[default]
    Uniform,
    /// The key after the last one, so that every key is used once before any is used again. GETs beside SETs read any
    /// key that has been set.
    Sequential,
}

impl KeyValue {
    /// Returns the number of keys that are set before the load.
    pub fn filled(&self) -> u32 {
        self.filled.unwrap_or(self.keys)
    }

    pub(super) fn check(&self, kind: ScenarioKind) -> Result<()> {
        ensure!((1..=ACCOUNTS_MAX).contains(&self.keys), "keys must be 1 to {ACCOUNTS_MAX}");
        ensure!(self.value_size <= VALUE_SIZE_MAX, "the value size is above {VALUE_SIZE_MAX}");
        let shares = [self.get_share, self.set_share, self.del_share];
        ensure!(shares.iter().all(|share| *share <= 1_000_000), "a share is above 1000000");
        ensure!(shares.iter().any(|share| *share > 0), "all shares are 0: nothing to do");
        ensure!(self.filled() <= self.keys, "filled is above keys");
        if let Some(batch) = self.batch {
            ensure!((1..=BATCH_MAX).contains(&batch), "batch must be 1 to {BATCH_MAX}");
        }
        if let Some(quorum) = &self.quorum {
            Quorum::parse(quorum)?;
        }
        if kind == ScenarioKind::Index {
            ensure!(
                self.value_size >= INDEXED_SIZE_MIN && self.del_share == 0,
                "an index needs values of {INDEXED_SIZE_MIN} bytes or more, and no del_share"
            );
            let is_plain = self.batch.is_none() && self.filled.is_none();
            ensure!(is_plain, "batch and filled mean nothing to an index");
        }
        Ok(())
    }
}
