//! An account whose client needs only the primary's acknowledgement: K = 1. A failover may lose acknowledged requests,
//! which are counted. Each request is executed completely or not at all, and a lost one can be repeated and is then
//! executed once.

use super::{Account, make};
use crate::route::{Ask, Signals, is_replay};
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::Wire;
use scurry_crash::{views, words_of};
use scurry_model::{Op, Random, Request};
use scurry_service::BucketTotals;

const CREDIT: i64 = 1_000_000;
/// Requests of one account at most: many remembered ids make it slow.
const REQUESTS_MAX: usize = 400;

/// Effect of a request.
#[derive(Clone, Copy, Debug)]
enum RequestEffect {
    Debit(i64),
    TopUp(i64),
    Hold(i64),
}

/// The account and its acknowledged requests.
pub(crate) struct PrimaryOnlyAccount {
    id: String,
    /// All acknowledged requests with their effects.
    done: Vec<(Op, RequestEffect)>,
}

/// Sums of the effects of requests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    available: i64,
    held: i64,
    credited: i64,
    consumed: i64,
}

impl Sums {
    fn of(deeds: impl Iterator<Item = RequestEffect>) -> Sums {
        let mut sums = Sums { available: CREDIT, credited: CREDIT, ..Sums::default() };
        for deed in deeds {
            match deed {
                RequestEffect::Debit(amount) => {
                    sums.available -= amount;
                    sums.consumed += amount;
                }
                RequestEffect::TopUp(amount) => {
                    sums.available += amount;
                    sums.credited += amount;
                }
                RequestEffect::Hold(amount) => {
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
        let audit = views::audit_of(&wire.ask(&views::audit(&self.id))?)?;
        let &[
            BucketTotals {
                available,
                held,
                credited,
                consumed,
                refunded: 0,
                expired: 0,
                voided: 0,
                overdrawn: 0,
                ..
            },
        ] = &audit.buckets[..]
        else {
            bail!("its buckets: {audit:?}")
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
        make(&self.id, "cent", CREDIT, route, signals)
    }

    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        let (id, number) = (&self.id, self.done.len());
        if number >= REQUESTS_MAX {
            return Ok(());
        }
        let amount = random.between(1, 50);
        let (op, deed) = match random.below(4) {
            0 => {
                let reserve = Request::new(&format!("h{number}"), 0).ask(1, "cent", amount);
                (reserve.reserve(), RequestEffect::Hold(amount))
            }
            1 => (Op::topup(&format!("t{number}"), "main", amount), RequestEffect::TopUp(amount)),
            _ => (Op::debit(&format!("t{number}"), "cent", amount), RequestEffect::Debit(amount)),
        };
        let answered = route.ask(id, &words_of(id, &op), signals)?;
        ensure!(is_ok(&answered.reply), "{op:?}: {}", answered.reply);
        self.done.push((op, deed));
        Ok(())
    }

    fn audit(&mut self, wire: &mut Wire) -> Result<u64> {
        let before = self.sums(wire)?;
        let requests: Vec<_> = self.done.iter().map(|(op, _)| words_of(&self.id, op)).collect();
        let replies = wire.ask_all(&requests)?;
        let mut kept = Vec::new();
        for ((op, deed), reply) in self.done.iter().zip(&replies) {
            ensure!(is_ok(reply), "{op:?}, once more: {reply}");
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
