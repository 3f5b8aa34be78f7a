//! An account whose sessions are never terminated and whose gifts are never spent. Each session releases its holds once
//! when its Tcc has passed, and each gift expires once when its validity ends, whichever node is primary then. Each
//! request waits for all copies.

use super::{Account, make};
use crate::route::{Ask, Signals};
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::clock::wall_ms;
use scurry_crash::wire::Wire;
use scurry_crash::{value_of, views, words_of};
use scurry_ledger::{
    Answer, BucketAttributes, Cause, Code, Final, ItemAnswer, SessionOptions, Time,
};
use scurry_model::{Op, Random, Request, name};
use scurry_service::BucketTotals;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const CREDIT: i64 = 1_000_000;
/// Amount held by each session.
const HELD: i64 = 10;
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
    gifts: BTreeMap<String, (i64, bool)>,
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
        let request = Request {
            options: SessionOptions { tcc_ms: Some(tcc_ms), ..SessionOptions::default() },
            ..Request::new(&session, 0)
        };
        let reserve = request.ask(1, "sec", HELD).reserve();
        let over_ms = wall_ms() + tcc_ms;
        let answered = route.ask(id, &words_of(id, &reserve), signals)?;
        for (at, reply) in answered.earlier.iter().chain([&answered.reply]).enumerate() {
            let held = |replayed| {
                let items = [ItemAnswer {
                    code: Code::Ok,
                    granted: HELD,
                    last: Final::No,
                    uncollected: 0,
                    cause: Cause::None,
                }];
                let items = items.into_iter().collect();
                value_of(&reserve, &Answer::Session { code: Code::Ok, version: 1, items }, replayed)
            };
            let is_again = answered.again || at > 0;
            // The session was opened and has ended since, so there is no answer to repeat.
            let is_over = wall_ms() + signals.ahead_ms >= over_ms
                && matches!(reply, Value::Error(error) if error.starts_with("SESSION_EXISTS "));
            let is_right = *reply == held(0) || is_again && (*reply == held(1) || is_over);
            ensure!(is_right, "{reserve:?}: {reply}");
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
        let amount = random.between(1, 9);
        let to_ms = wall_ms() + random.between(100, 2_500);
        let gift = Op::TopUp {
            txn: bucket.clone(),
            bucket: name(&bucket),
            amount,
            unit: Some(name("tok")),
            with: BucketAttributes {
                valid_to: Some(Some(Time(to_ms))),
                ..BucketAttributes::default()
            },
            keys: vec![],
        };
        let answered = route.ask(id, &words_of(id, &gift), signals)?;
        let is_over = || wall_ms() + signals.ahead_ms >= to_ms;
        let is_there = match &answered.reply {
            // The last attempt came after the end of validity, and no earlier one was executed as far as the answering
            // node knew.
            Value::Error(error) if error.starts_with("BUCKET_EXPIRED ") && is_over() => false,
            Value::Error(error) if error.starts_with("INVALID ") && is_over() => false,
            Value::Array(parts) if parts.first() == Some(&word("OK")) => {
                let is_new = parts.get(1) == Some(&Value::Int(0));
                ensure!(is_new || answered.again, "{gift:?} is new: {}", answered.reply);
                true
            }
            reply => bail!("{gift:?}: {reply}"),
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
        make(&self.id, "sec", CREDIT, route, signals)
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
        let account = views::account_of(&wire.ask(&views::get(&self.id))?)?;
        let audit = views::audit_of(&wire.ask(&views::audit(&self.id))?)?;
        let open = account.sessions.iter().map(|one| one.id.as_bytes().to_vec());
        let open: BTreeSet<Vec<u8>> = open.collect();
        let long = self.long.iter().map(|id| id.as_bytes().to_vec());
        ensure!(open == long.collect(), "open are {open:?}, and should be {:?}", self.long);
        let held = HELD * i64::try_from(self.long.len())?;
        let mut unseen = self.gifts.clone();
        for bucket in &audit.buckets {
            let none = BucketTotals {
                available: 0,
                held: 0,
                credited: 0,
                refunded: 0,
                consumed: 0,
                expired: 0,
                voided: 0,
                overdrawn: 0,
                ..*bucket
            };
            let expected = match bucket.id.as_str() {
                "main" => BucketTotals { available: CREDIT - held, held, credited: CREDIT, ..none },
                gift => {
                    let (amount, _) = unseen.remove(gift).context("a gift of nobody")?;
                    BucketTotals { credited: amount, expired: amount, ..none }
                }
            };
            ensure!(*bucket == expected, "{bucket:?} should be {expected:?}");
        }
        let lost = unseen.iter().find(|(_, (_, is_there))| *is_there);
        ensure!(lost.is_none(), "{lost:?} is lost: {audit:?}");
        Ok(0)
    }
}
