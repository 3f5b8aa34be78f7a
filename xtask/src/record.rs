//! The record of the long gate: for each step that only it has, the commit that passed it last. Each pass is written at
//! once, so that a full run can be made piece by piece; a person commits the file.

use crate::host::Host;
use crate::steps::{Cost, minutes};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Record file; it is missing until a step has passed.
pub(crate) const FILE: &str = "testing/last-full-run.toml";

/// Commits after which an entry causes a warning.
pub(crate) const COMMITS_MAX: u64 = 200;

const HEAD: &str =
    "# The last passed run of each step that only `make test-all` has. The gate writes this.\n";

const CURE: &str = "where two branches meet keep the newer entry of a step; without the file each step \
                    counts as never run";

/// Last passed run of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordEntry {
    /// Commit id, 40 hexadecimal digits.
    commit: String,
    /// Date in UTC, as 2026-11-23.
    date: String,
    /// Time that it took, in whole seconds.
    cost: Cost,
}

/// Number of commits since a step passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    Never,
    /// The commit of the run is not in this clone.
    Unknown,
    Commits(u64),
}

impl Age {
    pub(crate) fn is_over(&self, commits_max: u64) -> bool {
        !matches!(self, Age::Commits(commits) if *commits <= commits_max)
    }
}

/// Entries by step name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    steps: BTreeMap<String, RecordEntry>,
}

impl Record {
    /// Reads the record of the tree; empty without a file. A damaged file is an error with its cure.
    pub(crate) fn load(root: &Path) -> Result<Record> {
        match File::open(root.join(FILE)) {
            Ok(mut file) => {
                file.lock_shared().with_context(cannot_read)?;
                read(&mut file)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Record::default()),
            Err(error) => Err(error).with_context(cannot_read),
        }
    }

    /// Returns the commit that passed a step, if this clone has it.
    pub(crate) fn commit(&self, host: &Host, step: &str) -> Option<&str> {
        let commit = self.steps.get(step)?.commit.as_str();
        is_here(host, commit).then_some(commit)
    }

    pub(crate) fn age(&self, host: &Host, step: &str) -> Result<Age> {
        if !self.steps.contains_key(step) {
            return Ok(Age::Never);
        }
        let Some(commit) = self.commit(host, step) else { return Ok(Age::Unknown) };
        let since = format!("{commit}..HEAD");
        let count = host.git_output(&["rev-list", "--count", &since])?;
        Ok(Age::Commits(count.trim().parse()?))
    }

    /// Lists the steps with the time that each took last, and the sum.
    pub(crate) fn said(&self, steps: &[&str]) -> String {
        let line = |step: &&str| match self.steps.get(*step) {
            Some(RecordEntry { date, cost, .. }) => {
                format!("  {step:12}  {}  {date}\n", minutes(*cost))
            }
            None => format!("  {step:12}  never recorded\n"),
        };
        let known = || steps.iter().filter_map(|step| self.steps.get(*step));
        let clock = known().map(|entry| entry.cost.clock).sum();
        let sum = Cost { clock, processors: known().map(|entry| entry.cost.processors).sum() };
        let lines: String = steps.iter().map(line).collect();
        let count = known().count();
        format!(
            "what each step took last, beside those of make test, by the clock and of the processors\n\
             {lines}  {count:<2} of {:<6}  {}",
            steps.len(),
            minutes(sum)
        )
    }

    fn text(&self) -> String {
        let entry = |(step, entry): (&String, &RecordEntry)| {
            let RecordEntry { commit, date, cost: Cost { clock, processors } } = entry;
            format!(
                "\n[{step}]\ncommit = \"{commit}\"\ndate = \"{date}\"\nseconds = {}\n\
                 processor_seconds = {}\n",
                clock.as_secs(),
                processors.as_secs()
            )
        };
        HEAD.to_owned() + &self.steps.iter().map(entry).collect::<String>()
    }

    fn parse(text: &str) -> Result<Record> {
        let table: toml::Table = text.parse()?;
        let entry = |(step, value): (String, toml::Value)| {
            let entry = RecordEntry::parse(&value).with_context(|| format!("in [{step}]"))?;
            Ok((step, entry))
        };
        Ok(Record { steps: table.into_iter().map(entry).collect::<Result<_>>()? })
    }
}

impl RecordEntry {
    fn parse(value: &toml::Value) -> Result<RecordEntry> {
        let word = |key: &str| {
            let value = value.get(key).and_then(toml::Value::as_str);
            value.map(str::to_owned).with_context(|| format!("there is no text `{key}`"))
        };
        let seconds = |key: &str| {
            let value = value.get(key).and_then(toml::Value::as_integer);
            let value = value.and_then(|value| u64::try_from(value).ok());
            value.map(Duration::from_secs).with_context(|| format!("there is no number `{key}`"))
        };
        let cost = Cost { clock: seconds("seconds")?, processors: seconds("processor_seconds")? };
        let entry = RecordEntry { commit: word("commit")?, date: word("date")?, cost };
        let is_hash = |text: &str| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
        ensure!(is_hash(&entry.commit), "`commit` is no full hash: {}", entry.commit);
        Ok(entry)
    }
}

/// Returns the commit under test; None when the tree differs from it in more than the record.
pub(crate) fn tested(host: &Host) -> Result<Option<String>> {
    let state = host.git_output(&["status", "--porcelain", "--", ".", &but_the_record()])?;
    if !state.is_empty() {
        return Ok(None);
    }
    Ok(Some(host.git_output(&["rev-parse", "HEAD"])?.trim().to_owned()))
}

/// Returns the git pathspec for everything but the record.
pub(crate) fn but_the_record() -> String {
    format!(":(exclude){FILE}")
}

/// Records that a commit has passed a step now.
pub(crate) fn write(host: &Host, step: &str, commit: String, cost: Cost) -> Result<()> {
    let date = host.output(Command::new("date").args(["-u", "+%F"]))?.trim().to_owned();
    write_at(&host.root.join(FILE), step, RecordEntry { commit, date, cost })
}

/// Writes one entry. Steps of another process may end at the same time, so the file stays locked from reading to
/// writing.
fn write_at(path: &Path, step: &str, entry: RecordEntry) -> Result<()> {
    let open = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = open.with_context(cannot_read)?;
    file.lock().with_context(cannot_read)?;
    let mut record = read(&mut file)?;
    record.steps.insert(step.to_owned(), entry);
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(record.text().as_bytes()).with_context(|| format!("cannot write {FILE}"))
}

fn read(file: &mut File) -> Result<Record> {
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(cannot_read)?;
    Record::parse(&text).with_context(|| format!("{FILE} is damaged: {CURE}"))
}

fn cannot_read() -> String {
    format!("cannot read {FILE}")
}

/// Reports whether this clone has the commit.
fn is_here(host: &Host, commit: &str) -> bool {
    let object = format!("{commit}^{{commit}}");
    let mut git = Command::new("git");
    git.args(["cat-file", "-e", &object]).current_dir(&host.root);
    git.output().is_ok_and(|output| output.status.success())
}

/// Returns a line for each reason to run steps again, with the names of the steps.
pub(crate) fn warnings(ages: &[(&str, Age)]) -> Vec<String> {
    let say = |why: &str, is_due: fn(&Age) -> bool| {
        let due = ages.iter().filter(|(_, age)| is_due(age)).map(|(step, age)| match age {
            Age::Commits(commits) => format!("{step} ({commits})"),
            Age::Never | Age::Unknown => (*step).to_owned(),
        });
        let due = due.collect::<Vec<_>>().join(", ");
        (!due.is_empty()).then(|| format!("{why}: {due}: run cargo xtask all --stale"))
    };
    let old = format!("passed more than {COMMITS_MAX} commits ago");
    [
        say("no passed run is recorded of these steps", |age| *age == Age::Never),
        say(&old, |age| matches!(age, Age::Commits(_)) && age.is_over(COMMITS_MAX)),
        say("passed at commits that this clone does not have", |age| *age == Age::Unknown),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn entry(seconds: u64) -> RecordEntry {
        let cost = Cost {
            clock: Duration::from_secs(seconds),
            processors: Duration::from_secs(2 * seconds),
        };
        RecordEntry { commit: COMMIT.to_owned(), date: "2026-11-23".to_owned(), cost }
    }

    fn record() -> Record {
        let steps = [("lab", 90), ("mutants", 600)];
        Record { steps: steps.map(|(step, seconds)| (step.to_owned(), entry(seconds))).into() }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Record::parse(&record().text()).unwrap(), record());
        assert_eq!(Record::parse(HEAD).unwrap(), Record::default());
    }

    #[test]
    fn a_step_replaces_its_own_entry_and_no_other() {
        let path = std::env::temp_dir().join(format!("scurry-record-{}", std::process::id()));
        for (step, seconds) in [("lab", 1), ("mutants", 600), ("lab", 90)] {
            write_at(&path, step, entry(seconds)).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, record().text());
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_cure_and_left_as_it_is() {
        let good = record().text();
        let path = std::env::temp_dir().join(format!("scurry-damaged-{}", std::process::id()));
        for (from, to) in [
            (COMMIT, "HEAD"),
            ("seconds = 90", "seconds = -1"),
            ("processor_seconds", "seconds_of_processors"),
            ("date = ", "day = "),
            ("[lab]", "lab = 1"),
            ("[lab]", "<<<<<<< HEAD\n[lab]"),
        ] {
            let bad = good.replacen(from, to, 1);
            std::fs::write(&path, &bad).unwrap();
            let error = format!("{:#}", write_at(&path, "lab", entry(1)).unwrap_err());
            assert!(bad != good && error.contains("keep the newer entry"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), bad);
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn only_a_run_that_is_known_to_be_young_is_passed_in_silence() {
        let ages = |age| warnings(&[("lab", Age::Commits(COMMITS_MAX)), ("rdma", age)]);
        assert_eq!(ages(Age::Commits(0)), Vec::<String>::new());
        for (age, said) in [
            (Age::Never, "no passed run is recorded of these steps: rdma:"),
            (Age::Unknown, "does not have: rdma:"),
            (Age::Commits(COMMITS_MAX + 1), "ago: rdma (201):"),
        ] {
            let warnings = ages(age);
            assert!(warnings.len() == 1 && warnings[0].contains(said), "{warnings:?}");
        }
        let all = [("a", Age::Never), ("b", Age::Never), ("c", Age::Unknown)];
        assert_eq!(warnings(&all).len(), 2, "one line for a reason");
    }

    #[test]
    fn the_time_of_a_full_run_is_the_sum_of_what_is_known() {
        let said = record().said(&["lab", "mutants", "rdma"]);
        let lines: Vec<&str> = said.lines().skip(1).map(str::trim).collect();
        assert!(lines[0].starts_with("lab") && lines[0].ends_with("2026-11-23"), "{said}");
        assert!(lines[2].ends_with("never recorded"), "{said}");
        assert!(lines[3].starts_with("2  of 3"), "{said}");
        assert!(lines[3].contains("11.5 min") && lines[3].contains("23.0 min"), "{said}");
    }

    #[test]
    fn a_run_of_this_commit_is_found_here_and_another_is_not() {
        let host = Host::find().unwrap();
        let head = host.git_output(&["rev-parse", "HEAD"]).unwrap().trim().to_owned();
        let mut record = record();
        record.steps.insert("rdma".to_owned(), RecordEntry { commit: head.clone(), ..entry(1) });
        assert_eq!(record.commit(&host, "rdma"), Some(head.as_str()));
        assert_eq!(record.age(&host, "rdma").unwrap(), Age::Commits(0));
        assert_eq!(record.age(&host, "lab").unwrap(), Age::Unknown);
        assert_eq!(record.age(&host, "cluster-test").unwrap(), Age::Never);
    }
}
