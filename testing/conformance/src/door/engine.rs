//! The door to one shard, used as its hosts use it.

use super::front::{RespFront, Store};
use super::{Door, ScriptStore, is_named};
use crate::Script;
use crate::check::state;
use anyhow::{Result, bail, ensure};
use scurry_engine::{
    ChainOutcome, Config, Courier, LoadError, Outcome, ReadError, Shard, UniqueIdentities,
};
use scurry_ledger::{Account, Answer, Command, Link, Time, Totals};
use scurry_resp::{LoadRequest, Protocol};

/// Door to the engine's shard.
#[derive(Debug)]
pub struct EngineDoor;

impl Door for EngineDoor {
    fn name(&self) -> &'static str {
        "engine"
    }

    fn takes(&self, script: &Script) -> bool {
        is_named(script, self.name())
    }

    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn ScriptStore>> {
        let kinds = &script.unique_kinds;
        let unique_identities = (!kinds.is_empty()).then(|| UniqueIdentities::with_kinds(kinds));
        let limits = script.limits.clone();
        let config = Config { limits, unique_identities, ..Config::default() };
        let store = Checked { shard: Shard::new(config), courier: Courier::default() };
        Ok(Box::new(RespFront { store, protocol }))
    }
}

struct Checked {
    shard: Shard,
    courier: Courier,
}

impl Checked {
    fn check(&mut self) -> Result<()> {
        let totals = self.shard.totals();
        ensure!(totals.units.iter().all(|unit| unit.conserves()), "totals do not conserve");
        ensure!(totals.accounts == self.shard.stats().accounts, "totals miscount accounts");
        Ok(())
    }
}

impl Store for Checked {
    fn execute(&mut self, now: Time, id: &[u8], command: &Command<'_>) -> Result<Outcome> {
        let outcome = self.shard.execute(now, self.shard.key(id), command);
        while let Some(step) = self.courier.next_step(&mut self.shard, now, 0) {
            let result = step.execute(&mut self.shard, now);
            self.check()?;
            self.courier.finish(&mut self.shard, now, (&step, result), 0);
        }
        self.check()?;
        self.account(now, id)?;
        Ok(outcome)
    }

    fn execute_chain(
        &mut self,
        now: Time,
        links: &[Link<'_>],
    ) -> Result<(ChainOutcome, Vec<Answer>)> {
        let mut answers = Vec::new();
        let outcome = self.shard.execute_chain(now, links, &mut answers);
        self.check()?;
        for link in links {
            self.account(now, link.account)?;
        }
        Ok((outcome, answers))
    }

    fn account(&mut self, now: Time, id: &[u8]) -> Result<Option<Account>> {
        let account = match self.shard.account(now, self.shard.key(id)) {
            Ok(account) => account.clone(),
            Err(ReadError::UnknownAccount) => return Ok(None),
            Err(ReadError::WrongType) => bail!("no plain value was set"),
        };
        state(&account, now.clamp(Time(0), Time::LAST).max(account.changed_at))?;
        Ok(Some(account))
    }

    fn image(&mut self, now: Time, id: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.shard.image(now, self.shard.key(id)) {
            Ok(image) => Ok(Some(image.to_vec())),
            Err(ReadError::UnknownAccount) => Ok(None),
            Err(ReadError::WrongType) => bail!("no plain value was set"),
        }
    }

    fn load(&mut self, now: Time, request: &LoadRequest<'_>) -> Result<Result<(), LoadError>> {
        let LoadRequest { account, image, replace } = *request;
        let loaded = self.shard.load_image(now, self.shard.key(account), image, replace);
        self.check()?;
        self.account(now, account)?;
        Ok(loaded)
    }

    fn totals(&self) -> Totals {
        self.shard.totals().clone()
    }

    fn tick(&mut self, now: Time) -> Result<usize> {
        let mut changed = 0;
        loop {
            let more = self.shard.tick_with(now, |_, _| changed += 1);
            self.check()?;
            if more == 0 {
                return Ok(changed);
            }
        }
    }
}
