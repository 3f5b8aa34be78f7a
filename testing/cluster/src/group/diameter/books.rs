//! What clients were answered, by account: what the accounts must show in the end.

use anyhow::{Context, Result, bail, ensure};
use scurry_diameter_sim::load::{Answer, Kind, Part, Words};
use std::collections::BTreeMap;

const SUCCESS: u32 = 2001;
const CREDIT_LIMIT: u32 = 4012;
const UNKNOWN_SESSION: u32 = 5002;
const UNABLE: u32 = 5012;

/// What an account must show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) used: i64,
    pub(super) refunded: i64,
}

/// Sums of the load.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Requests that were answered, by kind.
    pub(super) answered: BTreeMap<&'static str, u64>,
    /// By Result-Code.
    pub(super) results: BTreeMap<u32, u64>,
    pub(super) begun: u64,
    pub(super) copies: u64,
    /// Copies that were sent beside a request that may well be answered, to the other door.
    pub(super) repeats: u64,
    /// Answers to requests that had one already.
    pub(super) answered_again: u64,
    pub(super) busy: u64,
    pub(super) abandoned: u64,
    pub(super) connections: u64,
    pub(super) suspects: u64,
    pub(super) failovers: u64,
    /// Longest time from the first copy to the answer, ms.
    pub(super) slowest_ms: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        for (kind, count) in other.answered {
            *self.answered.entry(kind).or_default() += count;
        }
        for (result, count) in other.results {
            *self.results.entry(result).or_default() += count;
        }
        self.begun += other.begun;
        self.copies += other.copies;
        self.repeats += other.repeats;
        self.answered_again += other.answered_again;
        self.busy += other.busy;
        self.abandoned += other.abandoned;
        self.connections += other.connections;
        self.suspects += other.suspects;
        self.failovers += other.failovers;
        self.slowest_ms = self.slowest_ms.max(other.slowest_ms);
    }
}

/// The books of one client, or of all.
#[derive(Debug, Default)]
pub(super) struct Books {
    accounts: BTreeMap<String, Expected>,
    /// Debits by their Refund-Information.
    debits: BTreeMap<Vec<u8>, i64>,
    pub(super) counts: Counts,
}

impl Books {
    pub(super) fn account(&self, account: &str) -> Expected {
        self.accounts.get(account).copied().unwrap_or_default()
    }

    /// Enters a request with its answer.
    ///
    /// # Errors
    /// An answer that a request must not get.
    pub(super) fn enter(&mut self, words: &Words, answer: &Answer) -> Result<()> {
        let account = words.account().context("a subscriber with an account")?;
        let account = String::from_utf8_lossy(&account).into_owned();
        let expected = self.accounts.entry(account).or_default();
        match (words.kind, answer.result) {
            (Kind::Initial, SUCCESS | CREDIT_LIMIT | UNABLE) => {}
            // Use that is reported after the end of its session is debited all the same.
            (Kind::Update, SUCCESS | UNKNOWN_SESSION)
            | (Kind::Termination, SUCCESS | UNKNOWN_SESSION)
            | (Kind::Settle, SUCCESS) => expected.used += words.used(),
            (Kind::Debit, SUCCESS) => {
                expected.used += words.asked();
                let information = answer.services.first().map(|service| service.refund.clone());
                self.debits.insert(information.unwrap_or_default(), words.asked());
            }
            (Kind::Debit, CREDIT_LIMIT) | (Kind::Check, SUCCESS) => {}
            (Kind::Refund, SUCCESS) => match self.debits.remove(words.refunded()) {
                Some(amount) => expected.refunded += amount,
                None => bail!("a refund of no debit: {words:?}"),
            },
            (_, result) => bail!("{result} for {words:?}"),
        }
        for service in &answer.services {
            let part = words.parts.iter().find(|part| part.rating_group == service.rating_group);
            let asked = part.map_or(0, Part::asked);
            ensure!(service.granted <= asked, "more than was asked: {words:?} {answer:?}");
        }
        let kind = match words.kind {
            Kind::Initial => "I",
            Kind::Update => "U",
            Kind::Termination => "T",
            Kind::Debit => "debit",
            Kind::Refund => "refund",
            Kind::Settle => "settle",
            Kind::Check => "check",
        };
        *self.counts.answered.entry(kind).or_default() += 1;
        *self.counts.results.entry(answer.result).or_default() += 1;
        Ok(())
    }

    /// Adds the books of a client. No two clients have a subscriber in common.
    pub(super) fn add(&mut self, other: Books) {
        self.accounts.extend(other.accounts);
        self.counts.add(other.counts);
    }
}
