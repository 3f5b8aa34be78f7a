//! What clients were answered, by account: what the accounts must show in the end.

use anyhow::{Context, Result, bail, ensure};
use scurry_diameter_sim::load::{Answer, Kind, Part, Words};
use scurry_service::AuditView;
use std::collections::BTreeMap;

const SUCCESS: u32 = 2001;
pub(super) const CREDIT_LIMIT: u32 = 4012;
const UNKNOWN_SESSION: u32 = 5002;
const UNABLE: u32 = 5012;

/// What an account must show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) used: i64,
    /// Most that may be debited beyond it: use of which no answer tells.
    pub(super) unknown: i64,
    pub(super) refunded: i64,
}

impl Expected {
    /// Compares an account that had this credit with what its clients were answered.
    ///
    /// # Errors
    /// If units were debited that no client was told of, or the reverse; if a hold is left, or units are lost or made.
    pub(super) fn compare(self, view: &AuditView, credit: i64) -> Result<()> {
        let [bucket] = &view.buckets[..] else { bail!("it has {view:?}") };
        let what = || format!("{bucket:?}, clients say {self:?}");
        let used = self.used..=self.used + self.unknown;
        ensure!(used.contains(&bucket.consumed), "debited is not what was answered: {}", what());
        ensure!(bucket.refunded == self.refunded, "refunds differ: {}", what());
        ensure!(bucket.held == 0 && view.uncollected.is_empty(), "a hold is left: {}", what());
        ensure!(bucket.credited == credit, "it had {credit}: {}", what());
        let left = bucket.credited + bucket.refunded - bucket.consumed;
        ensure!(bucket.available == left, "units are lost or made: {}", what());
        Ok(())
    }
}

/// Sums of the load.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Requests that were answered, by kind.
    pub(super) answered: BTreeMap<&'static str, u64>,
    /// By what the protocol calls the result.
    pub(super) results: BTreeMap<String, u64>,
    /// Use of which no answer tells whether it was debited.
    pub(super) unknown: i64,
    pub(super) begun: u64,
    pub(super) copies: u64,
    /// Copies that were sent beside a request that may well be answered, to the other door.
    pub(super) repeats: u64,
    /// Answers to requests that had one already.
    pub(super) answered_again: u64,
    /// Copies of them that opened a session of their own, by the rules of the protocol.
    pub(super) twice_opened: u64,
    pub(super) busy: u64,
    pub(super) abandoned: u64,
    pub(super) connections: u64,
    pub(super) suspects: u64,
    /// Connections that the client cut in the middle of a stream, and requests that were under way there.
    pub(super) cuts: u64,
    pub(super) cut_off: u64,
    pub(super) failovers: u64,
    /// Most copies of a client that were without an answer at the same time.
    pub(super) under_way_max: usize,
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
        self.unknown += other.unknown;
        self.begun += other.begun;
        self.copies += other.copies;
        self.repeats += other.repeats;
        self.answered_again += other.answered_again;
        self.twice_opened += other.twice_opened;
        self.busy += other.busy;
        self.abandoned += other.abandoned;
        self.connections += other.connections;
        self.suspects += other.suspects;
        self.cuts += other.cuts;
        self.cut_off += other.cut_off;
        self.failovers += other.failovers;
        self.under_way_max = self.under_way_max.max(other.under_way_max);
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
    pub(super) fn enter(&mut self, words: &Words, answer: &Answer, label: &str) -> Result<()> {
        let account = words.account().context("a subscriber with an account")?;
        let account = String::from_utf8_lossy(&account).into_owned();
        let expected = self.accounts.entry(account).or_default();
        match (words.kind, answer.result) {
            (Kind::Initial, SUCCESS | CREDIT_LIMIT) => expected.used += words.used(),
            // The session has ended before this copy came. The first one may have done a part.
            (Kind::Initial, UNABLE) => {
                expected.unknown += words.used();
                self.counts.unknown += words.used();
            }
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
            (_, result) => bail!("{result} ({label}) for {words:?}"),
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
        *self.counts.results.entry(label.to_owned()).or_default() += 1;
        Ok(())
    }

    /// Adds the books of a client. No two clients have a subscriber in common.
    pub(super) fn add(&mut self, other: Books) {
        self.accounts.extend(other.accounts);
        self.counts.add(other.counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_diameter_sim::load::{Quantity, ServiceAnswer, Subscriber};
    use scurry_ledger::Name;
    use scurry_service::BucketTotals;

    const ACCOUNT: &str = "imsi-1";

    fn words(kind: Kind, octets: i64) -> Words {
        let octets = Some(Quantity::Octets(octets));
        let (used, asked) = if kind == Kind::Debit { (None, octets) } else { (octets, None) };
        Words {
            host: "smf".to_owned(),
            subscriber: Subscriber::Imsi("1".to_owned()),
            session: "s".to_owned(),
            kind,
            number: 1,
            parts: vec![Part { rating_group: 10, used, asked, ..Part::default() }],
            refund: Vec::new(),
        }
    }

    fn answer(result: u32) -> Answer {
        Answer { result, ..Answer::default() }
    }

    fn view(consumed: i64, held: i64) -> AuditView {
        let name = |text: &str| Name::new(text.as_bytes()).expect("a name");
        let bucket = BucketTotals {
            id: name("main"),
            unit: name("octet"),
            available: 1_000 - consumed - held,
            held,
            credited: 1_000,
            refunded: 0,
            consumed,
            expired: 0,
            voided: 0,
            overdrawn: 0,
        };
        AuditView { ok: true, version: 1, buckets: vec![bucket], uncollected: Vec::new() }
    }

    #[test]
    fn an_account_must_show_what_was_answered_and_nothing_else() {
        let mut books = Books::default();
        for (kind, octets, result) in [
            (Kind::Update, 100, SUCCESS),
            (Kind::Update, 10, UNKNOWN_SESSION),
            (Kind::Termination, 20, SUCCESS),
            (Kind::Settle, 5, SUCCESS),
            (Kind::Debit, 7, SUCCESS),
            (Kind::Debit, 900, CREDIT_LIMIT),
            (Kind::Initial, 4, SUCCESS),
            (Kind::Initial, 6, CREDIT_LIMIT),
            (Kind::Initial, 3, UNABLE),
        ] {
            books.enter(&words(kind, octets), &answer(result), "label").expect("it may be");
        }
        let expected = books.account(ACCOUNT);
        assert_eq!(expected, Expected { used: 152, unknown: 3, refunded: 0 });
        for consumed in 152..=155 {
            expected.compare(&view(consumed, 0), 1_000).expect("as answered");
        }
        for (wrong, why) in [
            (view(156, 0), "debited is not what was answered"),
            (view(151, 0), "debited is not what was answered"),
            (view(152, 1), "a hold is left"),
        ] {
            let error = expected.compare(&wrong, 1_000).expect_err("it is wrong").to_string();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn answers_that_a_request_must_not_get_are_found() {
        for (kind, result) in [
            (Kind::Update, CREDIT_LIMIT),
            (Kind::Update, UNABLE),
            (Kind::Termination, UNABLE),
            (Kind::Settle, CREDIT_LIMIT),
            (Kind::Debit, UNABLE),
        ] {
            let entered = Books::default().enter(&words(kind, 1), &answer(result), "label");
            assert!(entered.is_err(), "{kind:?} {result}");
        }
        let granted = ServiceAnswer { rating_group: 10, granted: 8, ..ServiceAnswer::default() };
        let answer = Answer { services: vec![granted], ..answer(SUCCESS) };
        assert!(Books::default().enter(&words(Kind::Debit, 7), &answer, "label").is_err());
    }
}
