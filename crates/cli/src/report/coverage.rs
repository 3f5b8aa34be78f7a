//! How much of a period the events that were read cover: a report says what it lacks, and never shows a smaller sum
//! without saying so.

use super::period::Period;
use hashbrown::HashMap;
use scurry_service::Position;
use scurry_ship::Record;
use std::collections::BTreeMap;

/// What is known of the events that were read.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// The store, 16 hexadecimal digits.
    pub(crate) store: String,
    /// Time of the newest event. None if there was none.
    pub(crate) last: Option<i64>,
    threads: BTreeMap<u16, Reach>,
    gaps: Vec<Gap>,
    /// Versions of the accounts, where commits without an event are looked for. None where the source has all commits.
    versions: Option<HashMap<String, u64>>,
    jumps: u64,
    first_jump: Option<String>,
    remarks: Vec<String>,
}

/// How far back the events of a thread reach.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Whether they begin with the store.
    pub(crate) is_whole: bool,
    /// Time of the oldest one. None if there is none.
    pub(crate) kept_from: Option<i64>,
    last: Option<i64>,
}

/// Events that are no longer kept, between two that are.
#[derive(Debug)]
struct Gap {
    thread: u16,
    text: String,
    /// Times of the events before and after it.
    before: Option<i64>,
    after: Option<i64>,
}

impl Coverage {
    /// Begins with the events of a store.
    pub(crate) fn of_store(store: String) -> Coverage {
        Coverage { store, ..Coverage::default() }
    }

    /// Looks for commits without an event, by the versions of the accounts.
    pub(crate) fn compare_versions(&mut self) {
        self.versions = Some(HashMap::new());
    }

    /// Sets how far back the events of a thread reach. If `kept_from` is None, the first event decides.
    pub(crate) fn begin_thread(&mut self, thread: u16, is_whole: bool, kept_from: Option<i64>) {
        self.threads.entry(thread).or_insert(Reach { is_whole, kept_from, last: None });
    }

    /// Adds a remark about what was not read.
    pub(crate) fn remark(&mut self, text: String) {
        self.remarks.push(text);
    }

    /// Takes note of an event of a thread.
    pub(crate) fn see(&mut self, at: Position, record: &Record) {
        let Some(reach) = self.threads.get_mut(&at.thread) else { return };
        if record.event == "missed" {
            let (from, to) = (record.from.as_deref(), record.to.as_deref());
            let text = format!("{} to {}", from.unwrap_or("?"), to.unwrap_or("?"));
            self.gaps.push(Gap { thread: at.thread, text, before: reach.last, after: None });
            return;
        }
        let time = record.time_ms;
        reach.kept_from.get_or_insert(time);
        reach.last = reach.last.max(Some(time));
        self.last = self.last.max(Some(time));
        let open =
            self.gaps.iter_mut().filter(|gap| gap.thread == at.thread && gap.after.is_none());
        open.for_each(|gap| gap.after = Some(time));
        let is_whole = reach.is_whole;
        self.compare_version(is_whole, record);
    }

    /// Compares the version of an account with the one before it.
    fn compare_version(&mut self, is_whole: bool, record: &Record) {
        let Some(versions) = &mut self.versions else { return };
        match record.event.as_str() {
            "cleared" => return versions.clear(),
            // The next version may be any.
            "deleted" | "loaded" => {
                versions.insert(record.account.clone(), 0);
                return;
            }
            _ => {}
        }
        let Some(version) = record.version else { return };
        let Some(known) = versions.get_mut(record.account.as_str()) else {
            if is_whole && version != 1 {
                self.jumps += 1;
                self.first_jump.get_or_insert_with(|| record.id.clone());
            }
            versions.insert(record.account.clone(), version);
            return;
        };
        if *known > 0 && version != *known && version != *known + 1 {
            self.jumps += 1;
            self.first_jump.get_or_insert_with(|| record.id.clone());
        }
        *known = version;
    }

    /// Returns in words what of the period the events lack. Empty if they have all of it.
    pub(crate) fn missing(&self, period: &Period) -> Vec<String> {
        let mut missing = Vec::new();
        for (thread, reach) in &self.threads {
            let reaches = |from| reach.kept_from.is_some_and(|kept| kept < from);
            if reach.is_whole || period.from.is_some_and(reaches) {
                continue;
            }
            missing.push(match reach.kept_from {
                Some(kept) if period.to.is_some_and(|to| to <= kept) => format!(
                    "thread {thread} has no events of the period: its oldest one is of {}",
                    period.text(kept)
                ),
                Some(kept) => format!(
                    "thread {thread} has events from {} on, and earlier ones are not kept",
                    period.text(kept)
                ),
                None => format!("thread {thread} has no events, and earlier ones are not kept"),
            });
        }
        let is_outside = |gap: &&Gap| {
            gap.after.zip(period.from).is_none_or(|(after, from)| after > from)
                && gap.before.zip(period.to).is_none_or(|(before, to)| before < to)
        };
        for gap in self.gaps.iter().filter(is_outside) {
            missing.push(format!(
                "the events from {} are missing: the store no longer kept them when they were read",
                gap.text
            ));
        }
        if let Some(first) = &self.first_jump {
            missing.push(format!(
                "{} commits of accounts have no event, the first before {first}: the files were shipped with --event or \
                 --unit, or were changed",
                self.jumps
            ));
        }
        missing.extend(self.remarks.iter().cloned());
        missing
    }

    /// Returns in words why the events do not tell the whole state of the store. Empty if they do.
    pub(crate) fn missing_of_state(&self, period: &Period) -> Vec<String> {
        self.missing(&Period { from: None, to: None, zone: period.zone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_ledger::Zone;

    fn at(sequence: u64) -> Position {
        Position { generation: 1, thread: 0, sequence, index: 0 }
    }

    fn event(name: &str, account: &str, version: u64, time_ms: i64) -> Record {
        Record {
            id: format!("1.0:{version}"),
            event: name.to_owned(),
            account: account.to_owned(),
            version: Some(version),
            time_ms,
            ..Record::default()
        }
    }

    fn period(from: Option<i64>, to: Option<i64>) -> Period {
        Period { from, to, zone: Zone::UTC }
    }

    #[test]
    fn a_period_before_the_oldest_event_is_not_complete() {
        let mut coverage = Coverage::of_store("s".to_owned());
        coverage.begin_thread(0, false, None);
        coverage.see(at(7), &event("debited", "a", 7, 1_000));
        assert_eq!(coverage.missing(&period(Some(1_001), None)), [""; 0]);
        for (from, to, why) in [
            (Some(1_000), None, "has events from 1970-01-01T00:00:01.000Z on"),
            (None, Some(2_000), "has events from"),
            (Some(0), Some(1_000), "has no events of the period"),
        ] {
            let missing = coverage.missing(&period(from, to));
            assert!(missing.len() == 1 && missing[0].contains(why), "{missing:?}");
        }
    }

    #[test]
    fn a_gap_counts_for_the_periods_that_it_may_concern() {
        let mut coverage = Coverage::of_store("s".to_owned());
        coverage.begin_thread(0, true, None);
        coverage.see(at(1), &event("created", "a", 1, 1_000));
        let (from, to) = (Some("1.0:2".to_owned()), Some("1.0:9".to_owned()));
        let missed = Record { event: "missed".to_owned(), from, to, ..Record::default() };
        coverage.see(at(9), &missed);
        coverage.see(at(9), &event("created", "b", 1, 5_000));
        for (from, to, gaps) in [
            (None, None, 1),
            (Some(2_000), Some(3_000), 1),
            (Some(5_000), None, 0),
            (None, Some(1_000), 0),
            (None, Some(1_001), 1),
        ] {
            let missing = coverage.missing(&period(from, to));
            assert_eq!(missing.len(), gaps, "{from:?} {to:?} {missing:?}");
        }
    }

    #[test]
    fn commits_without_an_event_are_noticed() {
        let jumps = |events: &[Record]| {
            let mut coverage = Coverage::of_store("s".to_owned());
            coverage.compare_versions();
            coverage.begin_thread(0, true, None);
            events.iter().for_each(|event| coverage.see(at(1), event));
            (coverage.jumps, coverage.missing(&period(None, None)).len())
        };
        let of = |account, version| event("debited", account, version, 1);
        assert_eq!(jumps(&[of("a", 1), of("a", 1), of("a", 2), of("b", 1), of("a", 3)]), (0, 0));
        assert_eq!(jumps(&[of("a", 1), of("a", 3)]), (1, 1));
        assert_eq!(jumps(&[of("a", 2), of("a", 3)]), (1, 1));
        // A load and a deletion begin another count.
        let loaded = Record { version: None, ..event("loaded", "a", 0, 1) };
        assert_eq!(jumps(&[loaded, of("a", 90), of("a", 91)]), (0, 0));
    }
}
