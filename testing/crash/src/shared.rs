//! Keys used by all clients at once: accounts with sessions that clients update in turn, accounts of one hash slot with
//! chains of commands and limits, and registers. The calls of all clients go into a history.

use crate::clock::ns;
use crate::history::{Call, ClientAct, Histories, History, Link, Outcome};
use crate::subject::{words_of, words_of_chain};
use crate::views;
use crate::wire::{RequestWords, array, int, text, words};
use anyhow::{Context, Result, bail};
use scurry_conformance::Value;
use scurry_model::{Op, Random, Request};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// First credit of an account.
pub(crate) const CREDIT: i64 = 600;
const ACCOUNTS: usize = 5;
/// Hash slots with several accounts.
const SLOTS: usize = 3;
const SLOTS_END: usize = ACCOUNTS + SLOTS;
const REGISTERS: usize = 4;

/// A register, or the accounts of a hash slot, with all calls on it.
struct Key {
    name: String,
    /// Ids of the accounts. Empty for a register.
    accounts: Vec<String>,
    turns: Mutex<ActSource>,
    calls: Mutex<Vec<Call>>,
}

/// State from which clients draw their acts.
#[derive(Default)]
struct ActSource {
    /// For each account, the session that clients update in turn.
    sessions: Vec<Session>,
    serial: u64,
}

#[derive(Clone, Default)]
struct Session {
    id: Option<String>,
    number: u32,
}

/// A call without a reply so far.
pub struct Pending {
    key: usize,
    client: usize,
    call: i64,
    link: Link,
}

/// The shared keys.
pub struct Shared(Vec<Key>);

impl Shared {
    /// Makes keys that no earlier epoch has used.
    pub fn new(epoch: u64) -> Shared {
        let key = |at: usize| {
            let (stem, accounts) = match at {
                0..ACCOUNTS => ("shared", 1),
                ACCOUNTS..SLOTS_END => ("slot", 2),
                _ => ("register", 0),
            };
            let name = format!("{stem}{epoch}:{at}");
            let accounts = [name.clone(), format!("{{{name}}}:team")][..accounts].to_vec();
            let turns = ActSource { sessions: vec![Session::default(); accounts.len()], serial: 0 };
            Key { name, accounts, turns: Mutex::new(turns), calls: Mutex::default() }
        };
        Shared((0..SLOTS_END + REGISTERS).map(key).collect())
    }

    /// Returns the number of keys.
    #[expect(clippy::len_without_is_empty, reason = "there are always some")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the requests that create the accounts. They are not part of the histories.
    pub fn creates(&self) -> Vec<RequestWords> {
        let create = Op::create(&[("b", "cent", CREDIT)]);
        self.accounts().map(|id| words_of(id, &create)).collect()
    }

    /// Returns the ids of the accounts.
    pub fn accounts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|key| &key.accounts).map(String::as_str)
    }

    /// Returns the keys of the registers.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(|key| key.accounts.is_empty());
        values.map(|key| key.name.as_str())
    }

    /// Draws a call on a key.
    pub fn call(&self, key: usize, client: usize, random: &mut Random) -> (Pending, RequestWords) {
        let link = self.0[key].act(random);
        self.pending(key, client, link)
    }

    /// Returns a read of each account and register.
    pub fn reads(&self, client: usize) -> Vec<(Pending, RequestWords)> {
        let mut reads = Vec::new();
        for (at, key) in self.0.iter().enumerate() {
            if key.accounts.is_empty() {
                reads.push(self.pending(at, client, Link { account: 0, act: ClientAct::Read }));
            }
            for account in 0..key.accounts.len() {
                reads.push(self.pending(at, client, Link { account, act: ClientAct::Get }));
            }
        }
        reads
    }

    /// Repeats earlier calls with an id: all that have no result, and some that have one.
    pub(crate) fn repeat_requests(
        &self,
        client: usize,
        since: i64,
        random: &mut Random,
    ) -> Vec<(Pending, RequestWords)> {
        let mut again = Vec::new();
        for (at, key) in self.0.iter().enumerate().filter(|(_, key)| !key.accounts.is_empty()) {
            let calls = lock(&key.calls);
            let has_id = |call: &&Call| !matches!(call.link.act, ClientAct::Get);
            let recent = calls.iter().filter(|call| call.end >= since).filter(has_id);
            for call in recent {
                if call.result.is_none() || random.one_in(30) {
                    again.push(self.pending(at, client, call.link.clone()));
                }
            }
        }
        again
    }

    fn pending(&self, key: usize, client: usize, link: Link) -> (Pending, RequestWords) {
        let words = self.0[key].words(&link);
        (Pending { key, client, call: ns(), link }, words)
    }

    /// Records a call and its reply.
    pub fn returned(&self, pending: Pending, reply: &Value) -> Result<()> {
        let Pending { key, client, call, link } = pending;
        let outcome =
            outcome(&link.act, reply).with_context(|| format!("{link:?} says {reply}"))?;
        let key = &self.0[key];
        key.opened(&link, &outcome);
        lock(&key.calls).push(Call { client, call, end: ns(), link, result: Some(outcome) });
        Ok(())
    }

    /// Records a call that got no reply before the server ended.
    pub(crate) fn lost(&self, pending: Pending) {
        let Pending { key, client, call, link } = pending;
        lock(&self.0[key].calls).push(Call { client, call, end: ns(), link, result: None });
    }

    /// Records a call without a reply from a server that still runs: it may be executed once, at any time.
    pub fn in_doubt(&self, pending: Pending) {
        let Pending { key, client, call, link } = pending;
        lock(&self.0[key].calls).push(Call { client, call, end: i64::MAX, link, result: None });
    }

    /// Repeats a call if it has an id.
    pub fn repeat(&self, pending: &Pending) -> Option<(Pending, RequestWords)> {
        let has_id = !matches!(
            pending.link.act,
            ClientAct::Set { .. } | ClientAct::Del | ClientAct::Read | ClientAct::Get
        );
        has_id.then(|| self.pending(pending.key, pending.client, pending.link.clone()))
    }

    /// Returns the histories of all keys.
    pub(crate) fn into_histories(self) -> Histories {
        let history = |key: Key| {
            let accounts = key.accounts.len();
            let kind = if accounts > 0 { "account" } else { "register" };
            let mut calls = key.calls.into_inner().unwrap_or_else(PoisonError::into_inner);
            calls.sort_by_key(|call| call.call);
            (key.name, History { kind, accounts, credit: CREDIT, calls })
        };
        self.0.into_iter().map(history).collect()
    }
}

impl Key {
    fn act(&self, random: &mut Random) -> Link {
        let turns = &mut *lock(&self.turns);
        turns.serial += 1;
        let serial = turns.serial;
        if self.accounts.is_empty() {
            let act = match random.below(20) {
                0..9 => ClientAct::Set { value: format!("r{serial}") },
                9 => ClientAct::Del,
                _ => ClientAct::Read,
            };
            return Link { account: 0, act };
        }
        let account = random.below(self.accounts.len());
        if self.accounts.len() > 1 {
            let other = (account + 1) % self.accounts.len();
            match random.below(20) {
                0..4 => return transfer(account, other, serial, random),
                4..10 => {
                    let mut link = |account| {
                        let act = turns.act(account, random);
                        Link { account, act }
                    };
                    let mut links = vec![link(account), link(other)];
                    // A chain cannot contain reads.
                    links.retain(|link| !matches!(link.act, ClientAct::Get));
                    if !links.is_empty() {
                        return Link { account, act: ClientAct::Chain { links } };
                    }
                }
                10..12 => {
                    let (id, amount) = (format!("l{serial}"), random.between(0, 3_000));
                    return Link { account, act: ClientAct::Limit { id, amount } };
                }
                _ => {}
            }
        }
        Link { account, act: turns.act(account, random) }
    }

    /// Notes the sessions that a call has opened.
    fn opened(&self, Link { account, act }: &Link, outcome: &Outcome) {
        match act {
            ClientAct::Reserve { id, .. } if outcome.code == "OK" => {
                let session = Session { id: Some(id.clone()), number: 0 };
                lock(&self.turns).sessions[*account] = session;
            }
            ClientAct::Chain { links } => {
                links.iter().zip(&outcome.links).for_each(|(link, outcome)| {
                    self.opened(link, outcome);
                });
            }
            _ => {}
        }
    }

    /// Returns the request of an act.
    fn words(&self, Link { account, act }: &Link) -> RequestWords {
        let key = self.accounts.get(*account).unwrap_or(&self.name);
        match act {
            ClientAct::Set { value } => words(&format!("SET {key} {value}")),
            ClientAct::Del => words(&format!("DEL {key}")),
            ClientAct::Read => words(&format!("GET {key}")),
            ClientAct::Get => views::get(key),
            ClientAct::Chain { links } => {
                let op = |link: &Link| Some((self.accounts[link.account].clone(), op(&link.act)?));
                words_of_chain(&links.iter().filter_map(op).collect())
            }
            act => op(act).map(|op| words_of(key, &op)).unwrap_or_default(),
        }
    }
}

/// Returns a chain that moves an amount from one account to another.
fn transfer(from: usize, to: usize, serial: u64, random: &mut Random) -> Link {
    let (id, amount) = (format!("m{serial}"), random.between(1, 200));
    let links = vec![
        Link { account: from, act: ClientAct::Debit { id: id.clone(), amount } },
        Link { account: to, act: ClientAct::Topup { id, amount } },
    ];
    Link { account: from, act: ClientAct::Chain { links } }
}

impl ActSource {
    fn act(&mut self, account: usize, random: &mut Random) -> ClientAct {
        self.serial += 1;
        let serial = self.serial;
        let turn = &mut self.sessions[account];
        let amount = random.between(1, 120);
        let session = turn.id.clone();
        match (random.below(20), session) {
            (0..4, _) => ClientAct::Topup { id: format!("t{serial}"), amount },
            (4..8, _) => ClientAct::Debit { id: format!("d{serial}"), amount },
            (8..11, _) => ClientAct::Get,
            (11..19, Some(id)) => {
                turn.number += 1;
                let used = random.between(0, 90);
                ClientAct::Update { id, number: turn.number, used, requested: amount }
            }
            (19, Some(id)) => {
                turn.id = None;
                // Some clients give it the number of the last UPDATE.
                let number = turn.number + u32::from(random.one_in(2));
                ClientAct::Terminate { id, number, used: amount }
            }
            _ => ClientAct::Reserve { id: format!("s{serial}"), number: 0, requested: amount },
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the command of an act that changes one account; None for other acts.
fn op(act: &ClientAct) -> Option<Op> {
    Some(match act {
        ClientAct::Topup { id, amount } => Op::topup(id, "b", *amount),
        ClientAct::Debit { id, amount } => Op::debit(id, "cent", *amount),
        ClientAct::Limit { id, amount } => Op::limit(id, "most", "cent", *amount, None),
        ClientAct::Reserve { id, number, requested } => {
            Request::new(id, *number).ask(1, "cent", *requested).reserve()
        }
        ClientAct::Update { id, number, used, requested } => {
            Request::new(id, *number).both(1, "cent", *used, *requested).update()
        }
        ClientAct::Terminate { id, number, used } => {
            Request::new(id, *number).used(1, "cent", *used).terminate()
        }
        ClientAct::Set { .. }
        | ClientAct::Del
        | ClientAct::Read
        | ClientAct::Get
        | ClientAct::Chain { .. } => return None,
    })
}

fn outcome(act: &ClientAct, reply: &Value) -> Result<Outcome> {
    if let Value::Error(error) = reply {
        let code = error.split(' ').next().unwrap_or_default().to_owned();
        return Ok(Outcome { code, ..Outcome::default() });
    }
    let number = |value: &Value| Ok::<i64, anyhow::Error>(i64::try_from(int(value)?)?);
    let ok = Outcome { code: "OK".to_owned(), ..Outcome::default() };
    Ok(match act {
        ClientAct::Set { .. } => Outcome { code: text(reply)?, ..ok },
        ClientAct::Del => Outcome { amount: Some(number(reply)?), ..ok },
        ClientAct::Read if *reply == Value::Nil => ok,
        ClientAct::Read => Outcome { value: Some(text(reply)?), ..ok },
        ClientAct::Get => {
            let account = views::account_of(reply)?;
            let [bucket] = account.buckets[..] else { bail!("not one bucket") };
            let limit = match account.limits[..] {
                [limit] => Some(limit),
                _ => None,
            };
            Outcome {
                amount: Some(bucket.available),
                held: Some(bucket.held),
                used: limit.map(|limit| limit.used),
                left: limit.map(|limit| limit.left),
                version: Some(i64::try_from(account.version)?),
                ..ok
            }
        }
        ClientAct::Topup { .. } | ClientAct::Debit { .. } | ClientAct::Limit { .. } => {
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
        ClientAct::Reserve { .. } | ClientAct::Update { .. } | ClientAct::Terminate { .. } => {
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
        ClientAct::Chain { links } => {
            let [code, replayed, denied, answers] = array(reply)? else { bail!("not four") };
            let pairs = links.iter().zip(array(answers)?);
            Outcome {
                code: text(code)?,
                replayed: Some(number(replayed)?),
                denied: Some(number(denied)?),
                links: pairs
                    .map(|(link, answer)| outcome(&link.act, answer))
                    .collect::<Result<_>>()?,
                ..ok
            }
        }
    })
}
