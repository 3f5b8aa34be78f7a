//! An account whose client needs only the primary's acknowledgement: K = 1. A failover may lose acknowledged requests,
//! which are counted. Each request is executed completely or not at all, and a lost one can be repeated and is then
//! executed once.

use super::{Account, make};
use crate::route::{Ask, Signals, is_replay};
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{Wire, array, entry, int, text, words};
use scurry_model::Random;

const CREDIT: i128 = 1_000_000;
/// Requests of one account at most: many remembered ids make it slow.
const REQUESTS_MAX: usize = 400;

/// Effect of a request.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Debit(i128),
    TopUp(i128),
    Hold(i128),
}

/// The account and its acknowledged requests.
pub(crate) struct PrimaryOnlyAccount {
    id: String,
    /// All acknowledged requests with their effects.
    done: Vec<(String, Deed)>,
}

/// Sums of the effects of requests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    available: i128,
    held: i128,
    credited: i128,
    consumed: i128,
}

impl Sums {
    fn of(deeds: impl Iterator<Item = Deed>) -> Sums {
        let mut sums = Sums { available: CREDIT, credited: CREDIT, ..Sums::default() };
        for deed in deeds {
            match deed {
                Deed::Debit(amount) => {
                    sums.available -= amount;
                    sums.consumed += amount;
                }
                Deed::TopUp(amount) => {
                    sums.available += amount;
                    sums.credited += amount;
                }
                Deed::Hold(amount) => {
                    sums.available -= amount;
                    sums.held += amount;
                }
            }
        }
        sums
    }
}

impl PrimaryOnlyAccount {
    pub(crate) fn new(id: String) -> PrimaryOnlyAccount {
        PrimaryOnlyAccount { id, done: Vec::new() }
    }

    /// Reads the sums from the server.
    fn sums(&self, wire: &mut Wire) -> Result<Sums> {
        let audit = wire.ask(&words(&format!("SCUR.AUDIT {}", self.id)))?;
        ensure!(int(entry(&audit, "ok")?)? == 1, "the audit finds it broken: {audit}");
        let [bucket] = array(entry(&audit, "buckets")?)? else { bail!("its buckets: {audit}") };
        let [id, _, funds @ ..] = array(bucket)? else { bail!("a bucket is {bucket}") };
        let funds = funds.iter().map(int).collect::<Result<Vec<_>>>()?;
        let &[available, held, credited, 0, consumed, 0, 0, 0] = funds.as_slice() else {
            bail!("bucket {}: {funds:?}", text(id)?)
        };
        Ok(Sums { available, held, credited, consumed })
    }
}

fn is_ok(reply: &Value) -> bool {
    matches!(reply, Value::Array(parts) if parts.first() == Some(&Value::Word(b"OK".to_vec())))
}

impl Account for PrimaryOnlyAccount {
    fn id(&self) -> &str {
        &self.id
    }

    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        let line = format!("SCUR.CREATE {} BUCKET main cent {CREDIT}", self.id);
        make(&line, &self.id, "cent", route, signals)
    }

    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        let (id, number) = (&self.id, self.done.len());
        if number >= REQUESTS_MAX {
            return Ok(());
        }
        let amount = random.between(1, 50);
        let (line, deed) = match random.below(4) {
            0 => (
                format!("SCUR.RESERVE {id} h{number} 0 ITEM 1 cent REQUESTED {amount}"),
                Deed::Hold(amount.into()),
            ),
            1 => (format!("SCUR.TOPUP {id} t{number} main {amount}"), Deed::TopUp(amount.into())),
            _ => (format!("SCUR.DEBIT {id} t{number} cent {amount}"), Deed::Debit(amount.into())),
        };
        let answered = route.ask(id, &words(&line), signals)?;
        ensure!(is_ok(&answered.reply), "{line}: {}", answered.reply);
        self.done.push((line, deed));
        Ok(())
    }

    fn audit(&mut self, wire: &mut Wire) -> Result<u64> {
        let before = self.sums(wire)?;
        let requests: Vec<_> = self.done.iter().map(|(line, _)| words(line)).collect();
        let replies = wire.ask_all(&requests)?;
        let mut kept = Vec::new();
        for ((line, deed), reply) in self.done.iter().zip(&replies) {
            ensure!(is_ok(reply), "{line}, once more: {reply}");
            if is_replay(reply) {
                kept.push(*deed);
            }
        }
        let lost = self.done.len() - kept.len();
        let there = Sums::of(kept.into_iter());
        ensure!(before == there, "it was {before:?}, and what it remembers makes {there:?}");
        let (after, all) = (self.sums(wire)?, Sums::of(self.done.iter().map(|(_, deed)| *deed)));
        ensure!(after == all, "once more, it is {after:?} and not {all:?}");
        Ok(lost as u64)
    }
}
