//! Accounts of one hash slot in the naive model, and random requests to them: chains, and commands to a single account.

use super::requests::{Pending, Requests};
use super::{compare, compare_chain, limits, shown, words_of, words_of_chain};
use crate::views;
use crate::wire::RequestWords;
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_ledger::Time;
use scurry_model::{
    ChainOp, Model, ModelChainResult, ModelResult, Op, Random, Snapshot, execute_chain, with_links,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Time of the model. No compared value depends on it.
const NOW: Time = Time(1_000);
/// Accounts of a slot.
const ACCOUNTS: usize = 3;
/// Chains kept for repetition.
const RECENT_MAX: usize = 20;

/// A request.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every act is a command")]
pub enum Act {
    /// Command to one account.
    Alone(String, Op),
    /// Chain on several accounts.
    Chain(ChainOp),
}

/// The model's result for a request.
#[derive(Clone, Debug)]
pub enum ModelReply {
    /// Result of a command.
    Alone(ModelResult),
    /// Result of a chain.
    Chain(ModelChainResult),
}

/// Models of the accounts.
#[derive(Clone, Debug)]
pub struct Slot {
    models: BTreeMap<String, Model>,
}

impl Act {
    /// Returns the request.
    pub fn words(&self) -> RequestWords {
        match self {
            Act::Alone(id, op) => words_of(id, op),
            Act::Chain(chain) => words_of_chain(chain),
        }
    }
}

impl ModelReply {
    /// Checks that the reply is the model's result.
    pub fn compare(&self, act: &Act, reply: &Value) -> Result<()> {
        match (act, self) {
            (Act::Alone(_, op), ModelReply::Alone(expected)) => compare(op, expected, reply),
            (Act::Chain(chain), ModelReply::Chain(expected)) => {
                compare_chain(chain, expected, reply)
            }
            _ => bail!("the model says {self:?} to {act:?}"),
        }
    }

    /// Returns the result of repeating the request.
    pub fn as_replay(&self) -> ModelReply {
        match self.clone() {
            ModelReply::Alone(ModelResult::Commit(answer)) => {
                ModelReply::Alone(ModelResult::Replay(answer))
            }
            ModelReply::Chain(ModelChainResult::Commit(answers)) => {
                ModelReply::Chain(ModelChainResult::Replay(answers))
            }
            other => other,
        }
    }

    /// Reports whether this is a stored answer.
    pub fn is_replay(&self) -> bool {
        matches!(
            self,
            ModelReply::Alone(ModelResult::Replay(_))
                | ModelReply::Chain(ModelChainResult::Replay(_))
        )
    }
}

impl Slot {
    /// Makes an account with this id and others of its hash slot. None of them is created yet.
    pub fn new(id: &str) -> Slot {
        let tagged = if id.starts_with('{') { id.to_owned() } else { format!("{{{id}}}") };
        let ids = [id.to_owned(), format!("{tagged}:key"), format!("{tagged}:team")];
        let models = ids.map(|id| (id, Model::new(limits())));
        Slot { models: models.into() }
    }

    /// Returns the ids of the accounts.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// Executes a request in the models.
    pub fn execute(&mut self, act: &Act) -> ModelReply {
        match act {
            Act::Alone(id, op) => {
                let model = self.models.get_mut(id).expect("the request is about one of them");
                ModelReply::Alone(op.with(|command| model.execute(NOW, command)))
            }
            Act::Chain(chain) => {
                let result = with_links(chain, |links| {
                    let pairs = chain.iter().zip(links);
                    let pairs: Vec<_> =
                        pairs.map(|((id, _), link)| (id.as_str(), link.command)).collect();
                    execute_chain(&mut self.models, &limits(), NOW, &pairs)
                });
                ModelReply::Chain(result.expect("the commands are borrowed"))
            }
        }
    }

    fn shots(&self) -> impl Iterator<Item = (&String, Option<Snapshot>)> {
        self.models.iter().map(|(id, model)| (id, model.snapshot(NOW)))
    }

    /// Returns the sessions open in any of the accounts.
    pub fn sessions(&self) -> BTreeSet<String> {
        self.shots()
            .filter_map(|(_, shot)| shot)
            .flat_map(|shot| shot.sessions.into_keys())
            .collect()
    }

    /// Returns requests that show all accounts, with these sessions.
    pub fn state_requests(&self, sessions: &[String]) -> Vec<RequestWords> {
        self.ids().flat_map(|id| views::state_requests(id, sessions)).collect()
    }

    /// Formats the replies to [`Slot::state_requests`] as text.
    pub fn shown_by(&self, replies: &[Value], sessions: &[String]) -> Result<String> {
        let mut texts = Vec::new();
        ensure!(replies.len() == self.state_requests(sessions).len(), "{} replies", replies.len());
        for (id, own) in self.ids().zip(replies.chunks(2 + sessions.len())) {
            texts.push(format!("{id}: {}", shown::of_server(own, sessions)?));
        }
        Ok(texts.join("\n"))
    }

    /// Formats the accounts of the models as the same text.
    pub fn shown(&self) -> String {
        let text = |(id, shot): (&String, Option<Snapshot>)| {
            format!("{id}: {}", shown::of_model(shot.as_ref()))
        };
        self.shots().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// Source of random requests to the accounts of a slot.
#[derive(Debug, Default)]
pub struct SlotRequests {
    /// Requests to each account, in the order of their ids.
    each: [Requests; ACCOUNTS],
    /// Chains that have a reply.
    recent: VecDeque<ChainOp>,
    /// Number for ids of transfers.
    serial: u64,
}

impl SlotRequests {
    /// Makes requests to accounts that are created, deleted and created again.
    pub fn new() -> SlotRequests {
        SlotRequests::default()
    }

    /// Makes requests to accounts that stay: every request except the CREATEs has an id, by which a duplicate is
    /// recognized.
    pub fn with_ids() -> SlotRequests {
        let each = std::array::from_fn(|_| Requests::with_ids());
        SlotRequests { each, ..SlotRequests::default() }
    }

    /// Draws the next request. `slot` has the models after everything sent.
    pub fn next(&mut self, slot: &Slot, random: &mut Random) -> Act {
        let shots: Vec<(&String, Option<Snapshot>)> = slot.shots().collect();
        let is_busy = |(_, shot): &(&String, Option<Snapshot>), requests: &Requests| {
            shot.as_ref().is_none_or(|shot| requests.must_wind_up(shot))
        };
        // An account being created or emptied gets no chains, otherwise that would never end.
        let mut pairs = shots.iter().zip(&self.each);
        let busy = pairs.position(|(shot, requests)| is_busy(shot, requests));
        let first = busy.unwrap_or(random.below(ACCOUNTS));
        if busy.is_some() || random.one_in(3) {
            let (id, shot) = &shots[first];
            let op = self.each[first].next(shot.as_ref(), &Pending::new(), random);
            return Act::Alone((*id).clone(), op);
        }
        if random.one_in(5)
            && let Some(act) = self.some(1, random).pop()
        {
            return act;
        }
        let at = |number: usize| (first + number) % ACCOUNTS;
        if random.one_in(2) {
            let to = at(1 + random.below(ACCOUNTS - 1));
            return Act::Chain(self.transfer(shots[first].0, shots[to].0, random));
        }
        let count = random.pick(&[1, 2, 2, 3]);
        let link = |at: usize| {
            let (id, shot) = &shots[at];
            ((*id).clone(), self.each[at].link(shot.as_ref(), random))
        };
        Act::Chain((0..count).map(at).map(link).collect())
    }

    fn transfer(&mut self, from: &str, to: &str, random: &mut Random) -> ChainOp {
        self.serial += 1;
        let (txn, amount) = (format!("move{}", self.serial), random.between(1, 400));
        vec![
            (from.to_owned(), Op::debit(&txn, "cent", amount)),
            (to.to_owned(), Op::topup(&txn, "main", amount)),
        ]
    }

    /// Draws some chains that have a reply, to be repeated.
    pub fn some(&self, count: usize, random: &mut Random) -> Vec<Act> {
        let count = self.recent.len().min(count);
        let mut one = || self.recent[random.below(self.recent.len())].clone();
        (0..count).map(|_| Act::Chain(one())).collect()
    }

    /// Notes a request that has a reply. The commands of a chain may also be repeated alone.
    pub fn remember(&mut self, slot: &Slot, act: Act) {
        let mut note = |id: &str, op: Op| {
            let own = slot.ids().zip(&mut self.each).find(|(own, _)| *own == id);
            own.into_iter().for_each(|(_, requests)| requests.remember(op.clone()));
        };
        match act {
            Act::Alone(id, op) => note(&id, op),
            Act::Chain(chain) => {
                chain.iter().for_each(|(id, op)| note(id, op.clone()));
                self.recent.push_back(chain);
                if self.recent.len() > RECENT_MAX {
                    self.recent.pop_front();
                }
            }
        }
    }
}
