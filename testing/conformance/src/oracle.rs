//! Runs the naive model next to the ledger and compares the results, so that the rules that a script shows hold for
//! both implementations.

use anyhow::{Result, ensure};
use scurry_ledger::{Account, ChainDecision, Command, Decision, Limits, Link, Time};
use scurry_model::{Model, ModelChainResult, ModelResult, Snapshot, execute_chain};
use std::collections::{BTreeMap, BTreeSet};

/// The model's accounts.
pub(crate) struct Oracle {
    limits: Limits,
    models: BTreeMap<String, Model>,
    /// Accounts loaded from images, which the model does not follow.
    loaded: BTreeSet<String>,
}

impl Oracle {
    pub(crate) fn new(limits: Limits) -> Oracle {
        Oracle { limits, models: BTreeMap::new(), loaded: BTreeSet::new() }
    }

    /// Executes a command in the model and compares the results.
    pub(crate) fn execute(
        &mut self,
        now: Time,
        id: &[u8],
        command: &Command<'_>,
        decision: &Decision,
    ) -> Result<()> {
        let id = text(id);
        if self.loaded.contains(&id) {
            return Ok(());
        }
        let model = self.models.entry(id).or_insert_with(|| Model::new(self.limits.clone()));
        let is = match decision {
            Decision::Replay(answer) => ModelResult::Replay(answer.clone()),
            Decision::Reject(refused) => ModelResult::Reject(refused.code),
            Decision::Commit(_, answer) => ModelResult::Commit(answer.clone()),
        };
        let modelled = model.execute(now, command);
        ensure!(is == modelled, "the model says {modelled:?}, the ledger {is:?}");
        Ok(())
    }

    /// Executes a chain in the model and compares the results.
    pub(crate) fn execute_chain(
        &mut self,
        now: Time,
        links: &[Link<'_>],
        decision: &ChainDecision,
    ) -> Result<()> {
        let ids: Vec<String> = links.iter().map(|link| text(link.account)).collect();
        if ids.iter().any(|id| self.loaded.contains(id)) {
            self.loaded.extend(ids);
            return Ok(());
        }
        let commands = ids.iter().zip(links).map(|(id, link)| (id.as_str(), link.command));
        let commands: Vec<(&str, Command<'_>)> = commands.collect();
        let is = match decision {
            ChainDecision::Replay(answers) => ModelChainResult::Replay(answers.clone()),
            ChainDecision::Reject(refused) => {
                ModelChainResult::Reject(refused.link, refused.rejection.code)
            }
            ChainDecision::Commit(commits) => {
                ModelChainResult::Commit(commits.iter().map(|(_, answer)| answer.clone()).collect())
            }
        };
        let modelled = execute_chain(&mut self.models, &self.limits, now, &commands);
        ensure!(is == modelled, "the model says {modelled:?}, the ledger {is:?}");
        Ok(())
    }

    /// Runs a timer in the model, at the time at which the ledger ran it.
    pub(crate) fn tick(&mut self, id: &[u8], at: Time) -> Result<()> {
        if let Some(model) = self.modelled(id) {
            ensure!(model.tick(at), "nothing is due in the model at {at:?}");
        }
        Ok(())
    }

    /// Compares the account that a read shows with the model.
    pub(crate) fn look(&mut self, now: Time, id: &[u8], seen: &Account) -> Result<()> {
        if let Some(model) = self.modelled(id) {
            let is = Snapshot::of_account(seen, Time(model.now(now)));
            let modelled = model.snapshot(now);
            ensure!(
                modelled.as_ref() == Some(&is),
                "the model has {modelled:?}, the ledger {is:?}"
            );
        }
        Ok(())
    }

    /// Notes that an account was loaded from an image.
    pub(crate) fn loaded(&mut self, id: &[u8]) {
        self.loaded.insert(text(id));
    }

    fn modelled(&mut self, id: &[u8]) -> Option<&mut Model> {
        let id = text(id);
        self.models.get_mut(&id).filter(|_| !self.loaded.contains(&id))
    }
}

/// Converts an account's id, which is printable ASCII.
fn text(id: &[u8]) -> String {
    String::from_utf8_lossy(id).into_owned()
}
