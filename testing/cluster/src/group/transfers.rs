//! Accounts between which a client moves money by SCUR.TRANSFER. Nothing else touches them, so their sum never changes, and
//! each acknowledged transfer shows in two balances, once.

use crate::client::{Account, create};
use crate::route::{Ask, Signals};
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::views;
use scurry_crash::wire::{RequestWords, Wire, array, words};
use scurry_model::Random;

/// Accounts of a client. Their ids are in different hash slots, so both threads have some.
const ACCOUNTS: usize = 5;
/// First credit of each, which no run of transfers uses up.
const CREDIT: i64 = 1_000_000;
/// Requests for a transfer that is in transit: the store carries it on by itself meanwhile.
const ASKS_MAX: usize = 10_000;

/// A transfer by the places of its accounts.
#[derive(Clone, Copy, Debug)]
struct Moved {
    payer: usize,
    payee: usize,
    amount: i64,
}

/// The accounts and the acknowledged transfers.
pub(crate) struct Transfers {
    ids: Vec<String>,
    acknowledged: Vec<Moved>,
}

impl Transfers {
    pub(crate) fn new(id: String) -> Transfers {
        let ids = (0..ACCOUNTS).map(|at| format!("{id}:{at}")).collect();
        Transfers { ids, acknowledged: Vec::new() }
    }

    fn transfer(&self, number: usize, moved: Moved) -> RequestWords {
        let (payer, payee) = (&self.ids[moved.payer], &self.ids[moved.payee]);
        let amount = moved.amount;
        words(&format!("SCUR.TRANSFER {payer} t{number} cent {amount} {payee} main"))
    }

    /// Returns the balances after all acknowledged transfers.
    fn expected(&self) -> Vec<i64> {
        let mut balances = vec![CREDIT; ACCOUNTS];
        for Moved { payer, payee, amount } in &self.acknowledged {
            balances[*payer] -= amount;
            balances[*payee] += amount;
        }
        balances
    }

    /// Returns what each account has. Fails while an account holds anything.
    fn balances(&self, wire: &mut Wire) -> Result<Vec<i64>> {
        let balance = |id: &String| {
            let shown = views::account_of(&wire.ask(&views::get(id))?)?;
            let [bucket] = &shown.buckets[..] else { bail!("not one bucket: {shown:?}") };
            ensure!(shown.sessions.is_empty(), "{id} has transfers in transit: {shown:?}");
            Ok(bucket.available)
        };
        self.ids.iter().map(balance).collect()
    }
}

/// Returns whether an answer to a transfer is a stored one, and whether the amount has arrived.
fn outcome(reply: &Value, amount: i64) -> Result<(bool, bool)> {
    let [ok, replayed, moved, place] = array(reply)? else { bail!("{reply}") };
    ensure!(*ok == Value::Word(b"OK".to_vec()), "{reply}");
    ensure!(*moved == Value::Int(amount.into()), "{reply} moves another amount than {amount}");
    match place {
        Value::Word(word) if word == b"arrived" => Ok((*replayed == Value::Int(1), true)),
        Value::Word(word) if word == b"in_transit" => Ok((*replayed == Value::Int(1), false)),
        _ => bail!("{reply}"),
    }
}

impl Account for Transfers {
    fn id(&self) -> &str {
        &self.ids[0]
    }

    fn ids(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }

    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        self.ids.iter().try_for_each(|id| create(id, "cent", CREDIT, route, signals))
    }

    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        let payer = random.below(ACCOUNTS);
        let payee = (payer + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
        let moved = Moved { payer, payee, amount: random.between(1, 9) };
        let request = self.transfer(self.acknowledged.len(), moved);
        let answered = route.ask(&self.ids[payer], &request, signals)?;
        let (is_replayed, _) = outcome(&answered.reply, moved.amount)?;
        ensure!(!is_replayed || answered.again, "it is new, and gets {}", answered.reply);
        self.acknowledged.push(moved);
        Ok(())
    }

    fn audit(&mut self, wire: &mut Wire) -> Result<u64> {
        for (number, moved) in self.acknowledged.iter().enumerate() {
            let request = self.transfer(number, *moved);
            let mut arrives = || -> Result<bool> {
                let reply = wire.ask(&request)?;
                let (is_replayed, has_arrived) = outcome(&reply, moved.amount)?;
                ensure!(is_replayed, "transfer {number}, {moved:?}, was lost: {reply}");
                Ok(has_arrived)
            };
            let mut asks = 0;
            while !arrives()? {
                asks += 1;
                ensure!(asks < ASKS_MAX, "transfer {number}, {moved:?}, does not arrive");
            }
        }
        let balances = self.balances(wire).context("after all have arrived")?;
        let (sum, expected) = (balances.iter().sum::<i64>(), self.expected());
        let credit = CREDIT * i64::try_from(ACCOUNTS)?;
        ensure!(sum == credit, "the accounts have {sum} together, and were given {credit}");
        ensure!(balances == expected, "they have {balances:?}, and should have {expected:?}");
        Ok(self.acknowledged.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_follow_the_transfers_and_answers_of_other_amounts_are_refused() {
        let mut accounts = Transfers::new("a".to_owned());
        accounts.acknowledged.push(Moved { payer: 0, payee: 2, amount: 5 });
        accounts.acknowledged.push(Moved { payer: 2, payee: 1, amount: 2 });
        let moved: Vec<i64> = accounts.expected().iter().map(|has| has - CREDIT).collect();
        assert_eq!(moved, [-5, 2, 3, 0, 0]);
        let answer = |place: &str, amount| {
            let words = ["OK", place].map(|word| Value::Word(word.as_bytes().to_vec()));
            let [ok, place] = words;
            Value::Array(vec![ok, Value::Int(0), Value::Int(amount), place])
        };
        assert_eq!(outcome(&answer("in_transit", 5), 5).expect("right"), (false, false));
        assert_eq!(outcome(&answer("arrived", 5), 5).expect("right"), (false, true));
        assert!(outcome(&answer("arrived", 6), 5).is_err());
        assert!(outcome(&answer("lost", 5), 5).is_err());
    }
}
