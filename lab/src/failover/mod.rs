//! Charging while a node fails or hands over: clients send at a fixed rate and resend every request without a known
//! outcome; then the acknowledged requests are compared with the balances.

mod client;
mod owner_route;
mod round;
mod verdict;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};

use crate::audit::Balance;
use crate::clock::Clock;
use crate::dialect::Dialect;
use crate::figures::rounded;
use crate::row::Loss;
use crate::scenario::Failover;
use client::{Client, ClientResults};
pub use round::{Round, STEPS};
use verdict::FailoverVerdict;

const NANOS_PER_MS: f64 = 1e6;
/// Interval at which interrupts are checked.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Load to run.
#[derive(Clone, Copy, Debug)]
pub struct FailoverPlan<'p> {
    /// Unit and item of the requests.
    pub failover: &'p Failover,
    /// Spelling of the commands.
    pub dialect: Dialect,
    /// Addresses of nodes that report which node owns a key.
    pub doors: &'p [SocketAddr],
    /// Accounts of one owner.
    pub accounts: &'p [u32],
    /// Copies that a client requires before it counts a request as acknowledged, including the owner's.
    pub copies: u32,
    /// Clients, each with its own connection.
    pub clients: u32,
    /// Requests per second of all clients.
    pub rate: f64,
    /// Time from the start of the load to the start of the scene.
    pub begin_at: Duration,
    /// How long requests are scheduled.
    pub length: Duration,
    /// Set by Ctrl-C.
    pub interrupted: &'p AtomicBool,
}

impl FailoverPlan<'_> {
    /// Checks that the accounts suffice.
    ///
    /// # Errors
    /// When there are too few for the rate and the length.
    pub fn check(&self) -> Result<()> {
        // Each client may have started one more account at the end.
        let rounds = self.rate * self.length.as_secs_f64() / STEPS.len() as f64;
        let needed = rounds.ceil() + f64::from(self.clients);
        ensure!(
            self.accounts.len() as f64 >= needed,
            "{} accounts have one owner, and {needed} are used up: use more --accounts",
            self.accounts.len()
        );
        Ok(())
    }
}

/// Results of all clients.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Accounts that were charged.
    pub rounds: Vec<Round>,
    /// Answers: the step, when each arrived, and how long after the scheduled time of its request.
    pub answers: Vec<Answered>,
    /// When the scene began.
    pub begun_at: u64,
    /// When all nodes were connected again.
    pub whole_at: u64,
    /// Requests that were resent.
    pub resent: u64,
    /// Answers marked as replayed.
    pub replayed: u64,
    /// Answers to new requests that were marked as replayed.
    pub wrong: u64,
    /// Answers on fewer copies than were required.
    pub not_enough: u64,
}

/// One answer; times are nanoseconds by the clock of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Index into the steps.
    pub step: usize,
    /// Time of arrival.
    pub at: u64,
    /// Time since its request was scheduled.
    pub latency: u64,
}

/// Events on the server side.
pub trait NodeEvent {
    /// Applies the scenario's event to a node.
    ///
    /// # Errors
    /// When that is not possible.
    fn begin(&mut self) -> Result<()>;

    /// Waits until the accounts are served and all nodes are connected, and takes the steps that this needs.
    ///
    /// # Errors
    /// When the nodes do not recover in time.
    fn mend(&mut self) -> Result<()>;
}

/// Runs the clients and, in the middle, the scene; returns when the outcome of every request is known.
///
/// # Errors
/// When the scene fails, the outcome of a request stays unknown for too long, or the run is interrupted.
pub fn run(plan: &FailoverPlan<'_>, scene: &mut impl NodeEvent) -> Result<Outcome> {
    let give_up = &AtomicBool::new(false);
    let clock = Clock::start();
    thread::scope(|scope| {
        let start = |number| scope.spawn(move || Client::new(plan, number, clock, give_up).load());
        let clients: Vec<_> = (0..plan.clients).map(start).collect();
        let played = play(plan, clock, scene);
        give_up.store(played.is_err(), Ordering::Relaxed);
        while !clients.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(LOOK_EVERY); // tidy: allow (clients say nothing until they are done)
            if plan.interrupted.load(Ordering::Relaxed) {
                give_up.store(true, Ordering::Relaxed);
            }
        }
        let join = |client: thread::ScopedJoinHandle<'_, Result<ClientResults>>| {
            client.join().map_err(|_| anyhow!("a client has panicked"))?
        };
        let seen: Vec<Result<ClientResults>> = clients.into_iter().map(join).collect();
        // The error of the scene comes first: clients that gave up because of it add nothing.
        let (begun_at, whole_at) = played?;
        let mut outcome = Outcome { begun_at, whole_at, ..Outcome::default() };
        for seen in seen {
            outcome.add(seen?);
        }
        Ok(outcome)
    })
}

/// Runs the scene and returns when it began and ended.
fn play(plan: &FailoverPlan<'_>, clock: Clock, scene: &mut impl NodeEvent) -> Result<(u64, u64)> {
    while let Some(left) = plan.begin_at.checked_sub(clock.elapsed()).filter(|left| !left.is_zero())
    {
        ensure!(!plan.interrupted.load(Ordering::Relaxed), "interrupted");
        thread::sleep(left.min(LOOK_EVERY)); // tidy: allow (the load paces itself)
    }
    let begun_at = clock.nanos();
    scene.begin()?;
    scene.mend()?;
    Ok((begun_at, clock.nanos()))
}

impl Outcome {
    fn add(&mut self, seen: ClientResults) {
        self.rounds.extend(seen.rounds);
        self.answers.extend(seen.answers);
        self.resent += seen.resent;
        self.replayed += seen.replayed;
        self.wrong += seen.wrong;
        self.not_enough += seen.not_enough;
    }

    /// Compares the acknowledged requests with the balance of each account, after everything has settled, and returns
    /// the losses.
    pub fn judge(&self, balance: impl Fn(u32) -> Balance) -> (Loss, Result<()>) {
        let verdict =
            FailoverVerdict::of(self.rounds.iter().map(|round| (round, balance(round.account))));
        let loss = Loss {
            lost: verdict.lost,
            done_twice: verdict.done_twice,
            gap_ms: rounded(self.gap() as f64 / NANOS_PER_MS, 1),
            resent: self.resent,
            replayed: self.replayed,
            ..Loss::default()
        };
        (loss, verdict.check().and_then(|()| self.check_replays()))
    }

    fn check_replays(&self) -> Result<()> {
        ensure!(self.wrong == 0, "{} new requests were called replays", self.wrong);
        Ok(())
    }

    /// Returns the longest time without an answer to any client since the scene began, in nanoseconds.
    pub fn gap(&self) -> u64 {
        gap(self.begun_at, self.answers.iter().map(|answered| answered.at))
    }
}

/// Returns the longest gap between the start of the scene and the answers after it, which may be in any order.
fn gap(begun_at: u64, answers: impl Iterator<Item = u64>) -> u64 {
    let mut after: Vec<u64> = answers.filter(|at| *at > begun_at).collect();
    after.push(begun_at);
    after.sort_unstable();
    after.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_the_longest_silence_of_all_clients_from_the_begin_of_the_scene_on() {
        let found = |begun_at, answers: &[u64]| gap(begun_at, answers.iter().copied());
        // Gaps before the start belong to the load.
        assert_eq!(found(100, &[10, 90, 130, 140]), 30);
        assert_eq!(found(100, &[105, 190, 101, 195]), 85);
        assert_eq!(found(100, &[50]), 0);
    }
}
