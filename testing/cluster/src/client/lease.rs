//! An account whose sessions are never terminated and whose gifts are never spent. Each session releases its holds once
//! when its Tcc has passed, and each gift expires once when its validity ends, whichever node is primary then. Each
//! request waits for all copies.

use super::{Account, make};
use crate::route::{Ask, Signals};
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::clock::wall_ms;
use scurry_crash::wire::{Wire, array, entry, int, text, words};
use scurry_model::Random;
use std::collections::BTreeMap;
use std::time::Duration;

const CREDIT: i128 = 1_000_000;
/// Amount held by each session.
const HELD: i128 = 10;
/// Sessions of one account at most: many remembered ids make an account slow.
const SESSIONS_MAX: u64 = 300;
/// Gifts of one account at most, because each is a bucket.
const GIFTS_MAX: u64 = 6;
/// Longest time of a session that ends, and of a gift.
pub(crate) const LEASE_MAX: Duration = Duration::from_millis(3_000);
/// Tcc of a session that outlasts the run, ms.
const LONG_MS: i64 = 3_600_000;

/// The account and the effects that it must show.
pub(crate) struct Lease {
    id: String,
    serial: u64,
    /// Sessions that must be open at the end.
    long: Vec<String>,
    /// Buckets of gifts: the amount, and whether the bucket must exist.
    gifts: BTreeMap<String, (i128, bool)>,
    ended_at_ms: i64,
}

impl Lease {
    pub(crate) fn new(id: String) -> Lease {
        Lease { id, serial: 0, long: Vec::new(), gifts: BTreeMap::new(), ended_at_ms: 0 }
    }

    fn reserve(
        &mut self,
        route: &mut dyn Ask,
        signals: &Signals,
        random: &mut Random,
    ) -> Result<()> {
        self.serial += 1;
        let (id, session) = (&self.id, format!("s{}", self.serial));
        let is_long = random.one_in(6);
        let tcc_ms =
            if is_long { LONG_MS } else { random.between(50, LEASE_MAX.as_millis().try_into()?) };
        let line =
            format!("SCUR.RESERVE {id} {session} 0 TCC {tcc_ms}ms ITEM 1 sec REQUESTED {HELD}");
        let over_ms = wall_ms() + tcc_ms;
        let answered = route.ask(id, &words(&line), signals)?;
        for (at, reply) in answered.earlier.iter().chain([&answered.reply]).enumerate() {
            let held = |replayed| {
                let item =
                    [Value::Int(1), word("OK"), Value::Int(HELD), Value::Int(0), Value::Int(0)];
                let item = Value::Array(vec![Value::Array(item.to_vec())]);
                Value::Array(vec![word("OK"), Value::Int(replayed), Value::Int(1), item])
            };
            let is_again = answered.again || at > 0;
            // The session was opened and has ended since, so there is no answer to repeat.
            let is_over = wall_ms() + signals.ahead_ms >= over_ms
                && matches!(reply, Value::Error(error) if error.starts_with("SESSION_EXISTS "));
            let is_right = *reply == held(0) || is_again && (*reply == held(1) || is_over);
            ensure!(is_right, "{line}: {reply}");
        }
        if is_long {
            self.long.push(session);
        } else {
            self.ended_at_ms = self.ended_at_ms.max(wall_ms() + tcc_ms);
        }
        Ok(())
    }

    fn gift(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        self.serial += 1;
        let (id, bucket) = (&self.id, format!("g{}", self.serial));
        let amount = i128::from(random.between(1, 9));
        let to_ms = wall_ms() + random.between(100, 2_500);
        let line = format!("SCUR.TOPUP {id} {bucket} {bucket} {amount} UNIT tok TO {to_ms}");
        let answered = route.ask(id, &words(&line), signals)?;
        let is_over = || wall_ms() + signals.ahead_ms >= to_ms;
        let is_there = match &answered.reply {
            // The last attempt came after the end of validity, and no earlier one was executed as far as the answering
            // node knew.
            Value::Error(error) if error.starts_with("BUCKET_EXPIRED ") && is_over() => false,
            Value::Error(error) if error.starts_with("INVALID ") && is_over() => false,
            Value::Array(parts) if parts.first() == Some(&word("OK")) => {
                let is_new = parts.get(1) == Some(&Value::Int(0));
                ensure!(is_new || answered.again, "{line} is new: {}", answered.reply);
                true
            }
            reply => bail!("{line}: {reply}"),
        };
        self.gifts.insert(bucket, (amount, is_there));
        self.ended_at_ms = self.ended_at_ms.max(to_ms);
        Ok(())
    }
}

fn word(text: &str) -> Value {
    Value::Word(text.as_bytes().to_vec())
}

impl Account for Lease {
    fn id(&self) -> &str {
        &self.id
    }

    fn create(&mut self, route: &mut dyn Ask, signals: &Signals) -> Result<()> {
        let line = format!("SCUR.CREATE {} BUCKET main sec {CREDIT}", self.id);
        make(&line, &self.id, "sec", route, signals)
    }

    fn step(&mut self, route: &mut dyn Ask, signals: &Signals, random: &mut Random) -> Result<()> {
        if self.serial >= SESSIONS_MAX {
            return Ok(());
        }
        if (self.gifts.len() as u64) < GIFTS_MAX && random.one_in(5) {
            return self.gift(route, signals, random);
        }
        self.reserve(route, signals, random)
    }

    fn ended_at_ms(&self) -> i64 {
        self.ended_at_ms
    }

    fn audit(&mut self, wire: &mut Wire) -> Result<u64> {
        let get = wire.ask(&words(&format!("SCUR.GET {}", self.id)))?;
        let audit = wire.ask(&words(&format!("SCUR.AUDIT {}", self.id)))?;
        ensure!(int(entry(&audit, "ok")?)? == 1, "the audit finds it broken: {audit}");
        let mut open = Vec::new();
        for session in array(entry(&get, "sessions")?)? {
            open.push(text(array(session)?.first().context("a session without an id")?)?);
        }
        open.sort();
        self.long.sort();
        ensure!(open == self.long, "open are {open:?}, and should be {:?}", self.long);
        let held = HELD * self.long.len() as i128;
        let mut unseen = self.gifts.clone();
        for bucket in array(entry(&audit, "buckets")?)? {
            let [id, _, funds @ ..] = array(bucket)? else { bail!("a bucket is {bucket}") };
            let funds = funds.iter().map(int).collect::<Result<Vec<_>>>()?;
            // The columns: available, held, credited, refunded, consumed, expired, voided, overdrawn.
            let expected = match text(id)?.as_str() {
                "main" => [CREDIT - held, held, CREDIT, 0, 0, 0, 0, 0],
                gift => {
                    let (amount, _) = unseen.remove(gift).context("a gift of nobody")?;
                    [0, 0, amount, 0, 0, amount, 0, 0]
                }
            };
            ensure!(funds == expected, "{bucket} should be {expected:?}");
        }
        let lost = unseen.iter().find(|(_, (_, is_there))| *is_there);
        ensure!(lost.is_none(), "{lost:?} is lost: {audit}");
        Ok(0)
    }
}
