//! The door to the ledger itself: decide, apply and validate. Checks all invariants between two states, and that the
//! naive model gives the same results.

use super::front::{RespFront, Store};
use super::{Door, ScriptStore, is_named};
use crate::Script;
use crate::check::{commit, expiry, state};
use crate::oracle::Oracle;
use anyhow::{Context, Result, ensure};
use scurry_codec::{decode_foreign_account, encode_account};
use scurry_engine::{ChainOutcome, LoadError, Outcome};
use scurry_ledger::{
    Account, AccountContribution, Answer, ChainDecision, Code, CodeKind, Command, Decision, Limits,
    Link, Status, Time, Totals, apply, decide, decide_chain, decide_in_place, next_due, tick,
    tick_in_place, view,
};
use scurry_resp::{LoadRequest, Protocol};
use std::collections::BTreeMap;

/// Door to the ledger as a library.
#[derive(Debug)]
pub struct LibraryDoor;

impl Door for LibraryDoor {
    fn name(&self) -> &'static str {
        "library"
    }

    fn takes(&self, script: &Script) -> bool {
        is_named(script, self.name())
    }

    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn ScriptStore>> {
        let store = Accounts {
            limits: script.limits.clone(),
            accounts: BTreeMap::new(),
            totals: Totals::default(),
            oracle: Oracle::new(script.limits.clone()),
        };
        Ok(Box::new(RespFront { store, protocol }))
    }
}

struct Accounts {
    limits: Limits,
    accounts: BTreeMap<Vec<u8>, Account>,
    totals: Totals,
    oracle: Oracle,
}

impl Accounts {
    fn put(&mut self, id: &[u8], before: Option<&Account>, after: Option<Account>) -> Result<()> {
        self.totals.replace(&AccountContribution::of(before), after.as_ref());
        match after {
            Some(after) => self.accounts.insert(id.to_vec(), after),
            None => self.accounts.remove(id),
        };
        ensure!(self.totals.units.iter().all(|unit| unit.conserves()), "totals do not conserve");
        ensure!(self.totals.accounts == self.accounts.len() as u64, "totals miscount accounts");
        Ok(())
    }
}

impl Store for Accounts {
    fn execute(&mut self, now: Time, id: &[u8], command: &Command<'_>) -> Result<Outcome> {
        let limits = &self.limits;
        let before = self.accounts.get(id).cloned();
        let decision = decide(before.as_ref(), command, now, limits);
        let mut draft = before.clone();
        let in_place = decide_in_place(&mut draft, command, now, limits);
        ensure!(in_place == decision, "decide_in_place says {in_place:?}, decide {decision:?}");
        self.oracle.execute(now, id, command, &decision)?;
        // I15: a refusal or a replay leaves the account unchanged, however often it is repeated.
        ensure!(self.accounts.get(id) == before.as_ref(), "decide changed the account");
        match decision {
            Decision::Replay(answer) => Ok(Outcome::Answer { answer, replayed: true }),
            Decision::Reject(why) => {
                ensure!(why.code.kind() == CodeKind::Reject, "{:?} is no refusal", why.code);
                Ok(Outcome::Reject(why))
            }
            Decision::Commit(change, answer) => {
                let mut after = before.clone();
                apply(&mut after, &change);
                ensure!(after == draft, "apply differs from decide_in_place");
                commit(before.as_ref(), after.as_ref(), command, &change, &answer)?;
                self.repeat(after.as_ref(), command, now, &answer)?;
                self.put(id, before.as_ref(), after)?;
                Ok(Outcome::Answer { answer, replayed: false })
            }
        }
    }

    fn execute_chain(
        &mut self,
        now: Time,
        links: &[Link<'_>],
    ) -> Result<(ChainOutcome, Vec<Answer>)> {
        let limits = &self.limits;
        let before: Vec<Option<Account>> =
            links.iter().map(|link| self.accounts.get(link.account).cloned()).collect();
        let accounts: Vec<Option<&Account>> = before.iter().map(Option::as_ref).collect();
        let decision = decide_chain(&accounts, links, now, limits);
        self.oracle.execute_chain(now, links, &decision)?;
        match decision {
            ChainDecision::Replay(answers) => {
                Ok((ChainOutcome::Answers { replayed: true }, answers))
            }
            ChainDecision::Reject(refused) => {
                ensure!(refused.rejection.code.kind() == CodeKind::Reject, "{refused:?}");
                Ok((ChainOutcome::Reject(refused), Vec::new()))
            }
            ChainDecision::Commit(commits) => {
                ensure!(commits.len() == links.len(), "not every link is carried out");
                let mut answers = Vec::new();
                for ((link, before), (change, answer)) in links.iter().zip(&before).zip(commits) {
                    let mut after = before.clone();
                    apply(&mut after, &change);
                    let Link { account, command } = link;
                    commit(before.as_ref(), after.as_ref(), command, &change, &answer)?;
                    self.repeat(after.as_ref(), command, now, &answer)?;
                    self.put(account, before.as_ref(), after)?;
                    answers.push(answer);
                }
                Ok((ChainOutcome::Answers { replayed: false }, answers))
            }
        }
    }

    fn account(&mut self, now: Time, id: &[u8]) -> Result<Option<Account>> {
        let Some(account) = self.accounts.get(id) else { return Ok(None) };
        let seen = view(account, now, &self.limits).into_owned();
        state(&seen, now.clamp(Time(0), Time::LAST).max(account.changed_at))?;
        // A read shows the state that a timer would commit, or a command where only a refill is due.
        let mut committed = account.clone();
        let ticked = tick(account, now, &self.limits);
        if ticked.is_some() || !account.allowances.is_empty() {
            let mut after = Some(account.clone());
            if let Some(change) = ticked {
                apply(&mut after, &change);
            } else {
                let same = Command::Status { txn: None, status: account.status, identities: &[] };
                decide_in_place(&mut after, &same, now, &self.limits);
            }
            let after = after.unwrap_or_else(|| account.clone());
            committed = Account { version: seen.version, changed_at: seen.changed_at, ..after };
        }
        ensure!(committed == seen, "a read shows another state than a timer commits");
        self.oracle.look(now, id, &seen)?;
        Ok(Some(seen))
    }

    fn image(&mut self, _now: Time, id: &[u8]) -> Result<Option<Vec<u8>>> {
        let image = |account| {
            let mut image = Vec::new();
            encode_account(account, &mut image);
            image
        };
        Ok(self.accounts.get(id).map(image))
    }

    fn load(&mut self, _now: Time, request: &LoadRequest<'_>) -> Result<Result<(), LoadError>> {
        let before = self.accounts.get(request.account).cloned();
        if before.is_some() && !request.replace {
            return Ok(Err(LoadError::Exists));
        }
        let mut account = Account::empty(Status::Active);
        if let Err(error) = decode_foreign_account(request.image, &mut account) {
            return Ok(Err(LoadError::Image(error)));
        }
        state(&account, account.changed_at)?;
        self.put(request.account, before.as_ref(), Some(account))?;
        self.oracle.loaded(request.account);
        Ok(Ok(()))
    }

    fn totals(&self) -> Totals {
        self.totals.clone()
    }

    /// Commits each due thing at its own time, as a shard does.
    fn tick(&mut self, now: Time) -> Result<usize> {
        let mut changed = 0;
        for (id, account) in self.accounts.clone() {
            let mut before = account;
            while let Some(due) = next_due(&before).filter(|due| *due <= now) {
                let change = tick(&before, due, &self.limits).context("nothing was due")?;
                let mut draft = Some(before.clone());
                let in_place = tick_in_place(&mut draft, due, &self.limits);
                ensure!(in_place.as_ref() == Some(&change), "tick_in_place differs from tick");
                let mut after = Some(before.clone());
                apply(&mut after, &change);
                ensure!(after == draft, "apply differs from tick_in_place");
                expiry(&before, after.as_ref(), &change)?;
                self.oracle.tick(&id, due)?;
                let again = after.as_ref().and_then(|after| tick(after, due, &self.limits));
                ensure!(again.is_none(), "a second tick at one time changes something");
                self.put(&id, Some(&before), after.clone())?;
                changed += 1;
                let Some(after) = after else { break };
                before = after;
            }
        }
        Ok(changed)
    }
}

impl Accounts {
    /// Checks I7: a command with an id, repeated at once, is a replay with the same answer.
    fn repeat(
        &self,
        after: Option<&Account>,
        command: &Command<'_>,
        now: Time,
        answer: &scurry_ledger::Answer,
    ) -> Result<()> {
        let has_id = !matches!(
            command,
            Command::Create(_) | Command::Status { .. } | Command::Delete { .. }
        );
        if has_id && self.limits.tombstone_ms > 0 && self.limits.transaction_ms > 0 {
            let again = decide(after, command, now, &self.limits);
            // Of a report below the window only the number is remembered, not the answer.
            if let (Command::Update(_), Decision::Reject(refused)) = (command, &again)
                && refused.code == Code::OutOfWindow
            {
                return Ok(());
            }
            ensure!(
                again == Decision::Replay(answer.clone()),
                "sent again it is {again:?}, not a replay of {answer:?}"
            );
        }
        Ok(())
    }
}
