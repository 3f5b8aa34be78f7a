//! The last full run: `make test-all` writes down which commit has passed it, and a person commits that.

use crate::host::Host;
use crate::steps::Cost;
use anyhow::{Context, Result, ensure};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Absent until the first full run.
pub(crate) const FILE: &str = "testing/last-full-run.toml";

/// An older run is worth a warning.
const COMMITS_MAX: u64 = 200;

/// One full run that has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// In full, 40 hexadecimal digits.
    pub(crate) commit: String,
    /// In UTC, as 2026-11-23.
    date: String,
    /// By the clock, whole minutes.
    minutes: u64,
    /// Of all processors together, whole minutes.
    processor_minutes: u64,
}

impl Record {
    /// The one in the tree; none when everything was never run.
    pub(crate) fn load(root: &Path) -> Result<Option<Record>> {
        match std::fs::read_to_string(root.join(FILE)) {
            Ok(text) => {
                Record::read(&text).with_context(|| format!("cannot read {FILE}")).map(Some)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {FILE}")),
        }
    }

    /// Of a run that has just ended.
    pub(crate) fn of_now(host: &Host, cost: Cost) -> Result<Record> {
        let commit = host.git_output(&["rev-parse", "HEAD"])?.trim().to_owned();
        let date = host.output(Command::new("date").args(["-u", "+%F"]))?.trim().to_owned();
        let minutes = cost.clock.as_secs().div_ceil(60);
        let processor_minutes = cost.processors.as_secs().div_ceil(60);
        Ok(Record { commit, date, minutes, processor_minutes })
    }

    pub(crate) fn write(&self, root: &Path) -> Result<()> {
        std::fs::write(root.join(FILE), self.text()).with_context(|| format!("write {FILE}"))?;
        println!("wrote {FILE}: commit it");
        Ok(())
    }

    /// How long a full run takes, as far as that is known.
    pub(crate) fn said(record: Option<&Record>) -> String {
        match record {
            Some(Record { commit, date, minutes, processor_minutes }) => format!(
                "the last full run, on {date} of {commit}, took {minutes} minutes by the clock and \
                 {processor_minutes} of the processors"
            ),
            None => "no full run is recorded: this one takes hours".to_owned(),
        }
    }

    /// True when this clone has the commit.
    pub(crate) fn is_here(&self, host: &Host) -> bool {
        let object = format!("{}^{{commit}}", self.commit);
        let mut git = Command::new("git");
        git.args(["cat-file", "-e", &object]).current_dir(&host.root);
        git.output().is_ok_and(|output| output.status.success())
    }

    /// Text of a warning where one is due: no run, an old one, or one whose age cannot be told.
    pub(crate) fn warning(host: &Host) -> Result<Option<String>> {
        let Some(record) = Record::load(&host.root)? else { return Ok(warning(None, None)) };
        let since = format!("{}..HEAD", record.commit);
        let commits = match record.is_here(host) {
            true => Some(host.git_output(&["rev-list", "--count", &since])?.trim().parse()?),
            false => None,
        };
        Ok(warning(Some(&record), commits))
    }

    fn text(&self) -> String {
        format!(
            "# The last run of `make test-all` that passed; it writes this file.\n\
             commit = \"{}\"\ndate = \"{}\"\nminutes = {}\nprocessor_minutes = {}\n",
            self.commit, self.date, self.minutes, self.processor_minutes
        )
    }

    fn read(text: &str) -> Result<Record> {
        let table: toml::Table = text.parse()?;
        let word = |key: &str| {
            let value = table.get(key).and_then(toml::Value::as_str);
            value.map(str::to_owned).with_context(|| format!("it has no text `{key}`"))
        };
        let number = |key: &str| {
            let value = table.get(key).and_then(toml::Value::as_integer);
            let value = value.and_then(|value| u64::try_from(value).ok());
            value.with_context(|| format!("it has no number `{key}`"))
        };
        let record = Record {
            commit: word("commit")?,
            date: word("date")?,
            minutes: number("minutes")?,
            processor_minutes: number("processor_minutes")?,
        };
        let is_hash = |text: &str| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
        ensure!(is_hash(&record.commit), "`commit` is no full hash: {}", record.commit);
        Ok(record)
    }
}

/// By the number of commits since the run; none where this clone does not reach back to it.
fn warning(record: Option<&Record>, commits: Option<u64>) -> Option<String> {
    let Some(Record { commit, date, .. }) = record else {
        return Some(format!("{FILE} is absent: `make test-all` was never run"));
    };
    match commits {
        Some(0..=COMMITS_MAX) => None,
        Some(commits) => Some(format!(
            "the last full run, on {date}, is {commits} commits old: run `make test-all`"
        )),
        None => Some(format!(
            "this clone does not have {commit}, the commit of the last full run: how old that is \
             cannot be told here"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn record() -> Record {
        Record {
            commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            date: "2026-11-23".to_owned(),
            minutes: 90,
            processor_minutes: 170,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Record::read(&record().text()).unwrap(), record());
    }

    #[test]
    fn what_a_person_has_broken_is_refused() {
        let good = record().text();
        for (from, to) in [
            ("0123456789abcdef0123456789abcdef01234567", "HEAD"),
            ("minutes = 90", "minutes = -1"),
            ("date = ", "day = "),
            ("commit", "commit ="),
        ] {
            let bad = good.replacen(from, to, 1);
            assert!(bad != good && Record::read(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_a_run_that_is_known_to_be_young_is_passed_in_silence() {
        let record = record();
        for young in [0, COMMITS_MAX] {
            assert_eq!(warning(Some(&record), Some(young)), None);
        }
        let said = |record, commits| warning(record, commits).expect("a warning");
        assert!(said(Some(&record), Some(COMMITS_MAX + 1)).contains("201 commits"));
        assert!(said(Some(&record), None).contains("does not have"));
        assert!(said(None, None).contains("never run"));
    }

    #[test]
    fn a_run_of_this_commit_is_found_here_and_another_is_not() {
        let host = Host::find().unwrap();
        let cost = Cost { clock: Duration::from_secs(61), processors: Duration::from_secs(120) };
        let now = Record::of_now(&host, cost).unwrap();
        assert_eq!((now.minutes, now.processor_minutes, now.date.len()), (2, 2, 10));
        assert!(now.is_here(&host));
        assert!(!record().is_here(&host));
    }
}
