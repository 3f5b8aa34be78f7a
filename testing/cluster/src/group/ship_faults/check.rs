//! Compares what was shipped with what the store tells: the events, the balances that they add up to, and the use that
//! records sum.

use super::event::ShippedEvent;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Ends of sessions.
const ENDS: [&str; 4] =
    ["session-closed", "session-released", "session-expired", "session-returned"];

/// Account and bucket.
pub(super) type Bucket = (String, String);

/// What accounts show in the end: SCUR.GET and SCUR.AUDIT.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// Available and held.
    pub(super) balances: BTreeMap<Bucket, [i128; 2]>,
    pub(super) consumed: BTreeMap<Bucket, i128>,
    pub(super) versions: BTreeMap<String, i128>,
}

/// Checks that the events of a thread were shipped: each, once, in order, with the same content.
pub(super) fn same_events(told: &[ShippedEvent], shipped: &[ShippedEvent]) -> Result<()> {
    for pair in shipped.windows(2) {
        ensure!(
            pair[0].place() < pair[1].place(),
            "an event is there twice or out of order: {:?} follows {:?}",
            pair[1],
            pair[0]
        );
    }
    let same = told.iter().zip(shipped).take_while(|(one, other)| one == other).count();
    match (told.get(same), shipped.get(same)) {
        (None, None) => Ok(()),
        (Some(told), Some(shipped)) if told.at == shipped.at => {
            bail!("an event was changed: the store tells {told:?}, and shipped was {shipped:?}")
        }
        (Some(told), None) => bail!("the last events are missing, from {told:?} on"),
        (Some(told), Some(shipped)) if told.place() < shipped.place() => {
            bail!("an event is missing: {told:?}")
        }
        (_, Some(shipped)) => bail!("the store does not tell {shipped:?}"),
    }
}

/// Rebuilds balances and versions from the events of all threads. An account that was deleted has none.
pub(super) fn rebuilt(threads: &[Vec<ShippedEvent>]) -> Result<Books> {
    let mut books = Books::default();
    for event in threads.iter().flatten() {
        let account = &event.account;
        if event.event == "deleted" {
            books.balances.retain(|(of, _), _| of != account);
            books.versions.remove(account);
            continue;
        }
        let version = event.number("version").with_context(|| format!("no version: {event:?}"))?;
        let known = books.versions.insert(account.clone(), version).unwrap_or(0);
        ensure!(
            version == known || version == known + 1,
            "a version is missing between {known} and {event:?}"
        );
        if let (Some(change), Some(held), Some(bucket)) =
            (event.number("change"), event.number("held_change"), event.fields.get("bucket"))
        {
            let balance = books.balances.entry((account.clone(), bucket.clone())).or_default();
            balance[0] += change;
            balance[1] += held;
            let shown = [event.number("available"), event.number("held")];
            // Of several movements of one commit each shows the balance after all of them.
            ensure!(shown.iter().all(Option::is_some), "no balance: {event:?}");
        }
    }
    Ok(books)
}

/// Checks that rebuilt balances are those of the accounts.
pub(super) fn same_balances(rebuilt: &Books, books: &Books) -> Result<()> {
    ensure!(
        rebuilt.versions == books.versions,
        "the accounts have other versions: {:?}",
        difference(&rebuilt.versions, &books.versions)
    );
    // A bucket that was never moved is in no movement.
    let moved: BTreeMap<_, _> = books
        .balances
        .iter()
        .filter(|(bucket, balance)| **balance != [0, 0] || rebuilt.balances.contains_key(bucket))
        .collect();
    for (bucket, balance) in &moved {
        let own = rebuilt.balances.get(bucket);
        ensure!(own == Some(balance), "{bucket:?} has {balance:?}, rebuilt is {own:?}");
    }
    ensure!(moved.len() == rebuilt.balances.len(), "more buckets were shipped than there are");
    Ok(())
}

fn difference<K: Ord + Clone, V: PartialEq + Clone>(
    one: &BTreeMap<K, V>,
    other: &BTreeMap<K, V>,
) -> Option<(K, Option<V>, Option<V>)> {
    let keys: BTreeSet<&K> = one.keys().chain(other.keys()).collect();
    let mut different = keys.into_iter().filter(|key| one.get(key) != other.get(key));
    let key = different.next()?;
    Some((key.clone(), one.get(key).cloned(), other.get(key).cloned()))
}

/// Checks that usage records are there once, that each session that has ended has one, and that they sum up to what the
/// buckets have consumed.
pub(super) fn same_usage(
    told: &[Vec<ShippedEvent>],
    records: &[Json],
    books: &Books,
) -> Result<()> {
    let (mut ids, mut sums, mut sessions) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    let word = |record: &Json, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    for record in records {
        ensure!(record["complete"] == true, "a record is not complete: {record}");
        let (account, kind) = (word(record, "account"), word(record, "kind"));
        let own = (word(record, "id"), kind.clone(), word(record, "session"));
        if kind == "session" {
            sessions.insert(word(record, "id"));
        }
        ensure!(ids.insert(own), "a record is there twice: {record}");
        for item in record["items"].as_array().context("items")? {
            let mut sum = 0;
            for bucket in item["buckets"].as_array().context("buckets")? {
                let used = i128::from(bucket["used"].as_i64().context("used")?);
                sum += used;
                if kind != "refund" {
                    *sums.entry((account.clone(), word(bucket, "bucket"))).or_default() += used;
                }
            }
            let used = i128::from(item["used"].as_i64().context("used")?);
            ensure!(sum == used, "an item is not the sum of its buckets: {record}");
        }
    }
    for (bucket, consumed) in &books.consumed {
        let sum: i128 = sums.get(bucket).copied().unwrap_or(0);
        ensure!(sum == *consumed, "{bucket:?} has consumed {consumed}, records say {sum}");
    }
    let ended: BTreeSet<String> = told
        .iter()
        .flatten()
        .filter(|event| ENDS.contains(&event.event.as_str()))
        .map(|event| event.at.to_string())
        .collect();
    let other = ended.symmetric_difference(&sessions).next();
    ensure!(other.is_none(), "a session that ended has no record, or the other way: {other:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 6] = [
        r#"{"id":"1.0:1","time":"t","event":"created","account":"a","version":1,"status":"active"}"#,
        r#"{"id":"1.0:1-1","event":"credited","account":"a","version":1,"bucket":"main","amount":9,"change":9,"held_change":0,"available":9,"held":0}"#,
        r#"{"id":"1.0:2","event":"session-opened","account":"a","version":2,"session":"s","identities":{"msisdn":"1"}}"#,
        r#"{"id":"1.0:2-1","event":"reserved","account":"a","version":2,"bucket":"main","amount":5,"change":-5,"held_change":5,"available":4,"held":5}"#,
        r#"{"id":"1.0:3","event":"settled","account":"a","version":3,"bucket":"main","amount":5,"change":0,"held_change":-5,"available":4,"held":0}"#,
        r#"{"id":"1.0:3-1","event":"session-closed","account":"a","version":3,"session":"s"}"#,
    ];
    const RECORD: &str = r#"{"id":"1.0:3-1","kind":"session","account":"a","session":"s","complete":true,
        "items":[{"item":"1","used":5,"buckets":[{"bucket":"main","used":5}]}]}"#;

    fn events(lines: &[&str]) -> Vec<ShippedEvent> {
        lines.iter().map(|line| ShippedEvent::of_json(line).expect("an event")).collect()
    }

    fn books() -> Books {
        let main = ("a".to_owned(), "main".to_owned());
        Books {
            balances: BTreeMap::from([(main.clone(), [4, 0])]),
            consumed: BTreeMap::from([(main, 5)]),
            versions: BTreeMap::from([("a".to_owned(), 3)]),
        }
    }

    /// Returns what is found where lines were shipped as they were changed.
    fn found(change: impl Fn(&mut Vec<String>)) -> String {
        let mut lines = LINES.map(str::to_owned).to_vec();
        change(&mut lines);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let outcome = same_events(&events(&LINES), &events(&lines));
        outcome.map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
    }

    #[test]
    fn a_lie_about_an_event_is_found() {
        assert_eq!(found(|_| ()), "nothing");
        for at in 0..LINES.len() {
            let gone = found(|lines| drop(lines.remove(at)));
            assert!(gone.contains("missing"), "{gone}");
            let twice = found(|lines| lines.insert(at, lines[at].clone()));
            assert!(twice.contains("twice or out of order"), "{twice}");
        }
        let swapped = found(|lines| lines.swap(2, 3));
        assert!(swapped.contains("twice or out of order"), "{swapped}");
        for (from, to) in [("\"amount\":5", "\"amount\":6"), ("\"1\"", "\"2\"")] {
            let changed = found(|lines| lines.iter_mut().for_each(|it| *it = it.replace(from, to)));
            assert!(changed.contains("was changed"), "{changed}");
        }
        let invented = found(|lines| lines.push(LINES[5].replace("1.0:3-1", "1.0:4")));
        assert!(invented.contains("does not tell"), "{invented}");
    }

    #[test]
    fn a_lie_about_a_balance_or_a_version_is_found() {
        let rebuilt_now = |lines: &[&str]| rebuilt(&[events(lines)]);
        let own = rebuilt_now(&LINES).expect("balances");
        same_balances(&own, &books()).expect("the same");
        assert!(rebuilt_now(&[&LINES[..2], &LINES[4..]].concat()).is_err(), "a version is missing");
        let mut other = books();
        other.balances.values_mut().for_each(|balance| balance[0] += 1);
        same_balances(&own, &other).expect_err("a balance is another one");
        let mut other = books();
        other.versions.insert("b".to_owned(), 1);
        same_balances(&own, &other).expect_err("an account is missing");
    }

    #[test]
    fn a_lie_about_use_is_found() {
        let (told, record) = ([events(&LINES)], |text: &str| serde_json::from_str(text));
        let good: Json = record(RECORD).expect("JSON");
        same_usage(&told, std::slice::from_ref(&good), &books()).expect("the same");
        let more: Json = record(&RECORD.replace("\"used\":5", "\"used\":6")).expect("JSON");
        let error = same_usage(&told, &[more], &books()).expect_err("it says more");
        assert!(error.to_string().contains("has consumed 5, records say 6"), "{error}");
        let error = same_usage(&told, &[good.clone(), good], &books()).expect_err("it is twice");
        assert!(error.to_string().contains("twice"), "{error}");
        let none = Books { consumed: BTreeMap::new(), ..books() };
        let error = same_usage(&told, &[], &none).expect_err("it is not there");
        assert!(error.to_string().contains("has no record"), "{error}");
    }
}
