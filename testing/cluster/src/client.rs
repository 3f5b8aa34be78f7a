//! Clients and the accounts that are theirs alone: a client has one request under way, so what an
//! account must show follows from what was answered.

mod chained;
mod lease;
mod loose;
mod steady;

pub(crate) use chained::Chained;
pub(crate) use lease::{LEASE_MAX, Lease};
pub(crate) use loose::Loose;
pub(crate) use steady::Steady;

use crate::route::{Answered, Ask, Seen, Signals};
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{Wire, words};
use scurry_model::Random;
use std::time::Duration;

/// Between two requests of a client.
const PACE: Duration = Duration::from_millis(2);

/// An account of one client.
pub(crate) trait Account: Send {
    /// The id of the account, or of one where there are several of one hash slot.
    fn id(&self) -> &str;

    /// Ids of all accounts.
    fn ids(&self) -> Vec<&str> {
        vec![self.id()]
    }

    /// Makes it, before anything goes wrong.
    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()>;

    /// One request, until it is answered clearly. An error when the answer is wrong.
    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()>;

    /// When all of it that ends by itself has ended, UTC ms.
    fn ended_at_ms(&self) -> i64 {
        0
    }

    /// After the fault, when nothing is under way, at its owner. How many acknowledged requests are
    /// not there; an error for what must be there, and for anything by half.
    fn audit(&mut self, wire: &mut Wire) -> Result<u64>;

    /// Requests from before and during the fault once more.
    fn again(&mut self, _: &mut dyn Ask, _: &Signals, _: &mut Random) -> Result<()> {
        Ok(())
    }
}

/// More than any account has.
const TOO_MUCH: i64 = 1_000_000_000;

/// Makes an account that is on all copies. CREATE carries no id: one that has to be sent again is
/// answered with an error, and a WAIT behind that covers nothing. So a request with an id follows,
/// a denied one, which changes no balance.
fn make(line: &str, id: &str, unit: &str, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
    let made = route.ask(id, &words(line), signals)?;
    ensure!(is_made(&made), "{line}: {}", made.reply);
    let line = format!("SCUR.DEBIT {id} made {unit} {TOO_MUCH}");
    let denied = route.ask(id, &words(&line), signals)?.reply;
    ensure!(denied.to_string().starts_with("[CREDIT_LIMIT_REACHED, "), "{line}: {denied}");
    Ok(())
}

/// The answer to a CREATE, which may have come twice.
pub(crate) fn is_made(answered: &Answered) -> bool {
    match &answered.reply {
        Value::Array(_) => true,
        Value::Error(error) => answered.again && error.starts_with("ACCOUNT_EXISTS "),
        _ => false,
    }
}

/// A client.
pub(crate) struct Client {
    pub(crate) route: Box<dyn Ask>,
    pub(crate) accounts: Vec<Box<dyn Account>>,
    random: Random,
    /// True where an acknowledged answer is on all copies.
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

    /// Makes the accounts, on all copies whatever the client is content with later.
    pub(crate) fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        for account in &mut self.accounts {
            let made = account.create(route, signals);
            made.with_context(|| account.id().to_owned())?;
        }
        Ok(())
    }

    /// Asks until the load is over.
    pub(crate) fn load(&mut self, signals: &Signals) -> Result<()> {
        *self.route.seen() = Seen::default();
        while !signals.is_over() {
            if signals.holds() {
                self.route.seen().rest();
                std::thread::sleep(PACE); // tidy: allow (the one who holds them lets go without a word)
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

    /// Requests of the load once more.
    pub(crate) fn again(&mut self, signals: &Signals) -> Result<()> {
        for account in &mut self.accounts {
            let done = account.again(&mut *self.route, signals, &mut self.random);
            done.with_context(|| format!("{} once more", account.id()))?;
        }
        Ok(())
    }
}
