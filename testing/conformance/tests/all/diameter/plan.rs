//! What is said in Diameter of a script, and the rules by which the rest goes over RESP.

use super::translate::{Item, Request, Why, changes, is, said};
use scurry_conformance::Pattern;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Items of a command: rating group, unit, least grant.
type Terms = Vec<(Option<u32>, String, u64)>;

/// What is said in Diameter of a script. The terms that a command has beside its amounts are rows of the table of services:
/// each request has a context with rows for its items.
pub(super) struct Plan {
    requests: Vec<Result<Request, Option<Why>>>,
    contexts: BTreeMap<(Terms, bool), String>,
    /// Transactions that Diameter gives another name.
    renamed: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

impl Plan {
    pub(super) fn of<'a>(commands: impl Iterator<Item = (&'a [Vec<u8>], &'a Pattern)>) -> Plan {
        let commands: Vec<_> = commands.collect();
        let mut plan =
            Plan { requests: Vec::new(), contexts: BTreeMap::new(), renamed: BTreeSet::new() };
        // The door adds terms to a RESERVE: all of a session go one way. Their DATA is the door's.
        let (mut other_reserves, mut read_data) = (BTreeSet::new(), BTreeSet::new());
        for (words, expected) in &commands {
            let said = said(words, expected);
            let session = (words.get(1), words.get(2));
            if said.is_err() && is(words, "SCUR.RESERVE") && changes(expected) {
                other_reserves.insert(session);
            }
            if is(words, "SCUR.SESSION") && has_key(expected, b"data") {
                read_data.insert(session);
            }
            plan.requests.push(said);
        }
        let mut used = BTreeSet::new();
        for (at, (words, _)) in commands.iter().enumerate() {
            let session = (words.get(1), words.get(2));
            if is(words, "SCUR.RESERVE") && plan.requests[at].is_ok() {
                if other_reserves.contains(&session) {
                    plan.requests[at] = Err(Some("another RESERVE of its session has no form"));
                } else if read_data.contains(&session) {
                    plan.requests[at] = Err(Some("the DATA of its session is read"));
                }
            }
            plan.place(at);
            if let [_, account, txn, ..] = words
                && names_transaction(words)
            {
                let key = (account.clone(), txn.clone());
                let is_other = used.contains(&key);
                match &plan.requests[at] {
                    Ok(_) if is_other => {
                        plan.requests[at] = Err(Some("a transaction that has no form"));
                    }
                    Ok(request) if !request.is_check() => drop(plan.renamed.insert(key)),
                    Ok(_) => {}
                    Err(_) if plan.renamed.contains(&key) => {}
                    Err(_) => drop(used.insert(key)),
                }
            }
        }
        plan
    }

    /// Gives a request its context, and a refund the name of its debit.
    fn place(&mut self, at: usize) {
        let Ok(request) = &mut self.requests[at] else { return };
        if !request.debit.is_empty() {
            let key = (request.account.clone().into_bytes(), request.debit.clone());
            if !self.renamed.contains(&key) {
                self.requests[at] = Err(Some("REFUND of a debit that has no form"));
                return;
            }
            request.debit.extend_from_slice(b"/0");
        }
        let terms = |item: &Item| (item.rating_group, item.unit.clone(), item.min);
        let key = (request.items.iter().map(terms).collect(), request.keeps_open);
        let next = format!("c{}@test", self.contexts.len());
        request.context = self.contexts.entry(key).or_insert(next).clone();
    }

    pub(super) fn request(&self, at: usize) -> Option<&Request> {
        self.requests[at].as_ref().ok()
    }

    pub(super) fn said(&self) -> usize {
        self.requests.iter().flatten().count()
    }

    /// Returns why commands of charging have no form.
    pub(super) fn unsaid(&self) -> impl Iterator<Item = Why> {
        self.requests.iter().filter_map(|said| said.as_ref().err().copied().flatten())
    }

    /// Returns a command over RESP, with the names of transactions that Diameter gives.
    pub(super) fn renamed(&self, words: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut out = words.to_vec();
        let is_of_transactions = ["DEBIT", "REFUND", "TRANSACTION"]
            .iter()
            .any(|name| is(words, &format!("SCUR.{name}")));
        for word in out.iter_mut().take(4).skip(2).filter(|_| is_of_transactions) {
            if self.renamed.contains(&(words[1].clone(), word.clone())) {
                word.extend_from_slice(b"/0");
            }
        }
        out
    }

    /// Returns the settings: a row for each item of each context. Sessions have the validity that the script's have.
    pub(super) fn settings(&self, validity_ms: i64) -> String {
        let validity_s = validity_ms / 1_000;
        let mut out = String::from("[[subscribers]]\ntype = 'private'\naccount = '{}'\n");
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
fn names_transaction(words: &[Vec<u8>]) -> bool {
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

/// Reports whether the expected result has an entry with this key.
fn has_key(expected: &Pattern, key: &[u8]) -> bool {
    match expected {
        Pattern::Map(entries, _) => {
            entries.iter().any(|(name, value)| name == key || has_key(value, key))
        }
        _ => false,
    }
}
