//! What was run at one commit so far, kept in a file, so that runs of many hours can be done in pieces.

use super::Fault;
use super::report::{Row, seconds};
use crate::wait::write_table;
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::{fmt, fs, io};

/// Characters of a commit in a file name.
const COMMIT_LEN: usize = 12;

/// All rounds at one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Commit of the program under test.
    commit: String,
    /// Time that was spent on rounds, ms. Builds and pauses do not count.
    spent_ms: u64,
    passed: Vec<PassedRun>,
    failed: Vec<FailedRun>,
}

/// Rounds of one fault with one seed, which found nothing wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PassedRun {
    seed: u64,
    /// Calls of shared keys that were linearizable.
    calls: u64,
    row: Row,
}

/// A round that found something wrong, or could not be run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FailedRun {
    seed: u64,
    fault: Fault,
    error: String,
}

impl Results {
    /// Reads the results of this commit. If the file has those of another commit, it is renamed, and a new one begins.
    pub fn open(path: &Path, commit: &str) -> Result<Results> {
        let kept = open(path, commit, |found: &Results| &found.commit)?;
        let new = || Results { commit: commit.to_owned(), ..Results::default() };
        Ok(kept.unwrap_or_else(new))
    }

    /// Replaces the file as a whole.
    pub fn write(&self, path: &Path) -> Result<()> {
        write(path, self)
    }

    /// Reports whether this fault has passed with this seed.
    pub(crate) fn has(&self, seed: u64, fault: Fault) -> bool {
        self.passed.iter().any(|run| run.seed == seed && run.row.fault == fault)
    }

    pub(crate) fn pass(&mut self, seed: u64, calls: u64, row: Row, spent_ms: u64) {
        self.spent_ms += spent_ms;
        self.passed.push(PassedRun { seed, calls, row });
    }

    pub(crate) fn fail(&mut self, seed: u64, fault: Fault, error: String, spent_ms: u64) {
        self.spent_ms += spent_ms;
        self.failed.push(FailedRun { seed, fault, error });
    }

    /// Returns one row for each fault that was run or skipped.
    fn rows(&self) -> Vec<Row> {
        let all = Fault::value_variants().iter().filter_map(|fault| {
            let mut own = self.passed.iter().map(|run| &run.row).filter(|row| row.fault == *fault);
            let mut sum = own.next()?.clone();
            own.for_each(|row| sum.add(row));
            sum.skipped = sum.skipped.filter(|_| sum.rounds == 0);
            Some(sum)
        });
        all.collect()
    }
}

/// Reads a file of results of this commit. None if there is none; one of another commit is renamed.
pub(super) fn open<R: DeserializeOwned>(
    path: &Path,
    commit: &str,
    commit_of: impl Fn(&R) -> &str,
) -> Result<Option<R>> {
    let shown = path.display();
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("{shown}"))?,
    };
    let found: R = serde_json::from_str(&text)
        .with_context(|| format!("{shown} has no results: move it away"))?;
    if commit_of(&found) == commit {
        return Ok(Some(found));
    }
    let short: String = commit_of(&found).chars().take(COMMIT_LEN).collect();
    let beside = path.with_file_name(format!("results-{short}.json"));
    fs::rename(path, &beside).with_context(|| format!("{shown} cannot be kept"))?;
    Ok(None)
}

/// Replaces a file of results as a whole.
pub(super) fn write<R: Serialize>(path: &Path, results: &R) -> Result<()> {
    let new = path.with_extension("new");
    fs::create_dir_all(path.parent().context("a file in a directory")?)?;
    fs::write(&new, serde_json::to_vec(results)?)?;
    fs::rename(&new, path).with_context(|| format!("{} cannot be written", path.display()))
}

const HEAD: [&str; 8] = [
    "fault",
    "rounds",
    "acknowledged",
    "changes found once",
    "movements in events",
    "longest without any answer",
    "whole again after",
    "remarks",
];

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let lines = rows.iter().map(|row| match &row.skipped {
            Some(why) => Err((row.fault.name(), why.as_str())),
            None => Ok([
                row.fault.name().to_owned(),
                row.rounds.to_string(),
                row.acknowledged.to_string(),
                row.found.to_string(),
                row.events.to_string(),
                seconds(row.gap_ms),
                seconds(row.whole_ms),
                row.remarks.join("; "),
            ]),
        });
        write_table(f, HEAD, lines)?;
        let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
        let (rounds, acknowledged) = (sum(|row| row.rounds), sum(|row| row.acknowledged));
        let calls: u64 = self.passed.iter().map(|run| run.calls).sum();
        let minutes = self.spent_ms / 60_000;
        writeln!(
            f,
            "commit {}: {rounds} rounds in {} h {:02} min, {acknowledged} acknowledged requests, {calls} calls of \
             shared keys were linearizable, failed rounds: {}",
            self.commit,
            minutes / 60,
            minutes % 60,
            self.failed.len()
        )?;
        for FailedRun { seed, fault, error } in &self.failed {
            writeln!(f, "failed: {}, seed {seed}: {error}", fault.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn row(fault: Fault, acknowledged: u64, gap_ms: u64) -> Row {
        Row { rounds: 1, acknowledged, gap_ms, ..Row::new(fault) }
    }

    #[test]
    fn a_start_at_the_same_commit_goes_on_and_another_begins_beside_it() {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("deep/results.json");
        let mut first = Results::open(&path, "abc").expect("none so far");
        first.pass(1, 10, row(Fault::Reset, 5, 40), 61_000);
        first.write(&path).expect("written");
        let again = Results::open(&path, "abc").expect("the same");
        assert_eq!(again, first);
        assert!(again.has(1, Fault::Reset));
        assert!(!again.has(2, Fault::Reset) && !again.has(1, Fault::Replace));
        let other = Results::open(&path, "def").expect("another");
        assert!(!other.has(1, Fault::Reset));
        let beside = path.with_file_name("results-abc.json");
        assert_eq!(Results::open(&beside, "abc").expect("kept"), first);
    }

    #[test]
    fn the_table_has_the_sums_the_longest_silence_and_what_failed() {
        let mut results = Results::open(Path::new("/no/such/file"), "abc").expect("none");
        results.pass(1, 10, row(Fault::Reset, 5, 40), 3_600_000);
        results.pass(2, 20, row(Fault::Reset, 7, 1_250), 60_000);
        results.fail(2, Fault::Replace, "lost: 1".to_owned(), 0);
        let shown = results.to_string();
        assert!(shown.contains("| reset | 2 | 12 | 0 | 0 | 1.25 s |"), "{shown}");
        assert!(shown.contains("2 rounds in 1 h 01 min, 12 acknowledged"), "{shown}");
        assert!(shown.contains("30 calls") && shown.contains("failed rounds: 1\n"), "{shown}");
        assert!(shown.contains("failed: replace, seed 2: lost: 1"), "{shown}");
        assert!(!results.has(2, Fault::Replace), "a failed round is run again");
    }
}
