//! Keys that all clients use at once: accounts with a chain of updates, and registers. What each
//! client saw goes into a history.

use crate::clock::ns;
use crate::history::{Act, Call, Histories, History, Outcome};
use crate::wire::{Words, array, entry, int, text, words};
use anyhow::{Context, Result, bail};
use scurry_conformance::Value;
use scurry_model::Random;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first credit of an account.
pub(crate) const CREDIT: i64 = 600;
const ACCOUNTS: usize = 5;
const REGISTERS: usize = 4;

/// A key, and all that was asked of it.
struct Key {
    name: String,
    is_account: bool,
    chain: Mutex<Chain>,
    calls: Mutex<Vec<Call>>,
}

/// The session that clients update in turns.
#[derive(Default)]
struct Chain {
    session: Option<String>,
    number: u32,
    serial: u64,
}

/// A call that has no reply yet.
pub(crate) struct Pending {
    key: usize,
    client: usize,
    call: i64,
    act: Act,
}

/// The keys.
pub(crate) struct Shared(Vec<Key>);

impl Shared {
    /// Keys that no earlier epoch has used.
    pub(crate) fn new(epoch: u64) -> Shared {
        let key = |at: usize| {
            let is_account = at < ACCOUNTS;
            let name = format!("{}{epoch}:{at}", if is_account { "shared" } else { "register" });
            Key { name, is_account, chain: Mutex::default(), calls: Mutex::default() }
        };
        Shared((0..ACCOUNTS + REGISTERS).map(key).collect())
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Requests that make the accounts. They are no part of the histories.
    pub(crate) fn creates(&self) -> Vec<Words> {
        let accounts = self.0.iter().filter(|key| key.is_account);
        let line = |key: &Key| words(&format!("SCUR.CREATE {} BUCKET b cent {CREDIT}", key.name));
        accounts.map(line).collect()
    }

    /// Ids of the accounts.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|key| key.is_account).map(|key| key.name.as_str())
    }

    /// A call on a key.
    pub(crate) fn call(&self, key: usize, client: usize, random: &mut Random) -> (Pending, Words) {
        let act = self.0[key].act(random);
        self.pending(key, client, act)
    }

    /// A read of each key.
    pub(crate) fn reads(&self, client: usize) -> Vec<(Pending, Words)> {
        let read = |key: &Key| if key.is_account { Act::Get } else { Act::Read };
        (0..self.0.len()).map(|at| self.pending(at, client, read(&self.0[at]))).collect()
    }

    /// Calls with an id that were made before, once more: those that have no result, and a few
    /// that have one.
    pub(crate) fn again(
        &self,
        client: usize,
        since: i64,
        random: &mut Random,
    ) -> Vec<(Pending, Words)> {
        let mut again = Vec::new();
        for (at, key) in self.0.iter().enumerate().filter(|(_, key)| key.is_account) {
            let calls = lock(&key.calls);
            let has_id = |call: &&Call| !matches!(call.act, Act::Get);
            let recent = calls.iter().filter(|call| call.end >= since).filter(has_id);
            for call in recent {
                if call.result.is_none() || random.one_in(30) {
                    again.push(self.pending(at, client, call.act.clone()));
                }
            }
        }
        again
    }

    fn pending(&self, key: usize, client: usize, act: Act) -> (Pending, Words) {
        let words = words(&line(&self.0[key].name, &act));
        (Pending { key, client, call: ns(), act }, words)
    }

    /// A reply has come.
    pub(crate) fn returned(&self, pending: Pending, reply: &Value) -> Result<()> {
        let Pending { key, client, call, act } = pending;
        let outcome = outcome(&act, reply).with_context(|| format!("{act:?} says {reply}"))?;
        let key = &self.0[key];
        if let (Act::Reserve { id, .. }, "OK") = (&act, outcome.code.as_str()) {
            let mut chain = lock(&key.chain);
            (chain.session, chain.number) = (Some(id.clone()), 0);
        }
        lock(&key.calls).push(Call { client, call, end: ns(), act, result: Some(outcome) });
        Ok(())
    }

    /// No reply will come, and the server is gone.
    pub(crate) fn lost(&self, pending: Pending) {
        let Pending { key, client, call, act } = pending;
        lock(&self.0[key].calls).push(Call { client, call, end: ns(), act, result: None });
    }

    /// Everything that was seen.
    pub(crate) fn into_histories(self) -> Histories {
        let history = |key: Key| {
            let kind = if key.is_account { "account" } else { "register" };
            let mut calls = key.calls.into_inner().unwrap_or_else(PoisonError::into_inner);
            calls.sort_by_key(|call| call.call);
            (key.name, History { kind, credit: CREDIT, calls })
        };
        self.0.into_iter().map(history).collect()
    }
}

impl Key {
    fn act(&self, random: &mut Random) -> Act {
        let mut chain = lock(&self.chain);
        chain.serial += 1;
        let serial = chain.serial;
        if !self.is_account {
            return match random.below(20) {
                0..9 => Act::Set { value: format!("r{serial}") },
                9 => Act::Del,
                _ => Act::Read,
            };
        }
        let amount = random.between(1, 120);
        let session = chain.session.clone();
        match (random.below(20), session) {
            (0..4, _) => Act::Topup { id: format!("t{serial}"), amount },
            (4..8, _) => Act::Debit { id: format!("d{serial}"), amount },
            (8..11, _) => Act::Get,
            (11..19, Some(id)) => {
                chain.number += 1;
                let used = random.between(0, 90);
                Act::Update { id, number: chain.number, used, requested: amount }
            }
            (19, Some(id)) => {
                chain.session = None;
                chain.number += 1;
                Act::Terminate { id, number: chain.number, used: amount }
            }
            _ => Act::Reserve { id: format!("s{serial}"), number: 0, requested: amount },
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn line(key: &str, act: &Act) -> String {
    match act {
        Act::Set { value } => format!("SET {key} {value}"),
        Act::Del => format!("DEL {key}"),
        Act::Read => format!("GET {key}"),
        Act::Get => format!("SCUR.GET {key}"),
        Act::Topup { id, amount } => format!("SCUR.TOPUP {key} {id} b {amount}"),
        Act::Debit { id, amount } => format!("SCUR.DEBIT {key} {id} cent {amount}"),
        Act::Reserve { id, number, requested } => {
            format!("SCUR.RESERVE {key} {id} {number} ITEM 1 cent REQUESTED {requested}")
        }
        Act::Update { id, number, used, requested } => {
            format!("SCUR.UPDATE {key} {id} {number} ITEM 1 cent USED {used} REQUESTED {requested}")
        }
        Act::Terminate { id, number, used } => {
            format!("SCUR.TERMINATE {key} {id} {number} ITEM 1 cent USED {used}")
        }
    }
}

fn outcome(act: &Act, reply: &Value) -> Result<Outcome> {
    if let Value::Error(error) = reply {
        let code = error.split(' ').next().unwrap_or_default().to_owned();
        return Ok(Outcome { code, ..Outcome::default() });
    }
    let number = |value: &Value| Ok::<i64, anyhow::Error>(i64::try_from(int(value)?)?);
    let ok = Outcome { code: "OK".to_owned(), ..Outcome::default() };
    Ok(match act {
        Act::Set { .. } => Outcome { code: text(reply)?, ..ok },
        Act::Del => Outcome { amount: Some(number(reply)?), ..ok },
        Act::Read if *reply == Value::Nil => ok,
        Act::Read => Outcome { value: Some(text(reply)?), ..ok },
        Act::Get => {
            let [bucket] = array(entry(reply, "buckets")?)? else { bail!("not one bucket") };
            let [_, _, available, held, ..] = array(bucket)? else { bail!("no bucket") };
            let (amount, held) = (Some(number(available)?), Some(number(held)?));
            Outcome { amount, held, version: Some(number(entry(reply, "version")?)?), ..ok }
        }
        Act::Topup { .. } | Act::Debit { .. } => {
            let [code, replayed, version, amount, ..] = array(reply)? else {
                bail!("not four or more")
            };
            Outcome {
                code: text(code)?,
                replayed: Some(number(replayed)?),
                version: Some(number(version)?),
                amount: Some(number(amount)?),
                ..ok
            }
        }
        Act::Reserve { .. } | Act::Update { .. } | Act::Terminate { .. } => {
            let [code, replayed, version, items] = array(reply)? else { bail!("not four") };
            let [item] = array(items)? else { bail!("not one item") };
            let [_, _, granted, last, ..] = array(item)? else { bail!("no item") };
            Outcome {
                code: text(code)?,
                replayed: Some(number(replayed)?),
                version: Some(number(version)?),
                amount: Some(number(granted)?),
                last: Some(number(last)?),
                ..ok
            }
        }
    })
}
