//! Clients and their accounts. Each account has one client, and a client has one request under way, so the answers
//! determine the state that an account must show.

mod chained;
mod lease;
mod modelled;
mod primary_only;

pub(crate) use chained::Chained;
pub(crate) use lease::{LEASE_MAX, Lease};
pub(crate) use modelled::ModelledAccount;
pub(crate) use primary_only::PrimaryOnlyAccount;

use crate::route::{Answered, Ask, ClientCounts, Signals};
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::Wire;
use scurry_crash::words_of;
use scurry_model::{Op, Random};
use std::time::Duration;

/// Pause between two requests of a client.
const PACE: Duration = Duration::from_millis(2);

/// An account of one client, or several accounts of one hash slot.
pub(crate) trait Account: Send {
    /// Returns the id of the account, or of the first if there are several.
    fn id(&self) -> &str;

    /// Returns the ids of all accounts.
    fn ids(&self) -> Vec<&str> {
        vec![self.id()]
    }

    /// Creates the account, before any fault.
    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()>;

    /// Sends one request until it has a clear answer. Fails if the answer is wrong.
    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()>;

    /// Returns the time at which everything with a deadline has ended, UTC ms.
    fn ended_at_ms(&self) -> i64 {
        0
    }

    /// Checks the account at its owner after the fault, while no request is under way. Returns the number of
    /// acknowledged requests that are lost. Fails if a request is lost that must not be, and for partial effects.
    fn audit(&mut self, wire: &mut Wire) -> Result<u64>;

    /// Returns the transaction ids of its changes in the order in which they were acknowledged. None if its events are not
    /// compared with them.
    fn acknowledged(&self) -> Option<Vec<String>> {
        None
    }

    /// Repeats requests from before and during the fault.
    fn again(&mut self, _: &mut dyn Ask, _: &Signals, _: &mut Random) -> Result<()> {
        Ok(())
    }
}

/// Amount greater than any balance.
const TOO_MUCH: i64 = 1_000_000_000;

/// Creates an account and makes sure that it is on all copies. CREATE has no transaction id: repeated, it is answered
/// with an error, and a WAIT after that covers nothing. So a request with an id follows, a denied one that changes no
/// balance.
fn make(id: &str, unit: &str, credit: i64, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
    create(id, unit, credit, route, signals)?;
    let denied = words_of(id, &Op::debit("made", unit, TOO_MUCH));
    let denied = route.ask(id, &denied, signals)?.reply;
    let is_denied = denied.to_string().starts_with("[CREDIT_LIMIT_REACHED, ");
    ensure!(is_denied, "a debit of {TOO_MUCH}: {denied}");
    Ok(())
}

/// Creates an account with one bucket.
pub(crate) fn create(
    id: &str,
    unit: &str,
    credit: i64,
    route: &mut dyn Ask,
    signals: &Signals,
) -> Result<()> {
    let create = words_of(id, &Op::create(&[("main", unit, credit)]));
    let made = route.ask(id, &create, signals)?;
    ensure!(is_made(&made), "CREATE: {}", made.reply);
    Ok(())
}

/// Reports whether the answer to a CREATE, possibly repeated, means that the account exists.
pub(crate) fn is_made(answered: &Answered) -> bool {
    match &answered.reply {
        Value::Array(_) => true,
        Value::Error(error) => answered.again && error.starts_with("ACCOUNT_EXISTS "),
        _ => false,
    }
}

/// A client with its accounts.
pub(crate) struct Client {
    pub(crate) route: Box<dyn Ask>,
    pub(crate) accounts: Vec<Box<dyn Account>>,
    random: Random,
    /// True if an acknowledged answer is on all copies.
    pub(crate) all_copies: bool,
}

impl Client {
    pub(crate) fn new(
        route: Box<dyn Ask>,
        accounts: Vec<Box<dyn Account>>,
        random: Random,
        all_copies: bool,
    ) -> Client {
        Client { route, accounts, random, all_copies }
    }

    /// Creates the accounts on all copies, also for a client that later needs only one.
    pub(crate) fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        for account in &mut self.accounts {
            let made = account.create(route, signals);
            made.with_context(|| account.id().to_owned())?;
        }
        Ok(())
    }

    /// Sends requests until the load is over.
    pub(crate) fn load(&mut self, signals: &Signals) -> Result<()> {
        *self.route.seen() = ClientCounts::default();
        while !signals.is_over() {
            if signals.holds() {
                self.route.seen().rest();
                std::thread::sleep(PACE); // tidy: allow (the holder sends no signal when it releases them)
                continue;
            }
            let at = self.random.below(self.accounts.len());
            let account = &mut self.accounts[at];
            let done = account.step(&mut *self.route, signals, &mut self.random);
            done.with_context(|| format!("{} under load", account.id()))?;
            std::thread::sleep(PACE); // tidy: allow (clients leave the nodes time for each other)
        }
        self.route.seen().rest();
        Ok(())
    }

    /// Repeats some requests of the load.
    pub(crate) fn again(&mut self, signals: &Signals) -> Result<()> {
        for account in &mut self.accounts {
            let done = account.again(&mut *self.route, signals, &mut self.random);
            done.with_context(|| format!("{} once more", account.id()))?;
        }
        Ok(())
    }
}
