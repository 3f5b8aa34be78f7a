//! The charging part of a scenario: the loop of business operations and their amounts.

use anyhow::{Result, ensure};
use scurry_ledger::{Command, Name};
use scurry_service::Request;
use serde::Deserialize;

use crate::requests::{self, SessionAt};

/// Charging loop.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charging {
    /// Unit of every amount.
    #[serde(deserialize_with = "super::name")]
    pub unit: Name,
    /// Rating group of the one item of a session.
    pub item_key: u32,
    /// Units that RESERVE and UPDATE request.
    pub requested: i64,
    /// Units that an UPDATE reports as used.
    pub used_update: i64,
    /// Units that TERMINATE reports as used.
    pub used_terminate: i64,
    /// False to skip the SESSION read of the last phase.
    pub last_session: bool,
    /// True when no two sessions use one account at the same time.
    #[serde(default)]
    pub alone: bool,
    /// Every account whose number divides by this has no credit, so that its sessions are denied; 0 for none.
    #[serde(default)]
    pub without_credit: u32,
    /// Counters of every account.
    #[serde(default)]
    pub counters: u32,
    /// Buckets of every account.
    pub bucket: Vec<Bucket>,
    /// Phases of the loop.
    pub phase: Vec<Phase>,
}

/// Bucket of every account.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Id of the bucket.
    #[serde(deserialize_with = "super::name")]
    pub id: Name,
    /// First credit of the bucket.
    pub amount: i64,
    /// Priority of the bucket; the lowest burns first.
    pub priority: i32,
    /// Number of such buckets, numbered after their id; the id has no number where it is 1.
    #[serde(default = "super::one")]
    pub count: u32,
}

impl Bucket {
    /// Returns the ids of the buckets; one that is too long is empty, and refused.
    fn ids(&self) -> Vec<Name> {
        let numbered = |number| {
            let id = format!("{}{number:02}", self.id.as_str());
            Name::new(id.as_bytes()).unwrap_or(Name::EMPTY)
        };
        match self.count {
            1 => vec![self.id],
            count => (1..=count).map(numbered).collect(),
        }
    }
}

/// Phase of a session.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Name of the phase.
    pub name: String,
    /// Business operations of a session, in order.
    pub operations: Vec<Operation>,
    /// Number of times that the operations are repeated.
    #[serde(default = "super::one")]
    pub repeat: u32,
}

/// Business operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// Reads the account.
    Get,
    /// Opens the session.
    Reserve,
    /// Reads session and account.
    Session,
    /// Settles and grants.
    Update,
    /// Settles and closes.
    Terminate,
}

impl Operation {
    /// Returns the command's name without its prefix.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Get => "GET",
            Operation::Reserve => "RESERVE",
            Operation::Session => "SESSION",
            Operation::Update => "UPDATE",
            Operation::Terminate => "TERMINATE",
        }
    }

    /// Reports whether the operation carries a request number.
    pub fn writes(self) -> bool {
        !matches!(self, Operation::Get | Operation::Session)
    }
}

impl Charging {
    /// Returns the business operations of one session, in order.
    pub fn operations(&self) -> Vec<Operation> {
        let rounds = |phase: &Phase| phase.operations.repeat(phase.repeat as usize);
        let mut all: Vec<Operation> = self.phase.iter().flat_map(rounds).collect();
        if !self.last_session {
            let last = all.iter().rposition(|operation| *operation == Operation::Session);
            // Only a read directly before the last write is left out.
            if let Some(at) = last.filter(|at| at + 2 == all.len()) {
                all.remove(at);
            }
        }
        all
    }

    /// Returns the request of an operation; `at` is the session, with the number of the request.
    pub fn request(&self, operation: Operation, at: &SessionAt<'_>) -> Request {
        match operation {
            Operation::Get => requests::get(at.account),
            Operation::Session => at.read(),
            Operation::Reserve => at.reserve(self.requested),
            Operation::Update => at.update(self.used_update, self.requested),
            Operation::Terminate => at.terminate(self.used_terminate),
        }
    }

    /// Returns a session of the loop; `number` is that of its next request.
    pub fn at<'a>(&self, account: &'a [u8], session: &'a [u8], number: u32) -> SessionAt<'a> {
        SessionAt { account, session, number, key: self.item_key, unit: self.unit }
    }

    /// Reports whether the account of this number has credit.
    pub fn has_credit(&self, account: u32) -> bool {
        self.without_credit == 0 || !account.is_multiple_of(self.without_credit)
    }

    /// Returns the CREATE of an account, with credit or with empty buckets.
    pub fn create(&self, account: &[u8], has_credit: bool) -> Request {
        let buckets = self.bucket.iter().flat_map(|bucket| {
            let amount = if has_credit { bucket.amount } else { 0 };
            let ids = bucket.ids().into_iter();
            ids.map(move |id| requests::bucket(id, self.unit, amount, Some(bucket.priority)))
        });
        requests::create(account, &buckets.collect::<Vec<_>>())
    }

    /// Returns the COUNTERs of an account, one for each of its counters.
    pub fn create_counters(&self, account: &[u8]) -> Vec<Request> {
        let counter = |number: u32| {
            let (txn, id) = (format!("counter{number:02}"), format!("c{number:02}"));
            let command = Command::Counter {
                txn: txn.as_bytes(),
                counter: Name::new(id.as_bytes()).unwrap_or(Name::EMPTY),
                amount: 1,
                unit: Some(self.unit),
                period: None,
                clock: scurry_ledger::PeriodClock::NONE,
            };
            Request::write(account, &command)
        };
        (1..=self.counters).map(counter).collect()
    }

    /// Returns the units that one account is credited at its creation.
    pub fn credited_per_account(&self) -> i64 {
        let of = |bucket: &Bucket| bucket.amount.saturating_mul(i64::from(bucket.count));
        self.bucket.iter().map(of).fold(0, i64::saturating_add)
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(self.phase.iter().all(|phase| phase.repeat <= 100), "repeat is above 100");
        let operations = self.operations();
        let writes: Vec<Operation> = operations.iter().copied().filter(|o| o.writes()).collect();
        ensure!(
            writes.first() == Some(&Operation::Reserve)
                && operations.last() == Some(&Operation::Terminate)
                && writes[1..writes.len() - 1].iter().all(|o| *o == Operation::Update),
            "the loop must open with RESERVE, end with TERMINATE and write only UPDATE between"
        );
        let reserve = operations.iter().position(|o| *o == Operation::Reserve);
        let session = operations.iter().position(|o| *o == Operation::Session);
        ensure!(session.is_none() || session > reserve, "SESSION stands before RESERVE");
        ensure!(operations.len() <= 100, "the loop has more than 100 operations");
        let buckets: u32 = self.bucket.iter().map(|bucket| bucket.count).sum();
        ensure!((1..=64).contains(&buckets), "an account needs a bucket, and has 64 at most");
        let mut ids = self.bucket.iter().flat_map(Bucket::ids);
        ensure!(ids.all(|id| id != Name::EMPTY), "the id of a bucket is too long for its number");
        ensure!(self.counters <= 32, "an account has 32 counters at most");
        ensure!(self.requested >= 1, "requested must be at least 1");
        ensure!(self.used_update >= 0 && self.used_terminate >= 0, "used is negative");
        ensure!(
            self.bucket.iter().all(|bucket| bucket.amount >= 0),
            "a bucket's amount is negative"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn the_loop_has_eight_operations_or_seven() {
        let mut charging = Scenario::built_in("moaf-scur").unwrap().charging.unwrap();
        assert_eq!(charging.operations().len(), 8);
        charging.last_session = false;
        let names: Vec<&str> = charging.operations().into_iter().map(Operation::name).collect();
        assert_eq!(
            names,
            ["GET", "RESERVE", "SESSION", "UPDATE", "SESSION", "UPDATE", "TERMINATE"]
        );
    }

    #[test]
    fn the_arguments_are_those_of_the_grammar() {
        let charging = Scenario::built_in("moaf-scur").unwrap().charging.unwrap();
        let words = |operation| {
            let request = charging.request(operation, &charging.at(b"a", b"s1", 2));
            let arguments = request.arguments();
            let words: Vec<&str> =
                arguments.iter().map(|word| std::str::from_utf8(word).unwrap()).collect();
            words.join(" ")
        };
        assert_eq!(words(Operation::Get), "SCUR.GET a");
        assert_eq!(words(Operation::Session), "SCUR.SESSION a s1");
        assert_eq!(words(Operation::Reserve), "SCUR.RESERVE a s1 2 ITEM 1 octets REQUESTED 1000");
        assert_eq!(
            words(Operation::Update),
            "SCUR.UPDATE a s1 2 ITEM 1 octets USED 900 REQUESTED 1000"
        );
        assert_eq!(words(Operation::Terminate), "SCUR.TERMINATE a s1 2 ITEM 1 octets USED 700");
        assert_eq!(charging.credited_per_account(), 2_000_000_000_000);
    }
}
