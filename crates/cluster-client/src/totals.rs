//! The totals of a store in the form of exports: reads them from one server or summed over all nodes of a cluster, and
//! compares two of them.

use crate::decode_store::totals;
use crate::{ClientError, Node};
use redis::{Value, cmd};
use scurry_ledger as ledger;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The sums of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Accounts that exist.
    pub accounts: u64,
    /// Open sessions.
    pub sessions: u64,
    /// Sums by the name of the unit.
    pub units: BTreeMap<String, Sums>,
}

/// The sums of a unit, minor units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Units that can be granted or debited; negative when overdrawn or on credit.
    pub available: i128,
    /// Units held by sessions.
    pub held: i128,
    /// Units credited.
    pub credited: i128,
    /// Units given back by refunds.
    pub refunded: i128,
    /// Units debited.
    pub consumed: i128,
    /// Units left in buckets when they expired.
    pub expired: i128,
    /// Units removed by negative adjustments.
    pub voided: i128,
    /// Units debited below the floor; a part of the consumed units.
    pub overdrawn: i128,
    /// Use that was not debited.
    pub uncollected: i128,
}

impl Totals {
    /// Reads the sums over the accounts of this node.
    pub fn of(node: &mut Node) -> Result<Totals, ClientError> {
        let reply = node.ask(&cmd("SCUR.TOTALS"))?;
        Totals::read(&reply).ok_or_else(|| ClientError::Totals(node.address().text().to_owned()))
    }

    /// Parses a reply of RESP2 or RESP3. None when it has another shape.
    pub fn read(reply: &Value) -> Option<Totals> {
        totals(reply).as_ref().map(Totals::from)
    }

    /// Reads and adds the sums of all these nodes.
    pub fn of_all(nodes: &mut [Node]) -> Result<Totals, ClientError> {
        let mut all = Totals::default();
        for node in nodes {
            all.add(&Totals::of(node)?);
        }
        Ok(all)
    }

    /// Adds the sums of other accounts.
    pub fn add(&mut self, other: &Totals) {
        self.accounts += other.accounts;
        self.sessions += other.sessions;
        for (unit, sums) in &other.units {
            let own = self.units.entry(unit.clone()).or_default();
            for (own, other) in own.all_mut().into_iter().zip(sums.all()) {
                *own += other;
            }
        }
    }

    /// Describes a difference to earlier totals that time alone cannot explain; holds are released and buckets expire
    /// by themselves. None when the totals are consistent.
    pub fn changed_since(&self, before: &Totals) -> Option<String> {
        self.contradicts(before).or_else(|| {
            if self.sessions > before.sessions {
                return Some(format!(
                    "sessions: {} before, {} now",
                    before.sessions, self.sessions
                ));
            }
            self.units.iter().find_map(|(unit, now)| {
                let before = before.units.get(unit)?;
                (now.held > before.held)
                    .then(|| format!("{unit} held: {} before, {} now", before.held, now.held))
            })
        })
    }

    /// Describes a difference between two totals of the same accounts that is impossible without a command in between.
    /// None when the totals are consistent.
    pub fn contradicts(&self, other: &Totals) -> Option<String> {
        if self.accounts != other.accounts {
            return Some(format!("accounts: {} and {}", other.accounts, self.accounts));
        }
        let none = Sums::default();
        let units = self.units.keys().chain(other.units.keys());
        units.into_iter().find_map(|unit| {
            let sums = |totals: &Totals| totals.units.get(unit).unwrap_or(&none).lasting();
            let (ours, theirs) = (sums(self), sums(other));
            let wrong = ours.iter().zip(theirs).find(|(ours, theirs)| ours.1 != theirs.1)?;
            Some(format!("{unit} {}: {} and {}", wrong.0.0, wrong.1.1, wrong.0.1))
        })
    }
}

impl Sums {
    /// Returns the sums that time alone does not change, with their names.
    fn lasting(&self) -> [(&'static str, i128); 7] {
        [
            ("credited", self.credited),
            ("refunded", self.refunded),
            ("consumed", self.consumed),
            ("voided", self.voided),
            ("overdrawn", self.overdrawn),
            ("uncollected", self.uncollected),
            ("available + held + expired", self.available + self.held + self.expired),
        ]
    }

    fn all(&self) -> [i128; 9] {
        [
            self.available,
            self.held,
            self.credited,
            self.refunded,
            self.consumed,
            self.expired,
            self.voided,
            self.overdrawn,
            self.uncollected,
        ]
    }

    fn all_mut(&mut self) -> [&mut i128; 9] {
        [
            &mut self.available,
            &mut self.held,
            &mut self.credited,
            &mut self.refunded,
            &mut self.consumed,
            &mut self.expired,
            &mut self.voided,
            &mut self.overdrawn,
            &mut self.uncollected,
        ]
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accounts {}, sessions {}", self.accounts, self.sessions)?;
        for (unit, sums) in &self.units {
            write!(
                f,
                "\n  {unit}: available {}, held {}, credited {}, consumed {}, expired {}",
                sums.available, sums.held, sums.credited, sums.consumed, sums.expired
            )?;
        }
        Ok(())
    }
}

impl From<&ledger::Totals> for Totals {
    fn from(totals: &ledger::Totals) -> Totals {
        let units = totals.units.iter().map(|unit| {
            let sums = Sums {
                available: unit.available,
                held: unit.held,
                credited: unit.credited,
                refunded: unit.refunded,
                consumed: unit.consumed,
                expired: unit.expired,
                voided: unit.voided,
                overdrawn: unit.overdrawn,
                uncollected: unit.uncollected,
            };
            (unit.unit.as_str().to_owned(), sums)
        });
        Totals { accounts: totals.accounts, sessions: totals.sessions, units: units.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(available: i128, held: i128, consumed: i128, sessions: u64) -> Totals {
        let sums = Sums { available, held, consumed, credited: 100, ..Sums::default() };
        Totals { accounts: 1, sessions, units: BTreeMap::from([("cent".to_owned(), sums)]) }
    }

    #[test]
    fn time_may_give_holds_back_and_commands_are_noticed() {
        let before = totals(80, 10, 10, 1);
        assert_eq!(before.changed_since(&before), None);
        assert_eq!(totals(90, 0, 10, 0).changed_since(&before), None, "a hold went back");
        let noticed = |now: Totals, word: &str| {
            let change = now.changed_since(&before).expect("it is noticed");
            assert!(change.contains(word), "{change}");
        };
        noticed(totals(70, 10, 20, 1), "consumed");
        noticed(totals(70, 20, 10, 1), "held");
        noticed(totals(80, 10, 10, 2), "sessions");
        noticed(Totals { accounts: 2, ..before.clone() }, "accounts");
        noticed(Totals { units: BTreeMap::new(), ..before.clone() }, "cent credited: 100 and 0");
        // Between two stores neither total is earlier.
        assert_eq!(before.contradicts(&totals(90, 0, 10, 0)), None);
        assert_eq!(totals(90, 0, 10, 0).contradicts(&before), None);
        assert!(totals(81, 10, 10, 1).contradicts(&before).is_some());
    }

    #[test]
    fn sums_that_are_wider_than_a_reply_are_understood() {
        let wide = "170141183460469231731687303715884105727";
        let mut amounts = vec![Value::BulkString(b"cent".to_vec())];
        amounts.push(Value::BulkString(wide.into()));
        amounts.extend((0..9).map(Value::Int));
        let reply = Value::Array(vec![
            Value::BulkString(b"accounts".to_vec()),
            Value::Int(3),
            Value::BulkString(b"sessions".to_vec()),
            Value::Int(2),
            Value::BulkString(b"units".to_vec()),
            Value::Array(vec![Value::Array(amounts)]),
        ]);
        let totals = Totals::read(&reply).expect("totals");
        assert_eq!((totals.accounts, totals.sessions), (3, 2));
        let sums = &totals.units["cent"];
        assert_eq!((sums.available, sums.uncollected), (i128::MAX, 7));
        let json = serde_json::to_string(&totals).expect("text");
        assert_eq!(serde_json::from_str::<Totals>(&json).expect("totals"), totals);
    }
}
