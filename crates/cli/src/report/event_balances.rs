//! Balances and sums of buckets as events tell them, from the begin of a store on.

use scurry_ship::Record;
use std::collections::{BTreeMap, BTreeSet};

/// Sums of one bucket or of one unit, in minor units, as SCUR.TOTALS has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) available: i128,
    pub(crate) held: i128,
    pub(crate) credited: i128,
    pub(crate) refunded: i128,
    pub(crate) consumed: i128,
    pub(crate) expired: i128,
    pub(crate) voided: i128,
}

impl Sums {
    /// Reports whether nothing was made and nothing is lost.
    pub(crate) fn conserves(&self) -> bool {
        let Sums { available, held, credited, refunded, consumed, expired, voided } = *self;
        available + held == credited + refunded - consumed - expired - voided
    }

    /// Adds the sums of another bucket.
    pub(crate) fn add(&mut self, other: &Sums) {
        self.available += other.available;
        self.held += other.held;
        self.credited += other.credited;
        self.refunded += other.refunded;
        self.consumed += other.consumed;
        self.expired += other.expired;
        self.voided += other.voided;
    }

    /// Adds a movement to the sums that it belongs to.
    fn add_movement(&mut self, event: &Record) {
        let amount = i128::from(event.amount.unwrap_or(0));
        match event.event.as_str() {
            "credited" => self.credited += amount,
            "voided" => self.voided += amount,
            "refunded" => self.refunded += amount,
            "refunded-expired" => {
                self.refunded += amount;
                self.expired += amount;
            }
            "debited" | "overdrawn" | "settled" => self.consumed += amount,
            "expired" | "released-expired" => self.expired += amount,
            _ => {}
        }
    }
}

/// A bucket as its events tell it.
#[derive(Clone, Debug, Default)]
struct SummedBucket {
    name: String,
    unit: String,
    sums: Sums,
    /// Available and held after the last event, as the event has them.
    told: (i64, i64),
}

/// The buckets that events tell of.
#[derive(Debug, Default)]
pub(crate) struct EventBalances {
    /// By account and number.
    buckets: BTreeMap<(String, u32), SummedBucket>,
    /// Accounts whose balances came from another store: no event has them.
    loaded: BTreeSet<String>,
}

impl EventBalances {
    /// Takes note of an event.
    pub(crate) fn see(&mut self, event: &Record) {
        match event.event.as_str() {
            "cleared" => *self = EventBalances::default(),
            "deleted" => {
                self.remove(&event.account);
                self.loaded.remove(&event.account);
            }
            "loaded" => {
                self.remove(&event.account);
                self.loaded.insert(event.account.clone());
            }
            _ => self.see_bucket(event),
        }
    }

    fn see_bucket(&mut self, event: &Record) {
        let Some(number) = event.bucket_no else { return };
        if self.loaded.contains(&event.account) {
            return;
        }
        let key = (event.account.clone(), number);
        if event.event == "bucket-removed" {
            self.buckets.remove(&key);
            return;
        }
        let bucket = self.buckets.entry(key).or_default();
        if let Some(unit) = event.unit.as_ref().filter(|unit| !unit.is_empty()) {
            bucket.unit.clone_from(unit);
            bucket.name.clone_from(event.bucket.as_ref().unwrap_or(unit));
        }
        let Some((change, held_change)) = event.change.zip(event.held_change) else { return };
        bucket.sums.available += i128::from(change);
        bucket.sums.held += i128::from(held_change);
        bucket.sums.add_movement(event);
        bucket.told = (event.available.unwrap_or(0), event.held.unwrap_or(0));
    }

    fn remove(&mut self, account: &str) {
        let own = (account.to_owned(), 0)..=(account.to_owned(), u32::MAX);
        let keys: Vec<(String, u32)> =
            self.buckets.range(own).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| {
            self.buckets.remove(key);
        });
    }

    /// Returns the sums of each unit.
    pub(crate) fn units(&self) -> BTreeMap<String, Sums> {
        let mut units: BTreeMap<String, Sums> = BTreeMap::new();
        for bucket in self.buckets.values() {
            units.entry(bucket.unit.clone()).or_default().add(&bucket.sums);
        }
        units
    }

    /// Returns in words what the events do not tell. Empty if they tell all balances.
    pub(crate) fn faults(&self) -> Vec<String> {
        let differs = |bucket: &SummedBucket| {
            let told = (i128::from(bucket.told.0), i128::from(bucket.told.1));
            (bucket.sums.available, bucket.sums.held) != told
        };
        let mut different = self.buckets.iter().filter(|(_, bucket)| differs(bucket));
        let mut faults = Vec::new();
        if let Some(((account, _), bucket)) = different.next() {
            faults.push(format!(
                "the movements of {} buckets do not add up to their balances, among them {} of {account}: events are \
                 missing",
                1 + different.count(),
                bucket.name
            ));
        }
        if let Some(account) = self.loaded.first() {
            faults.push(format!(
                "{} accounts came from another store by SCUR.LOAD, among them {account}: no event has their balances",
                self.loaded.len()
            ));
        }
        faults
    }

    /// Returns the number of buckets.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn movement(name: &str, amount: i64, effect: (i64, i64), told: (i64, i64)) -> Record {
        Record {
            event: name.to_owned(),
            account: "a".to_owned(),
            bucket: Some("main".to_owned()),
            bucket_no: Some(0),
            unit: Some("cent".to_owned()),
            amount: Some(amount),
            change: Some(effect.0 * amount),
            held_change: Some(effect.1 * amount),
            available: Some(told.0),
            held: Some(told.1),
            ..Record::default()
        }
    }

    fn all() -> Vec<Record> {
        vec![
            movement("credited", 100, (1, 0), (100, 0)),
            movement("reserved", 40, (-1, 1), (60, 40)),
            movement("settled", 10, (0, -1), (60, 30)),
            movement("released", 30, (1, -1), (90, 0)),
            movement("debited", 5, (-1, 0), (85, 0)),
            movement("refunded", 2, (1, 0), (87, 0)),
            movement("voided", 7, (-1, 0), (80, 0)),
            movement("refunded-expired", 3, (0, 0), (80, 0)),
            movement("expired", 80, (-1, 0), (0, 0)),
        ]
    }

    #[test]
    fn movements_add_up_to_the_sums() {
        let mut balances = EventBalances::default();
        all().iter().for_each(|event| balances.see(event));
        let sums = balances.units()["cent"];
        assert!(sums.conserves(), "{sums:?}");
        let found = (sums.credited, sums.refunded, sums.consumed, sums.expired, sums.voided);
        assert_eq!(found, (100, 5, 15, 83, 7));
        assert_eq!(balances.faults(), [""; 0]);
    }

    #[test]
    fn an_event_that_is_missing_is_noticed() {
        for missing in 0..all().len() {
            let mut balances = EventBalances::default();
            let mut events = all();
            let event = events.remove(missing);
            events.iter().for_each(|event| balances.see(event));
            // Without an effect on the balance, the event before it is the last one that tells.
            let is_noticed = event.event != "refunded-expired";
            let is_last = event.event == "expired";
            assert_eq!(balances.faults().len(), usize::from(is_noticed && !is_last), "{event:?}");
        }
    }

    #[test]
    fn what_is_gone_has_no_sums_and_a_loaded_account_is_told() {
        let other = |name: &str| Record {
            event: name.to_owned(),
            account: "a".to_owned(),
            ..Record::default()
        };
        for (name, faults) in [("deleted", 0), ("cleared", 0), ("loaded", 1)] {
            let mut balances = EventBalances::default();
            all().iter().for_each(|event| balances.see(event));
            balances.see(&other(name));
            assert_eq!((balances.len(), balances.faults().len()), (0, faults), "{name}");
        }
    }
}
