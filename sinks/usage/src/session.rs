//! What is summed of a session, or of a command without one.

use crate::record::{BucketUsage, ItemUsage};
use scurry_ship::Record;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sums of a session that is open, since its begin or the end of its last period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenSession {
    /// When it began, ms since 1970 UTC; None if that was not read.
    pub(crate) opened: Option<i64>,
    /// When its last period ended.
    pub(crate) since: Option<i64>,
    /// Number of periods that have ended.
    pub(crate) parts: u32,
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) identities: BTreeMap<String, String>,
    pub(crate) sums: Sums,
}

impl OpenSession {
    /// Returns the session that this event begins.
    pub(crate) fn of(opened: &Record) -> OpenSession {
        OpenSession {
            opened: Some(opened.time_ms),
            data: opened.data.clone(),
            identities: opened.identities.clone(),
            ..OpenSession::default()
        }
    }

    /// Returns what an event of the session would say of it, at the position of another event.
    pub(crate) fn as_event(&self, (account, session): &(String, String), at: &Record) -> Record {
        Record {
            id: at.id.clone(),
            store: at.store.clone(),
            time_ms: at.time_ms,
            account: account.clone(),
            session: Some(session.clone()),
            data: self.data.clone(),
            identities: self.identities.clone(),
            ..Record::default()
        }
    }
}

/// Amounts by item and unit, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sums(pub(crate) Vec<ItemUsage>);

impl Sums {
    /// Adds what an event moved.
    pub(crate) fn add(&mut self, event: &Record) {
        let amount = event.amount.unwrap_or(0);
        match event.event.as_str() {
            "settled" | "debited" | "overdrawn" | "refunded" | "refunded-expired" => {
                self.bucket(event).used += amount;
                self.item(event).used += amount;
            }
            "reserved" => {
                self.bucket(event).granted += amount;
                self.item(event).granted += amount;
            }
            "uncollected" => self.item(event).uncollected += amount,
            "late-use" => self.item(event).uncollected += event.uncollected.unwrap_or(0),
            "denied" => self.item(event).denied += 1,
            _ => {}
        }
    }

    fn item(&mut self, event: &Record) -> &mut ItemUsage {
        let unit = event.unit.as_deref().unwrap_or_default();
        let is_it = |of: &ItemUsage| of.item == event.item && of.unit == unit;
        let place = self.0.iter().position(is_it).unwrap_or_else(|| {
            let (item, unit) = (event.item.clone(), unit.to_owned());
            self.0.push(ItemUsage { item, unit, ..ItemUsage::default() });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    fn bucket(&mut self, event: &Record) -> &mut BucketUsage {
        let bucket_no = event.bucket_no.unwrap_or_default();
        let buckets = &mut self.item(event).buckets;
        let known = buckets.iter().position(|of| of.bucket_no == bucket_no);
        let place = known.unwrap_or_else(|| {
            let bucket = event.bucket.clone().unwrap_or_default();
            buckets.push(BucketUsage { bucket, bucket_no, ..BucketUsage::default() });
            buckets.len() - 1
        });
        &mut buckets[place]
    }
}
