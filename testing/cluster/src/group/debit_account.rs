//! An account with debits of one unit each, so that lost debits and debits executed twice can be counted.

use crate::client::{Account, create};
use crate::route::{Ask, Signals};
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{RequestWords, Wire, array};
use scurry_crash::{views, words_of};
use scurry_model::{Op, Random};

const CREDIT: i64 = 1_000_000;

/// The account and its acknowledged debits.
pub(crate) struct DebitAccount {
    id: String,
    /// Answers to the acknowledged debits, numbered from 0.
    acknowledged: Vec<Value>,
}

/// Findings of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    lost: i64,
    twice: i64,
}

impl DebitAccount {
    pub(crate) fn new(id: String) -> DebitAccount {
        DebitAccount { id, acknowledged: Vec::new() }
    }

    fn debit(&self, number: usize) -> RequestWords {
        words_of(&self.id, &Op::debit(&transaction(number), "cent", 1))
    }

    fn left(&self, wire: &mut Wire) -> Result<i64> {
        let shown = views::account_of(&wire.ask(&views::get(&self.id))?)?;
        let [bucket] = shown.buckets[..] else { bail!("not one bucket: {shown:?}") };
        Ok(bucket.available)
    }
}

/// Returns the id of a debit.
fn transaction(number: usize) -> String {
    format!("d{number}")
}

/// Counts losses and repetitions from the answers to repeated debits. A debit that was executed returns its stored
/// answer, and one that is new was lost. Any amount missing beyond one unit per debit was debited twice.
fn judge(acknowledged: &[Value], again: &[Value], left: i64) -> Result<Found> {
    ensure!(acknowledged.len() == again.len(), "{} answers", again.len());
    let mut lost = 0;
    for (first, again) in acknowledged.iter().zip(again) {
        let ([ok, _, first_rest @ ..], [is_ok, replayed, rest @ ..]) =
            (array(first)?, array(again)?)
        else {
            bail!("no answers: {first} and {again}");
        };
        if *replayed == Value::Int(0) {
            lost += 1;
        } else {
            ensure!(ok == is_ok && first_rest == rest, "{first} is {again} when it comes again");
        }
    }
    let twice = CREDIT - left - i64::try_from(acknowledged.len())?;
    Ok(Found { lost, twice })
}

impl Account for DebitAccount {
    fn id(&self) -> &str {
        &self.id
    }

    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        create(&self.id, "cent", CREDIT, route, signals)
    }

    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, _: &mut Random) -> Result<()> {
        let request = self.debit(self.acknowledged.len());
        let answered = route.ask(&self.id, &request, signals)?;
        let [ok, replayed, ..] = array(&answered.reply)? else { bail!("{}", answered.reply) };
        ensure!(*ok == Value::Word(b"OK".to_vec()), "{}", answered.reply);
        let is_new = *replayed == Value::Int(0);
        ensure!(is_new || answered.again, "it is new, and gets {}", answered.reply);
        self.acknowledged.push(answered.reply);
        Ok(())
    }

    fn acknowledged(&self) -> Option<Vec<String>> {
        Some((0..self.acknowledged.len()).map(transaction).collect())
    }

    fn audit(&mut self, wire: &mut Wire) -> Result<u64> {
        let all: Vec<RequestWords> =
            (0..self.acknowledged.len()).map(|number| self.debit(number)).collect();
        let again = wire.ask_all(&all)?;
        let found = judge(&self.acknowledged, &again, self.left(wire)?)?;
        ensure!(found == Found { lost: 0, twice: 0 }, "of {} debits: {found:?}", all.len());
        Ok(all.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(replayed: &[i128]) -> Vec<Value> {
        let answer = |(at, replayed): (usize, &i128)| {
            let version = Value::Int(at as i128 + 2);
            let ok = Value::Word(b"OK".to_vec());
            Value::Array(vec![ok, Value::Int(*replayed), version, Value::Int(1)])
        };
        replayed.iter().enumerate().map(answer).collect()
    }

    #[test]
    fn the_audit_finds_what_was_lost_and_what_was_done_twice() {
        let acknowledged = answers(&[0, 0, 0]);
        let found = |again: &[i128], left| {
            let Found { lost, twice } = judge(&acknowledged, &answers(again), left).unwrap();
            (lost, twice)
        };
        assert_eq!(found(&[1, 1, 1], CREDIT - 3), (0, 0));
        assert_eq!(found(&[1, 0, 1], CREDIT - 3), (1, 0));
        assert_eq!(found(&[1, 1, 1], CREDIT - 4), (0, 1));
        assert_eq!(found(&[0, 1, 1], CREDIT - 4), (1, 1));
        let mut other = answers(&[1, 1, 1]);
        other.swap(0, 1);
        assert!(judge(&acknowledged, &other, CREDIT - 3).is_err(), "answers of other debits");
    }
}
