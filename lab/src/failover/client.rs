//! One client: sends a request at a time, each when the clock says, and resends it until its outcome is known.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::owner_route::{Answer, OwnerRoute};
use super::round::{Round, STEPS};
use super::{Answered, FailoverPlan};
use crate::clock::Clock;
use crate::names::account_text;
use crate::resp::Value;

/// Interval between tries of a request; nodes do not announce that they serve again.
const TRY_EVERY: Duration = Duration::from_millis(25);
/// Longest time without a known outcome of a request.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// Longest sleep, so that an interrupt is noticed soon.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// Results of one client.
#[derive(Debug, Default)]
pub(super) struct ClientResults {
    pub(super) rounds: Vec<Round>,
    pub(super) answers: Vec<Answered>,
    pub(super) resent: u64,
    pub(super) replayed: u64,
    pub(super) wrong: u64,
    pub(super) not_enough: u64,
}

/// Client that charges its share of the accounts.
pub(super) struct Client<'c> {
    plan: &'c FailoverPlan<'c>,
    number: u32,
    clock: Clock,
    give_up: &'c AtomicBool,
    way: OwnerRoute<'c>,
    seen: ClientResults,
    /// Number of requests scheduled so far.
    meant: u32,
}

impl<'c> Client<'c> {
    pub(super) fn new(
        plan: &'c FailoverPlan<'c>,
        number: u32,
        clock: Clock,
        give_up: &'c AtomicBool,
    ) -> Client<'c> {
        let way = OwnerRoute::new(plan.doors, number as usize, plan.copies, clock);
        Client { plan, number, clock, give_up, way, seen: ClientResults::default(), meant: 0 }
    }

    /// Charges account after account until the load is over. A round that has begun is finished.
    pub(super) fn load(mut self) -> Result<ClientResults> {
        // Each client charges every n-th account, beginning with its own number.
        let accounts = self.plan.accounts.iter().skip(self.number as usize);
        for account in accounts.step_by(self.plan.clients as usize) {
            if self.due() >= self.plan.length {
                return Ok(self.seen);
            }
            let mut round = Round::new(*account);
            for step in 0..STEPS.len() {
                if round.refused.is_none() {
                    self.step(&mut round, step)?;
                }
            }
            self.seen.rounds.push(round);
        }
        ensure!(self.due() >= self.plan.length, "a client has no accounts left");
        Ok(self.seen)
    }

    /// Returns when the next request is scheduled.
    fn due(&self) -> Duration {
        let clients = f64::from(self.plan.clients);
        let turns = f64::from(self.meant) * clients + f64::from(self.number);
        Duration::from_secs_f64(turns / self.plan.rate)
    }

    fn step(&mut self, round: &mut Round, step: usize) -> Result<()> {
        // After the end of the load the rest of a round is sent without pauses.
        let meant = self.due().min(self.plan.length);
        self.meant += 1;
        self.sleep_until(meant)?;
        let request = round.request(self.plan.failover, self.plan.dialect, step);
        let key = account_text(round.account);
        let begun = self.clock.elapsed();
        let mut tries = 0u32;
        let answer = loop {
            tries += 1;
            // An error leaves the outcome unknown, so the same bytes are sent again.
            if let Ok(answer) = self.way.ask(&key, &request) {
                break answer;
            }
            let silence = self.clock.elapsed().saturating_sub(begun);
            ensure!(
                silence < SILENCE_MAX,
                "{} has had no clear answer for {} s",
                STEPS[step].name(),
                SILENCE_MAX.as_secs()
            );
            self.go_on()?;
            thread::sleep(TRY_EVERY); // tidy: allow (nodes say nothing when one serves again)
        };
        let at = answer.at;
        // Latency counts from the scheduled time and so includes all tries.
        let latency = at.saturating_sub(u64::try_from(meant.as_nanos())?);
        self.seen.answers.push(Answered { step, at, latency });
        self.seen.resent += u64::from(tries - 1);
        self.seen.take(round, step, answer, tries > 1);
        Ok(())
    }

    fn sleep_until(&self, time: Duration) -> Result<()> {
        while let Some(left) = time.checked_sub(self.clock.elapsed()).filter(|left| !left.is_zero())
        {
            self.go_on()?;
            thread::sleep(left.min(SLEEP_MAX)); // tidy: allow (the load paces itself)
        }
        Ok(())
    }

    fn go_on(&self) -> Result<()> {
        if self.give_up.load(Ordering::Relaxed) {
            bail!("given up");
        }
        Ok(())
    }
}

impl ClientResults {
    /// Records the answer to a request; `again` says that the request had been resent.
    fn take(&mut self, round: &mut Round, step: usize, answer: Answer, again: bool) {
        match answer.reply.elements() {
            [code, replayed, ..] if code.text() == Some("OK") => {
                let is_replay = replayed == &Value::Integer(1);
                self.replayed += u64::from(is_replay);
                // A replay is wrong when the request was sent only once.
                self.wrong += u64::from(is_replay && !again);
                self.not_enough += u64::from(!answer.is_enough);
                round.acknowledged[step] = answer.is_enough;
            }
            _ => {
                let said = answer.reply.text().map_or(answer.reply.to_string(), str::to_owned);
                round.refused = Some((step, said));
            }
        }
    }
}
