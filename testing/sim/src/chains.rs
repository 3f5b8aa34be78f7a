//! Chains of commands on the accounts. A chain adds one entry to the history, for its last record. A machine that
//! recovers only a part of a chain therefore shows a sequence that is not in the history, which is a fault.

use crate::model_checked_shard::id;
use crate::sim::{Pending, Sim};
use crate::world::{ACCOUNTS, CheckResult};
use scurry_ledger::Answer;
use scurry_model::{ChainOp, ChainResult, Op};

impl Sim {
    /// Sends a new chain on some of the accounts, or repeats one of the last four.
    pub(crate) fn chain(&mut self) -> CheckResult {
        if !self.is_open() {
            return Ok(());
        }
        if !self.chains.is_empty() && self.random.one_in(4) {
            let back = 1 + self.random.below(self.chains.len().min(4));
            let chain = self.chains[self.chains.len() - back].clone();
            return self.run_chain(&chain);
        }
        let (first, count) = (self.random.below(3), self.random.pick(&[1, 2, 2, 3, 3]));
        let mut chain = ChainOp::new();
        for number in 0..count {
            let index = (first + number) % ACCOUNTS.len();
            self.generators[index].set_clock(self.clock);
            let (at, op) = self.generators[index].link(&self.world.pairs[index]);
            self.clock = at;
            chain.push((id(index), op));
        }
        self.chains.push(chain.clone());
        self.run_chain(&chain)
    }

    fn run_chain(&mut self, chain: &ChainOp) -> CheckResult {
        let (now, before) = (self.now(), self.shard.sequence());
        let limits = self.config.limits.clone();
        let (came, answers) = self.beside(now).chain(&limits, chain)?;
        let is_committed = matches!(came, ChainResult::Commit(_));
        let records = if is_committed { chain.len() as u64 } else { 0 };
        self.counts.chains += u64::from(is_committed && chain.len() > 1);
        // All records of the chain are in one frame, and that frame may be sealed after them.
        self.record_history(before, records..=records)?;
        for (at, (account, op)) in chain.iter().enumerate() {
            let index = index_of(account).ok_or("no such account")?;
            let answer = answers.get(at).filter(|_| is_committed).cloned();
            self.answered(index, op, answer.as_ref());
            self.wait_for(index, op, answer);
        }
        Ok(())
    }

    fn wait_for(&mut self, index: usize, op: &Op, answer: Option<Answer>) {
        let sequence = self.shard.sequence();
        let request = Some((index, op.clone(), answer));
        self.pending.push_back(Pending { sequence, request, version: 0 });
    }
}

fn index_of(account: &str) -> Option<usize> {
    ACCOUNTS.iter().position(|id| *id == account.as_bytes())
}
