//! What a statement knows of one account: its entries in the period, and the balances around them.

use super::answer::Value;
use super::denied::meaning;
use super::period::Period;
use scurry_ship::Record;
use std::collections::BTreeMap;

/// Columns of a statement.
pub(crate) const COLUMNS: [&str; 17] = [
    "account",
    "time",
    "event",
    "bucket",
    "unit",
    "amount",
    "change",
    "held_change",
    "available",
    "held",
    "session",
    "transaction",
    "item",
    "requested",
    "code",
    "cause",
    "meaning",
];

/// A bucket around the period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StatementBucket {
    name: String,
    unit: String,
    /// Sums of what the period added to available and held.
    change: (i64, i64),
    /// Available and held after the last movement of the period.
    last: Option<(i64, i64)>,
    /// Available and held before the period. None if no event tells it.
    before: Option<(i64, i64)>,
}

impl StatementBucket {
    fn opening(&self) -> Option<(i64, i64)> {
        // The balances of a movement are those after its commit, which may have several.
        let told = self.last.map(|last| (last.0 - self.change.0, last.1 - self.change.1));
        told.or(self.before)
    }

    fn closing(&self) -> Option<(i64, i64)> {
        self.last.or(self.before)
    }
}

/// The statement of one account.
#[derive(Debug, Default)]
pub(crate) struct AccountStatement {
    buckets: BTreeMap<u32, StatementBucket>,
    entries: Vec<Vec<Value>>,
    /// Whether its balances came from another store in the period, so that no event has the opening ones.
    was_loaded: bool,
}

impl AccountStatement {
    /// Takes note of an event before the end of the period. Returns the number of entries that it added.
    pub(crate) fn see(&mut self, event: &Record, period: &Period) -> usize {
        let is_in_period = period.has(event.time_ms);
        match event.event.as_str() {
            "loaded" | "deleted" => {
                self.was_loaded |= is_in_period && event.event == "loaded";
                if !is_in_period || event.event == "loaded" {
                    self.buckets.clear();
                }
            }
            "bucket-removed" if !is_in_period => {
                event.bucket_no.map(|number| self.buckets.remove(&number));
            }
            _ => self.see_bucket(event, is_in_period),
        }
        if is_in_period {
            self.entries.push(row(event, period));
        }
        usize::from(is_in_period)
    }

    fn see_bucket(&mut self, event: &Record, is_in_period: bool) {
        let Some(number) = event.bucket_no else { return };
        let bucket = self.buckets.entry(number).or_default();
        if let Some(name) = event.bucket.as_ref().filter(|name| !name.is_empty()) {
            bucket.name.clone_from(name);
            bucket.unit = event.unit.clone().unwrap_or_default();
        }
        if event.event == "bucket-added" {
            // A bucket begins empty.
            bucket.before = Some((0, 0));
        }
        let Some((change, held_change)) = event.change.zip(event.held_change) else { return };
        let told = (event.available.unwrap_or(0), event.held.unwrap_or(0));
        if !is_in_period {
            bucket.before = Some(told);
            return;
        }
        bucket.change.0 += change;
        bucket.change.1 += held_change;
        bucket.last = Some(told);
    }

    /// Returns the rows: the opening balances, the entries, the closing balances.
    pub(crate) fn rows(
        self,
        account: &str,
        (from, to): (Option<i64>, Option<i64>),
    ) -> Vec<Vec<Value>> {
        let was_loaded = self.was_loaded;
        let balance =
            |word: &str, time: Option<i64>, bucket: &StatementBucket, of: Option<(i64, i64)>| {
                let mut row = vec![Value::Nothing; COLUMNS.len()];
                row[0] = Value::Text(account.to_owned());
                row[1] = Value::of_time(time);
                row[2] = Value::Text(word.to_owned());
                row[3] = Value::Text(bucket.name.clone());
                row[4] = Value::Text(bucket.unit.clone());
                row[8] = Value::of_number(of.map(|of| of.0));
                row[9] = Value::of_number(of.map(|of| of.1));
                row
            };
        let opening = |bucket: &StatementBucket| bucket.opening().filter(|_| !was_loaded);
        let openings = self.buckets.values().map(|of| balance("opening", from, of, opening(of)));
        let closings = self.buckets.values().map(|of| balance("closing", to, of, of.closing()));
        let mut rows: Vec<Vec<Value>> = openings.collect();
        let closings: Vec<Vec<Value>> = closings.collect();
        rows.extend(self.entries);
        rows.extend(closings);
        rows
    }

    /// Returns the names of buckets whose opening balance no event tells.
    pub(crate) fn unknown(&self) -> Option<&str> {
        let is_unknown = |bucket: &&StatementBucket| self.was_loaded || bucket.opening().is_none();
        self.buckets.values().find(is_unknown).map(|bucket| bucket.name.as_str())
    }
}

fn row(event: &Record, period: &Period) -> Vec<Value> {
    let text = |text: &Option<String>| Value::of_text(text.clone());
    let is_denial = event.event == "denied";
    vec![
        Value::Text(event.account.clone()),
        Value::Time(event.time_ms),
        Value::Text(event.event.clone()),
        text(&event.bucket),
        text(&event.unit),
        Value::of_number(event.amount),
        Value::of_number(event.change),
        Value::of_number(event.held_change),
        Value::of_number(event.available),
        Value::of_number(event.held),
        text(&event.session),
        text(&event.transaction),
        text(&event.item),
        Value::of_number(event.requested),
        text(&event.code),
        text(&event.cause),
        Value::of_text(is_denial.then(|| meaning(event, period))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_ledger::Zone;

    fn movement(name: &str, time_ms: i64, change: i64, told: i64) -> Record {
        Record {
            event: name.to_owned(),
            account: "a".to_owned(),
            time_ms,
            bucket: Some("main".to_owned()),
            bucket_no: Some(0),
            unit: Some("cent".to_owned()),
            amount: Some(change.abs()),
            change: Some(change),
            held_change: Some(0),
            available: Some(told),
            held: Some(0),
            ..Record::default()
        }
    }

    fn balances(events: &[Record], from: i64, to: i64) -> Vec<(String, Value)> {
        let period = Period { from: Some(from), to: Some(to), zone: Zone::UTC };
        let mut account = AccountStatement::default();
        events.iter().for_each(|event| {
            account.see(event, &period);
        });
        let rows = account.rows("a", (Some(from), Some(to))).into_iter();
        let word = |row: &[Value]| match &row[2] {
            Value::Text(word) => word.clone(),
            other => format!("{other:?}"),
        };
        rows.map(|row| (word(&row), row[8].clone())).collect()
    }

    fn expected(rows: &[(&str, Option<i64>)]) -> Vec<(String, Value)> {
        rows.iter().map(|(word, number)| ((*word).to_owned(), Value::of_number(*number))).collect()
    }

    #[test]
    fn balances_around_a_period_come_from_its_movements() {
        // Two movements of one commit have the balance after both.
        let all = [
            movement("credited", 10, 100, 100),
            movement("debited", 20, -30, 60),
            movement("debited", 20, -10, 60),
            movement("credited", 30, 5, 65),
        ];
        let found = balances(&all[..3], 15, 25);
        let rows = [
            ("opening", Some(100)),
            ("debited", Some(60)),
            ("debited", Some(60)),
            ("closing", Some(60)),
        ];
        assert_eq!(found, expected(&rows));
        // Without a movement both are those of the last one before it.
        assert_eq!(
            balances(&all, 40, 50),
            expected(&[("opening", Some(65)), ("closing", Some(65))])
        );
        // The log does not reach back, and the movement tells what was before it.
        let found = balances(&all[3..], 25, 50);
        assert_eq!(
            found,
            expected(&[("opening", Some(60)), ("credited", Some(65)), ("closing", Some(65))])
        );
    }

    #[test]
    fn balances_that_no_event_tells_are_empty() {
        let loaded = Record { event: "loaded".to_owned(), time_ms: 20, ..Record::default() };
        let all = [movement("credited", 10, 100, 100), loaded, movement("debited", 25, -1, 899)];
        let rows =
            [("opening", None), ("loaded", None), ("debited", Some(899)), ("closing", Some(899))];
        assert_eq!(balances(&all, 15, 30), expected(&rows));
        let changed = Record { change: None, ..movement("bucket-changed", 20, 0, 0) };
        let found = balances(&[changed], 15, 30);
        assert_eq!(found[0], ("opening".to_owned(), Value::Nothing));
    }
}
