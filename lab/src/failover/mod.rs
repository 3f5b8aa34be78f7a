//! Charging while something becomes of a node: clients that send by the clock, and send again what
//! has no clear answer; then what was acknowledged is compared with what is there.

mod client;
mod round;
mod verdict;
mod way;

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
use client::{Client, Seen};
pub use round::{Round, STEPS};
use verdict::Verdict;

const NANOS_PER_MS: f64 = 1e6;
/// How soon an interrupt is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Load to carry out.
#[derive(Clone, Copy, Debug)]
pub struct FailoverPlan<'p> {
    /// Unit and item of the requests.
    pub failover: &'p Failover,
    /// How the commands are spelt.
    pub dialect: Dialect,
    /// Addresses at which nodes tell who owns a key.
    pub doors: &'p [SocketAddr],
    /// Accounts of one owner.
    pub accounts: &'p [u32],
    /// Copies behind an acknowledgement that a client asks for, the owner's too.
    pub copies: u32,
    /// Clients, each with a connection of its own.
    pub clients: u32,
    /// Requests per second of all clients.
    pub rate: f64,
    /// When the scene begins, counted from the begin of the load.
    pub begin_at: Duration,
    /// How long requests fall due.
    pub length: Duration,
    /// Set by Ctrl-C.
    pub interrupted: &'p AtomicBool,
}

impl FailoverPlan<'_> {
    /// Says that the accounts do not last.
    ///
    /// # Errors
    /// When they do not.
    pub fn check(&self) -> Result<()> {
        // Each client may have begun another one at the end.
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

/// Everything that the clients have seen.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Accounts that were charged.
    pub rounds: Vec<Round>,
    /// Each answer: the step, when it came, and how long after it was meant to be asked for.
    pub answers: Vec<Answered>,
    /// When the scene began.
    pub begun_at: u64,
    /// When all nodes were together again.
    pub whole_at: u64,
    /// Requests that were sent again.
    pub resent: u64,
    /// Answers that called themselves repeated.
    pub replayed: u64,
    /// New requests whose answer called itself repeated.
    pub wrong: u64,
    /// Answers on fewer copies than were asked for.
    pub not_enough: u64,
}

/// One answer, in nanoseconds by the clock of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Index into the steps.
    pub step: usize,
    /// When it came.
    pub at: u64,
    /// From when its request was meant to be sent.
    pub latency: u64,
}

/// Events on the side of the servers.
pub trait Scene {
    /// Does to a node what is to become of it.
    ///
    /// # Errors
    /// When that cannot be done.
    fn begin(&mut self) -> Result<()>;

    /// Waits until the accounts are served and all nodes are together, and does what that takes.
    ///
    /// # Errors
    /// When one of these does not come about.
    fn mend(&mut self) -> Result<()>;
}

/// Runs the clients, and the scene in the middle; comes back when each request has its clear answer.
///
/// # Errors
/// When the scene fails, a request has no clear answer for long, or the run is interrupted.
pub fn run(plan: &FailoverPlan<'_>, scene: &mut impl Scene) -> Result<Outcome> {
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
        let join = |client: thread::ScopedJoinHandle<'_, Result<Seen>>| {
            client.join().map_err(|_| anyhow!("a client has panicked"))?
        };
        let seen: Vec<Result<Seen>> = clients.into_iter().map(join).collect();
        // A client that gave up because of this says nothing new.
        let (begun_at, whole_at) = played?;
        let mut outcome = Outcome { begun_at, whole_at, ..Outcome::default() };
        for seen in seen {
            outcome.add(seen?);
        }
        Ok(outcome)
    })
}

/// Plays the scene, and gives when it began and ended.
fn play(plan: &FailoverPlan<'_>, clock: Clock, scene: &mut impl Scene) -> Result<(u64, u64)> {
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
    fn add(&mut self, seen: Seen) {
        self.rounds.extend(seen.rounds);
        self.answers.extend(seen.answers);
        self.resent += seen.resent;
        self.replayed += seen.replayed;
        self.wrong += seen.wrong;
        self.not_enough += seen.not_enough;
    }

    /// Compares what was acknowledged with the balance of each account, when all has settled, and says
    /// what is wrong.
    pub fn judge(&self, balance: impl Fn(u32) -> Balance) -> (Loss, Result<()>) {
        let verdict = Verdict::of(self.rounds.iter().map(|round| (round, balance(round.account))));
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

    /// The longest time without any client's answer from the scene's begin on, nanoseconds.
    pub fn gap(&self) -> u64 {
        gap(self.begun_at, self.answers.iter().map(|answered| answered.at))
    }
}

/// The longest time between the begin of the scene, and the answers after it, in any order.
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
        // Before it any silence is the load's.
        assert_eq!(found(100, &[10, 90, 130, 140]), 30);
        assert_eq!(found(100, &[105, 190, 101, 195]), 85);
        assert_eq!(found(100, &[50]), 0);
    }
}
