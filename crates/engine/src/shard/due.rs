//! Processes due expiries in entries that no command touches: releases holds, expires, forgets. It works in small
//! steps, so that commands get their turn even when a million entries are due at once.

use super::Shard;
use crate::AccountSlot;
use crate::timers::{TimerGroup, tick_of};
use crate::transfer_name::TransferName;
use scurry_ledger::{Change, Op, Time};

/// Most steps of one [`Shard::tick`]: each gathers, commits or removes one entry.
const TICK_STEPS_MAX: usize = 128;

impl Shard {
    /// Processes due expiries, and returns the number of steps; 0 means that nothing is left. Expiries in accounts are
    /// committed as of the time at which they were due and in the order (time, id), also when the tick is late. A step
    /// may also find a due account that a later call commits. Values, entities and tombstones are removed at most some
    /// milliseconds after they have expired.
    pub fn tick(&mut self, now: Time) -> usize {
        self.tick_with(now, |_, _| {})
    }

    /// Ticks as [`Shard::tick`] does, and passes each account and its Change to the host.
    pub fn tick_with(&mut self, now: Time, committed: impl FnMut(&[u8], &Change)) -> usize {
        self.tick_some(now, TICK_STEPS_MAX, committed)
    }

    /// Ticks as [`Shard::tick_with`] does, with another limit on the steps: an idle host may take more. One more than
    /// the limit may be taken.
    pub fn tick_some(
        &mut self,
        now: Time,
        steps_max: usize,
        mut committed: impl FnMut(&[u8], &Change),
    ) -> usize {
        let now = now.clamp(Time(0), Time::LAST);
        let mut steps = 0;
        while steps < steps_max {
            let account = self.step_accounts(now, &mut committed);
            let other = self.step_others(now);
            if !account && !other {
                break;
            }
            steps += usize::from(account) + usize::from(other);
        }
        steps
    }

    /// Returns the time before which no timer has to run. It is in the past while work is left.
    pub fn next_due(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Takes one step for accounts. Returns false when nothing is due.
    fn step_accounts(&mut self, now: Time, committed: &mut impl FnMut(&[u8], &Change)) -> bool {
        let tick = self.timers.first_tick(TimerGroup::Accounts);
        // Gathers first: nothing is committed before everything that may be due earlier is in the order.
        let near = self.timers.first_near().map(|(time, _)| time);
        if let Some(time) = near.filter(|&time| time <= now)
            && tick.is_none_or(|tick| tick > tick_of(time))
        {
            self.commit_near(time, committed);
            return true;
        }
        match tick {
            Some(tick) if tick <= tick_of(now) => self.gather(tick),
            _ => return false,
        }
        true
    }

    /// Puts one account of the tick into the order, by the time at which something in it is now due.
    fn gather(&mut self, tick: u64) {
        let Some((timer, hash)) = self.timers.first(TimerGroup::Accounts) else { return };
        let place = self.table.find_timer(hash, timer);
        let place = place.expect("a timer goes with its entry");
        self.load(Some(place)).expect("a timer of accounts is an account's");
        match self.working.next_due() {
            Some(due) if tick_of(due) <= tick => {
                let armed = self.timers.bring_near(timer, due, self.table.at(place).key());
                self.table.at_mut(place).arm(armed);
            }
            // The timer was early: the account is handled in a later tick.
            due => {
                self.disarm(place);
                if let Some(due) = due {
                    self.arm(hash, place, due);
                }
            }
        }
    }

    /// Commits what is due in the first account of the order, as of its due time.
    fn commit_near(&mut self, time: Time, committed: &mut impl FnMut(&[u8], &Change)) {
        let Some((_, id)) = self.timers.first_near() else { return };
        let id = Box::<[u8]>::from(id);
        let key = self.table.hasher().key(&id);
        let place = self.table.find(key).expect("a timer goes with its entry");
        self.disarm(place);
        let change = self.slot(key, Some(place)).tick(time);
        let change = change.expect("a timer of accounts is an account's");
        self.forget_identities();
        // None when a command has postponed it since it was gathered.
        let Some(change) = change else { return };
        self.stats.commits += 1;
        self.stats.expiries += 1;
        let mut before: Option<&Op> = None;
        for (at, op) in change.ops.iter().enumerate() {
            match op {
                // Only a transfer is supervised again at its deadline.
                Op::Supervise { .. } => {
                    let named = change.ops[..at].iter().rev().find_map(|op| match op {
                        Op::NameSession(named) => Some(named.as_bytes()),
                        _ => None,
                    });
                    self.transfers.extend(named.map(|named| TransferName::new(&id, named)));
                }
                Op::CloseSession(_) => self.stats.sessions_expired += 1,
                // Expiry at a refill is not the end of a bucket.
                Op::Expire(_) if !matches!(before, Some(Op::BeginPeriod { .. })) => {
                    self.stats.buckets_expired += 1;
                }
                _ => {}
            }
            before = Some(op);
        }
        committed(&id, &change);
    }

    /// Takes one step for values, entities and tombstones. Returns false when no past tick has any.
    fn step_others(&mut self, now: Time) -> bool {
        if self.timers.first_tick(TimerGroup::Others).is_none_or(|tick| tick >= tick_of(now)) {
            return false;
        }
        let Some((timer, hash)) = self.timers.first(TimerGroup::Others) else { return false };
        let place = self.table.find_timer(hash, timer);
        let place = place.expect("a timer goes with its entry");
        match self.table.at(place).expires() {
            Some(expires) if expires > now => {
                self.disarm(place);
                self.arm(hash, place, expires);
            }
            _ => {
                self.remove_expired(hash, place);
            }
        }
        true
    }
}
