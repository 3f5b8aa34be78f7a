//! Several accounts, each a pair of ledger and model, and chains of commands on them. Every step compares everything
//! that both can show, and checks the invariants.

use crate::pair::{is_below, may_be_forgotten};
use crate::{Event, ModelChainResult, Op, Pair, StepResult, execute_chain, invariants, with_links};
use scurry_ledger::{Account, Answer, ChainDecision, Change, Code, Limits, Time, decide_chain};
use std::collections::BTreeMap;

/// Commands of a chain with their accounts.
pub type ChainOp = Vec<(String, Op)>;

/// Result of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as ModelChainResult")]
pub enum ChainResult {
    Replay(Vec<Answer>),
    Reject(Option<usize>, Code),
    Commit(Vec<Answer>),
}

/// Several accounts.
#[derive(Clone, Debug)]
pub struct PairedAccounts {
    limits: Limits,
    /// Pairs by account id. An id that is missing here is never an account.
    pub pairs: BTreeMap<String, Pair>,
}

impl PairedAccounts {
    /// Creates a pair without an account for each id.
    pub fn new(limits: Limits, ids: &[&str]) -> PairedAccounts {
        let pair = |id: &&str| ((*id).to_string(), Pair::new(limits.clone()));
        let pairs = ids.iter().map(pair).collect();
        PairedAccounts { limits, pairs }
    }

    /// Creates the books from these accounts, under the same limits.
    pub fn of(limits: Limits, pairs: impl Iterator<Item = (String, Pair)>) -> PairedAccounts {
        PairedAccounts { limits, pairs: pairs.collect() }
    }

    /// Executes one event of one account.
    pub fn step(&mut self, id: &str, event: &Event) -> Result<StepResult, String> {
        self.pairs.get_mut(id).ok_or("no such id")?.step(event)
    }

    /// Returns the latest of the clock and the times of the accounts' last Changes.
    pub fn latest(&self, at: i64) -> i64 {
        let accounts = self.pairs.values().filter_map(|pair| pair.account.as_ref());
        accounts.map(|account| account.changed_at.0).fold(at, i64::max)
    }

    fn account(&self, id: &str) -> Option<&Account> {
        self.pairs.get(id)?.account.as_ref()
    }

    fn decide(&self, at: i64, chain: &[(String, Op)]) -> ChainDecision {
        let accounts: Vec<Option<&Account>> =
            chain.iter().map(|(id, _)| self.account(id)).collect();
        with_links(chain, |links| decide_chain(&accounts, links, Time(at), &self.limits))
            .expect("the commands are borrowed")
    }

    /// Executes a chain on both, with all checks.
    pub fn chain(&mut self, at: i64, chain: &[(String, Op)]) -> Result<ChainResult, String> {
        let decision = self.decide(at, chain);
        let mut models: BTreeMap<String, _> =
            self.pairs.iter().map(|(id, pair)| (id.clone(), pair.model.clone())).collect();
        let modelled = with_links(chain, |links| {
            let pairs = chain.iter().zip(links);
            let words: Vec<_> = pairs.map(|((id, _), link)| (id.as_str(), link.command)).collect();
            execute_chain(&mut models, &self.limits, Time(at), &words)
        });
        let outcome = match &decision {
            ChainDecision::Replay(answers) => ModelChainResult::Replay(answers.clone()),
            ChainDecision::Reject(refused) => {
                ModelChainResult::Reject(refused.link, refused.rejection.code)
            }
            ChainDecision::Commit(commits) => {
                ModelChainResult::Commit(commits.iter().map(|commit| commit.1.clone()).collect())
            }
        };
        if Some(&outcome) != modelled.as_ref() {
            return Err(format!("chain:\n  ledger {outcome:?}\n  model  {modelled:?}"));
        }
        if let ChainDecision::Commit(commits) = &decision {
            let before = self.clone();
            for ((id, _), (change, _)) in chain.iter().zip(commits) {
                let pair = self.pairs.get_mut(id).ok_or("an account that is none was changed")?;
                pair.change(change)?;
                pair.model = models.remove(id).ok_or("no model")?;
                pair.tells(change)?;
                pair.crosses(change)?;
            }
            self.committed(&before, at, chain, commits)?;
        }
        for (id, _) in chain {
            if let Some(pair) = self.pairs.get(id) {
                pair.look(Time(at))?;
            }
        }
        Ok(match outcome {
            ModelChainResult::Replay(answers) => ChainResult::Replay(answers),
            ModelChainResult::Reject(number, code) => ChainResult::Reject(number, code),
            ModelChainResult::Commit(answers) => ChainResult::Commit(answers),
        })
    }

    /// Checks the invariants between the accounts before and after a Commit of a chain.
    fn committed(
        &self,
        before: &PairedAccounts,
        at: i64,
        chain: &[(String, Op)],
        commits: &[(Change, Answer)],
    ) -> Result<(), String> {
        let ops: Vec<&Op> = chain.iter().map(|(_, op)| op).collect();
        let was: Vec<Option<&Account>> = chain.iter().map(|(id, _)| before.account(id)).collect();
        let is: Vec<Option<&Account>> = chain.iter().map(|(id, _)| self.account(id)).collect();
        let answers: Vec<Answer> = commits.iter().map(|commit| commit.1.clone()).collect();
        for (at, op) in ops.iter().enumerate() {
            let now = commits[at].0.at;
            invariants::transition(was[at], is[at], op, &answers[at], now)?;
        }
        invariants::chained(&ops, &was, &is, commits)?;
        // I7: repeating the chain is a replay, unless a part of it is not remembered at all.
        let is_kept = |(at, answer): (usize, &Answer)| {
            let closed = matches!(answer, Answer::Session { version: 0, .. });
            !may_be_forgotten(answer, &self.limits)
                && (closed || !is_below(was[at], ops[at], &self.limits))
        };
        let again = self.decide(at, chain);
        if answers.iter().enumerate().all(is_kept)
            && again != ChainDecision::Replay(answers.clone())
        {
            return Err(format!("I7: the same again:\n  is {again:?}\n  was {answers:?}"));
        }
        Ok(())
    }
}
