//! Runs a chain of commands on several accounts: all are decided first, then all are stored or none. Each link has its
//! own working account meanwhile, so nothing has to be undone.

use crate::{AccountSlot, ChainOutcome};
use scurry_ledger::{
    Answer, ChainVerdict, Change, Decision, Link, Time, check_chain, is_denial, judge,
};
use std::iter::zip;

/// Access to the accounts of a chain.
pub trait AccountSlots {
    /// Returns the account of a link; it is valid until the next call. The content of its working account is kept
    /// until the end of the chain.
    fn slot(&mut self, link: usize) -> impl AccountSlot;
}

/// Reusable buffers for chains.
#[derive(Debug, Default)]
pub struct ChainRoom {
    decisions: Vec<Decision>,
    /// Answers of the last chain that produced some, in the order of its links.
    pub answers: Vec<Answer>,
}

impl ChainRoom {
    /// Runs a chain (docs/ledger.md section 15). Its answers are in `answers` afterwards.
    pub fn run(
        &mut self,
        slots: &mut impl AccountSlots,
        now: Time,
        links: &[Link<'_>],
    ) -> ChainOutcome {
        if let Err(rejection) = check_chain(links) {
            return ChainOutcome::Reject(rejection);
        }
        let now = match self.decide(slots, now, links) {
            Ok(now) => now,
            Err(link) => {
                self.give_up(slots);
                return ChainOutcome::WrongType { link };
            }
        };
        let verdict = judge(&self.decisions);
        match verdict {
            ChainVerdict::Reject(rejection) => {
                self.give_up(slots);
                return ChainOutcome::Reject(rejection);
            }
            ChainVerdict::Commit | ChainVerdict::Deny if slots.slot(0).refuses_memory() => {
                self.give_up(slots);
                return ChainOutcome::OutOfMemory;
            }
            ChainVerdict::Deny => self.deny(slots, now, links),
            ChainVerdict::Commit | ChainVerdict::Replay => {}
        }
        self.answers.clear();
        // Past this point the chain cannot fail: all of it is stored, in one frame of the log or one step of the Valkey
        // server.
        for (link, decision) in self.decisions.drain(..).enumerate() {
            match decision {
                Decision::Commit(change, answer) => {
                    slots.slot(link).commit(change);
                    self.answers.push(answer);
                }
                Decision::Replay(answer) => self.answers.push(answer),
                Decision::Reject(_) => unreachable!("the verdict would be another one"),
            }
        }
        ChainOutcome::Answers { replayed: verdict == ChainVerdict::Replay }
    }

    /// Decides each link as if it were alone. Returns the time used: the latest of the clock and the accounts' last
    /// Changes. Fails with the index of a link whose key holds another kind.
    fn decide(
        &mut self,
        slots: &mut impl AccountSlots,
        clock: Time,
        links: &[Link<'_>],
    ) -> Result<Time, usize> {
        let mut now = clock.on(None);
        loop {
            let mut latest = now;
            for (at, link) in links.iter().enumerate() {
                let mut slot = slots.slot(at);
                slot.load().map_err(|_| at)?;
                latest = latest.on(slot.working().account.as_ref());
                self.decisions.push(slot.decide_link(latest, &link.command));
            }
            if latest == now {
                return Ok(latest);
            }
            // The clock is earlier than an account's last Change, because it was set back: decide again at the later
            // time.
            now = latest;
            self.give_up(slots);
        }
    }

    /// Decides again, as denied by the chain, the links that were not denied themselves.
    fn deny(&mut self, slots: &mut impl AccountSlots, now: Time, links: &[Link<'_>]) {
        for (at, (decision, link)) in zip(&mut self.decisions, links).enumerate() {
            if let Decision::Commit(change, answer) = decision
                && !is_denial(answer)
            {
                let mut slot = slots.slot(at);
                slot.working()
                    .reuse(std::mem::replace(change, Change { at: now, ops: Vec::new() }));
                *decision = slot.decide_denied(now, &link.command);
                let Decision::Commit(..) = decision else {
                    unreachable!("a command that is committed alone is so when its chain denies it")
                };
            }
        }
    }

    /// Discards the decisions.
    fn give_up(&mut self, slots: &mut impl AccountSlots) {
        for (link, decision) in self.decisions.drain(..).enumerate() {
            if let Decision::Commit(change, _) = decision {
                slots.slot(link).working().reuse(change);
            }
        }
    }
}
