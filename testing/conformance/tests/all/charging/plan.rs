//! What is said of a script in a protocol, and the rules by which the rest goes over RESP.

use super::translate::{Item, Kind, Request, Why, changes, is, said};
use super::{ChargingDoor, Named, Said, ScriptCommand};
use scurry_ledger::Id;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Items of a command: rating group, unit, least grant.
type Terms = Vec<(Option<u32>, String, u64)>;

/// What is said of a script in a protocol. The terms that a command has beside its amounts are rows of the table of
/// services: each request has a context with rows for its items.
pub(super) struct Plan {
    requests: Vec<Said>,
    contexts: BTreeMap<(Terms, bool), String>,
    /// Transactions that are said, which may have another name there.
    transactions: BTreeSet<(Vec<u8>, Vec<u8>)>,
    /// Account that opens a session of this name first.
    opened_in: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Plan {
    pub(super) fn of<D: ChargingDoor>(commands: &[ScriptCommand<'_>]) -> Plan {
        let said = |command: &ScriptCommand<'_>| said(&command.words, command.expected);
        let mut requests: Vec<Said> = commands.iter().map(said).collect();
        D::restrict(&mut requests, commands);
        let mut plan = Plan {
            requests,
            contexts: BTreeMap::new(),
            transactions: BTreeSet::new(),
            opened_in: BTreeMap::new(),
        };
        // The door adds terms to a RESERVE: all of a session go one way.
        let mut other_reserves = BTreeSet::new();
        for (said, command) in plan.requests.iter().zip(commands) {
            let words = &command.words;
            if said.is_err() && is(words, "SCUR.RESERVE") && changes(command.expected) {
                other_reserves.insert((words.get(1), words.get(2)));
            }
        }
        let mut used = BTreeSet::new();
        for (at, ScriptCommand { words, .. }) in commands.iter().enumerate() {
            let is_said = plan.requests[at].is_ok();
            let session = (words.get(1), words.get(2));
            if let [_, account, name, ..] = &words[..]
                && is(words, "SCUR.RESERVE")
            {
                plan.opened_in.entry(name.clone()).or_insert_with(|| account.clone());
            }
            if is(words, "SCUR.RESERVE") && is_said && other_reserves.contains(&session) {
                plan.requests[at] = Err(Some("another RESERVE of its session has no form"));
            }
            plan.place(at);
            if let [_, account, txn, ..] = &words[..]
                && names_transaction(words)
            {
                let key = (account.clone(), txn.clone());
                let is_other = used.contains(&key);
                match &plan.requests[at] {
                    Ok(_) if is_other => {
                        plan.requests[at] = Err(Some("a transaction that has no form"));
                    }
                    Ok(request) if request.kind != Kind::Check => {
                        plan.transactions.insert(key);
                    }
                    Ok(_) => {}
                    Err(_) if plan.transactions.contains(&key) => {}
                    Err(_) => drop(used.insert(key)),
                }
            }
        }
        plan
    }

    /// Gives a request its context, if the debit that it may name has a form.
    fn place(&mut self, at: usize) {
        let Ok(request) = &mut self.requests[at] else { return };
        let debit = (request.account.clone().into_bytes(), request.debit.clone());
        if !request.debit.is_empty() && !self.transactions.contains(&debit) {
            self.requests[at] = Err(Some("REFUND of a debit that has no form"));
            return;
        }
        let terms = |item: &Item| (item.rating_group, item.unit.clone(), item.min);
        let key = (request.items.iter().map(terms).collect(), request.keeps_open);
        let next = format!("c{}@test", self.contexts.len());
        request.context = self.contexts.entry(key).or_insert(next).clone();
    }

    pub(super) fn request(&self, at: usize) -> Option<&Request> {
        self.requests[at].as_ref().ok()
    }

    pub(super) fn said(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().flatten()
    }

    /// Returns why commands of charging have no form.
    pub(super) fn unsaid(&self) -> impl Iterator<Item = Why> {
        self.requests.iter().filter_map(|said| said.as_ref().err().copied().flatten())
    }

    /// Returns a command over RESP, with the names that sessions and transactions have in the store.
    pub(super) fn renamed<D: ChargingDoor>(
        &self,
        client: &mut D,
        words: &[Vec<u8>],
    ) -> Vec<Vec<u8>> {
        let mut out = words.to_vec();
        let is_one_of =
            |names: &[&str]| names.iter().any(|name| is(words, &format!("SCUR.{name}")));
        let is_of_session = is_one_of(&["RESERVE", "UPDATE", "TERMINATE", "RELEASE", "SESSION"]);
        // FIND kind value SESSION name tells the account.
        let found = words.iter().position(|word| word.eq_ignore_ascii_case(b"SESSION"));
        let (account, at) = match found.filter(|_| is(words, "SCUR.FIND")) {
            Some(at) => (words.get(at + 1).and_then(|name| self.opened_in.get(name)), at + 1),
            None => (words.get(1).filter(|_| is_of_session), 2),
        };
        if let (Some(account), Some(name)) = (account, words.get(at))
            && Id::is_id(name)
        {
            out[at] = client.name(Named::Session, account, name).unwrap_or_else(|| name.clone());
        }
        let is_of_transactions = is_one_of(&["DEBIT", "REFUND", "TRANSACTION"]);
        for word in out.iter_mut().take(4).skip(2).filter(|_| is_of_transactions) {
            if self.transactions.contains(&(words[1].clone(), word.clone())) {
                let name = client.name(Named::Transaction, &words[1], word);
                *word = name.unwrap_or_else(|| word.clone());
            }
        }
        out
    }

    /// Returns the settings: a row for each item of each context. Sessions have the validity that the script's have.
    pub(super) fn settings(&self, validity_ms: i64) -> String {
        let validity_s = validity_ms / 1_000;
        let mut out = String::new();
        let any = [(None, "any".to_owned(), 1)];
        for ((terms, keeps_open), context) in &self.contexts {
            // A refund of a whole debit names no service.
            let terms = if terms.is_empty() { &any[..] } else { terms };
            for (rating_group, unit, min) in terms {
                let group = rating_group.map(|group| format!("rating_group = {group}\n"));
                let group = group.unwrap_or_default();
                let denied = if *keeps_open { "keep" } else { "refuse" };
                write!(
                    out,
                    "[[services]]\ncontext = '{context}'\n{group}measure = 'units'\n\
                     unit = '{unit}'\ngrant_min = {min}\ndenied_at_start = '{denied}'\n\
                     validity_s = {validity_s}\n"
                )
                .expect("memory");
            }
        }
        out
    }
}

/// Reports whether the third word of a command names a transaction.
pub(crate) fn names_transaction(words: &[Vec<u8>]) -> bool {
    let names = [
        "TOPUP",
        "ADJUST",
        "BUCKET",
        "DEBIT",
        "REFUND",
        "COUNTER",
        "LIMIT",
        "TRANSFER",
        "TRANSACTION",
    ];
    names.iter().any(|name| is(words, &format!("SCUR.{name}")))
}
