//! A shard of the engine with its accounts.

use anyhow::{Context, Result, bail, ensure};
use scurry_engine::{Config, HashKey, Shard};
pub(crate) use scurry_engine::{Outcome, ReadError};
use scurry_ledger::{
    Account, BucketAttributes, Command, Create, Name, NewBucket, Status, Time, Totals,
};

use crate::names::account_text;
use crate::scenario::Charging;

/// When every store begins, ms since 1970.
pub(crate) const EPOCH: Time = Time(1_700_000_000_000);
/// Seed of the table's hash: a run is repeatable.
pub(crate) const HASH_SEED: u64 = 0x5C02_2217;

/// Requests that a host takes together: those that one connection has waiting.
pub(crate) const BATCH: usize = 64;

/// A shard and its accounts.
#[derive(Debug)]
pub(crate) struct Store {
    shard: Shard,
}

impl Store {
    /// A shard with this many accounts of the scenario.
    pub(crate) fn with_accounts(charging: &Charging, accounts: u32) -> Result<Store> {
        let shard = Shard::new(Config { hash_key: HashKey::known(HASH_SEED), ..Config::default() });
        let mut store = Store { shard };
        create(charging, |command| {
            for number in 0..accounts {
                let outcome = store.execute(EPOCH, &account_text(number), command);
                let created = matches!(outcome, Outcome::Answer { replayed: false, .. });
                ensure!(created, "CREATE is refused: {outcome:?}");
            }
            Ok(())
        })?;
        Ok(store)
    }

    /// Asks memory for what a batch of requests will need, as a host does before it executes
    /// them. More than a batch is left alone.
    #[inline]
    pub(crate) fn touch<'a>(&self, ids: impl Iterator<Item = &'a [u8]>) {
        let mut hashes = [0; BATCH];
        let mut length = 0;
        for (hash, id) in hashes.iter_mut().zip(ids) {
            *hash = self.shard.key(id).hash();
            length += 1;
        }
        self.shard.touch(&hashes[..length]);
    }

    #[inline]
    pub(crate) fn execute(&mut self, now: Time, id: &[u8], command: &Command<'_>) -> Outcome {
        self.shard.execute(now, self.shard.key(id), command)
    }

    #[inline]
    pub(crate) fn account(&mut self, now: Time, id: &[u8]) -> Result<&Account, ReadError> {
        self.shard.account(now, self.shard.key(id))
    }

    /// Work that a host does once in a turn.
    pub(crate) fn tick(&mut self, now: Time) {
        self.shard.tick(now);
    }

    /// The shard itself.
    pub(crate) fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    pub(crate) fn totals(&self) -> &Totals {
        self.shard.totals()
    }

    /// Compares what was consumed with the tally.
    pub(crate) fn audit(&self, unit: &str, expected: i128) -> Result<()> {
        let units = &self.totals().units;
        let found = units.iter().find(|totals| totals.unit.as_str() == unit);
        let found = found.with_context(|| format!("the store has no unit {unit}"))?.consumed;
        ensure!(found == expected, "the store consumed {found}, but {expected} was acknowledged");
        Ok(())
    }
}

/// Hands the CREATE of the scenario's accounts to `run`.
pub(crate) fn create(
    charging: &Charging,
    run: impl FnOnce(&Command<'_>) -> Result<()>,
) -> Result<()> {
    let name = |text: &str| match Name::new(text.as_bytes()) {
        Some(name) => Ok(name),
        None => bail!("`{text}` is no name of a bucket or unit"),
    };
    let mut buckets = Vec::new();
    for bucket in &charging.bucket {
        buckets.push(NewBucket {
            bucket: name(&bucket.id)?,
            unit: name(&charging.unit)?,
            amount: bucket.amount,
            attributes: BucketAttributes { priority: Some(bucket.priority), ..Default::default() },
        });
    }
    run(&Command::Create(Create {
        txn: None,
        status: Status::Active,
        identities: &[],
        buckets: &buckets,
    }))
}
