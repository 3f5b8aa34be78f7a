//! Chains of commands on the accounts. What a chain leaves is one entry of the history: a machine
//! that comes back with a part of it shows a sequence that never was.

use crate::run::{Checked, Pending, Sim};
use crate::world::ACCOUNTS;
use scurry_engine::ChainOutcome;
use scurry_ledger::Answer;
use scurry_model::{Books, CameOfChain, ChainOp, Op, with_links};

impl Sim {
    /// A chain on some of the accounts, or one of before again.
    pub(crate) fn chain(&mut self) -> Checked {
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

    fn run_chain(&mut self, chain: &ChainOp) -> Checked {
        let (now, before) = (self.now(), self.shard.sequence());
        let mut answers = Vec::new();
        let outcome = with_links(chain, |links| self.shard.execute_chain(now, links, &mut answers));
        let outcome = outcome.ok_or("the commands were not borrowed")?;
        self.disk.note(|| format!("{chain:?} at {}: {outcome:?} {answers:?}", now.0));
        let pairs = self.world.pairs.iter().cloned().enumerate();
        let mut books =
            Books::of(self.config.limits.clone(), pairs.map(|(index, pair)| (id(index), pair)));
        let came = books.chain(now.0, chain)?;
        for (index, pair) in self.world.pairs.iter_mut().enumerate() {
            *pair = books.pairs.remove(&id(index)).ok_or("an account is gone")?;
        }
        let agrees = match (&came, &outcome) {
            (CameOfChain::Replay(expected), ChainOutcome::Answers { replayed: true })
            | (CameOfChain::Commit(expected), ChainOutcome::Answers { replayed: false }) => {
                *expected == answers
            }
            (CameOfChain::Reject(link, code), ChainOutcome::Reject(refused)) => {
                *link == refused.link && *code == refused.rejection.code
            }
            _ => false,
        };
        if !agrees {
            return Err(format!("{chain:?}: model {came:?}, shard {outcome:?} {answers:?}"));
        }
        let is_committed = matches!(came, CameOfChain::Commit(_));
        let records = if is_committed { chain.len() as u64 } else { 0 };
        self.counts.chains += u64::from(is_committed && chain.len() > 1);
        // In one frame, and the frame may be the last.
        self.wrote(before, records..=records)?;
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

fn id(index: usize) -> String {
    String::from_utf8_lossy(ACCOUNTS[index]).into_owned()
}

fn index_of(account: &str) -> Option<usize> {
    ACCOUNTS.iter().position(|id| *id == account.as_bytes())
}
