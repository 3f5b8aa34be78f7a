//! Chains: commands on several accounts of the shard that all commit or none. Each link has its own
//! working account, which is swapped with the shard's when it is worked on.

use super::Shard;
use crate::table::TablePosition;
use crate::working_account::WorkingAccount;
use crate::{AccountSlot, AccountSlots, ChainOutcome, Key};
use scurry_ledger::{Answer, CHAIN_MAX, Link, Time};
use std::mem;

impl Shard {
    /// Runs a chain without a memory limit. The answers, one for each link, go into `answers`. Everything that it
    /// commits is in one frame of the journal, with no other Change in between.
    pub fn execute_chain(
        &mut self,
        now: Time,
        links: &[Link<'_>],
        answers: &mut Vec<Answer>,
    ) -> ChainOutcome {
        self.run_chain(now, links, false, answers)
    }

    /// Runs a chain as [`Shard::execute_chain`] does, but refuses changes when memory is full. A duplicate gets its
    /// stored answers.
    pub fn execute_chain_in_bounds(
        &mut self,
        now: Time,
        links: &[Link<'_>],
        answers: &mut Vec<Answer>,
    ) -> ChainOutcome {
        self.run_chain(now, links, true, answers)
    }

    fn run_chain(
        &mut self,
        now: Time,
        links: &[Link<'_>],
        is_bounded: bool,
        answers: &mut Vec<Answer>,
    ) -> ChainOutcome {
        let mut room = mem::take(&mut self.chain_room);
        mem::swap(&mut room.answers, answers);
        let outcome = room.run(&mut Slots::new(self, now, links, is_bounded), now, links);
        mem::swap(&mut room.answers, answers);
        self.chain_room = room;
        self.forget_identities();
        for working in &mut self.chain_accounts {
            working.rest();
        }
        match outcome {
            ChainOutcome::Answers { replayed: true } => self.stats.replays += answers.len() as u64,
            ChainOutcome::Answers { replayed: false } => {
                self.stats.commits += answers.len() as u64;
                answers.iter().for_each(|answer| self.count_denial(answer));
            }
            ChainOutcome::Reject(_) => self.stats.rejects += 1,
            ChainOutcome::WrongType { .. } | ChainOutcome::OutOfMemory => {}
        }
        outcome
    }
}

/// The slots of the accounts of a chain. No entry is inserted or removed while a chain runs: its commands neither
/// create accounts nor delete them.
struct Slots<'s> {
    shard: &'s mut Shard,
    keys: [Key<'s>; CHAIN_MAX],
    places: [Option<TablePosition>; CHAIN_MAX],
    /// The link whose working account is currently the shard's.
    turn: usize,
    is_bounded: bool,
}

impl<'s> Slots<'s> {
    fn new(shard: &'s mut Shard, now: Time, links: &[Link<'s>], is_bounded: bool) -> Slots<'s> {
        let mut keys = [shard.key(b""); CHAIN_MAX];
        let mut hashes = [0; CHAIN_MAX];
        for ((key, hash), link) in keys.iter_mut().zip(&mut hashes).zip(links) {
            *key = shard.key(link.account);
            *hash = key.hash();
        }
        let len = links.len().min(CHAIN_MAX);
        shard.touch(&hashes[..len]);
        let mut places = [None; CHAIN_MAX];
        for (place, key) in places.iter_mut().zip(&keys[..len]) {
            *place = shard.find(now, *key);
        }
        let Shard { config, chain_accounts, .. } = &mut *shard;
        while chain_accounts.len() < len {
            let (apart_len, account_len_max) = (config.apart_len, config.account_len_max);
            chain_accounts.push(WorkingAccount::new(
                config.limits.clone(),
                apart_len,
                account_len_max,
            ));
        }
        Slots { shard, keys, places, turn: 0, is_bounded }
    }
}

impl AccountSlots for Slots<'_> {
    fn slot(&mut self, link: usize) -> impl AccountSlot {
        if link != self.turn {
            let Shard { working, chain_accounts, .. } = &mut *self.shard;
            mem::swap(working, &mut chain_accounts[self.turn]);
            mem::swap(working, &mut chain_accounts[link]);
            self.turn = link;
        }
        let Slots { shard, keys, places, is_bounded, .. } = self;
        shard.slot(keys[link], places[link]).in_bounds(*is_bounded)
    }
}
