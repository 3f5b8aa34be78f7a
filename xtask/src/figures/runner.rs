//! Measures part after part on one machine and one commit. A part that is recorded for both is not measured again.

use super::parts::{FigurePart, PARTS, Scale, Step};
use super::results::{RECORD, list};
use super::tables::COMPARISONS;
use crate::host::Host;
use crate::optimized;
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Paths on which figures depend: everything but the documents, into which earlier parts of a run have written tables.
const MEASURED: &[&str] = &[":(top)", ":(top,exclude)docs", ":(top,exclude)README.md"];

/// Programs, and the directory of the results.
pub(crate) struct Runner<'a> {
    pub(crate) host: &'a Host,
    pub(crate) results: PathBuf,
    pub(crate) scale: &'static Scale,
    lab: PathBuf,
    scurry: PathBuf,
    /// Machine and commit.
    at: Value,
}

impl Runner<'_> {
    /// Locates the optimized programs, or those of `SCURRY_LAB` and `SCURRY_BIN`.
    pub(crate) fn new<'h>(
        host: &'h Host,
        results: PathBuf,
        scale: &'static Scale,
    ) -> Result<Runner<'h>> {
        let optimized = optimized::dir(host)?;
        let program = |variable: &str, name: &str| {
            std::env::var_os(variable).map_or_else(|| optimized.join(name), PathBuf::from)
        };
        Ok(Runner {
            host,
            results,
            scale,
            lab: program("SCURRY_LAB", "scurry-lab"),
            scurry: program("SCURRY_BIN", "scurry"),
            at: here(host)?,
        })
    }

    /// Returns the parts that are not recorded for this machine and commit.
    pub(crate) fn due<'p>(&self, parts: &[&'p FigurePart]) -> Result<Vec<&'p FigurePart>> {
        let record = self.record()?;
        let is_done = |part: &&&FigurePart| {
            self.results.join(part.file).is_file() && is_of(&record["files"][part.file], &self.at)
        };
        Ok(parts.iter().filter(|part| !is_done(part)).copied().collect())
    }

    /// Returns the minutes that a part took the last time; 10 when unknown.
    pub(crate) fn minutes(&self, part: &FigurePart) -> Result<f64> {
        let seconds = self.record()?["files"][part.file]["seconds"].as_f64();
        Ok(seconds.unwrap_or(600.0) / 60.0)
    }

    /// Checks that the programs exist, and creates the directories.
    pub(crate) fn begin(&self) -> Result<()> {
        for program in [&self.lab, &self.scurry] {
            ensure!(program.is_file(), "{} is missing: make figures builds it", program.display());
        }
        std::fs::create_dir_all(self.results.join("lab"))?;
        Ok(())
    }

    /// Measures one part, and records it.
    pub(crate) fn measure(&self, part: &FigurePart) -> Result<()> {
        let now = here(self.host)?;
        ensure!(
            // Rows of two commits or machines must not be mixed in one table.
            now == self.at,
            "the tree or the machine has changed since the run began: figures of one table would be of two commits"
        );
        let begin = clock();
        self.make(part).with_context(|| format!("measuring {}", part.file))?;
        let mut known = self.at.clone();
        known["date"] = self.host.output(Command::new("date").args(["-u", "+%F"]))?.trim().into();
        known["seconds"] = begin.elapsed().as_secs().into();
        let mut record = self.record()?;
        record["files"][part.file] = known;
        write(&self.results.join(RECORD), &record)
    }

    /// Compares all existing results, and writes the laboratory's report page into the target directory.
    pub(crate) fn conclude(&self) -> Result<()> {
        let compared = PARTS.iter().filter(|part| part.is_compared()).map(|part| part.file);
        let files: Vec<&str> = compared.filter(|file| self.results.join(file).is_file()).collect();
        ensure!(!files.is_empty(), "there are no results: measure a part first");
        let mut command = Command::new(&self.lab);
        command
            .arg("report")
            .args(&files)
            .arg("--out")
            .arg(self.host.target_dir()?.join("report.html"));
        // Run in the results directory, so that the file names are the same as in the documents.
        let status =
            command.args(["--comparisons", COMPARISONS]).current_dir(&self.results).status()?;
        ensure!(status.success(), "scurry-lab report ended with {status}");
        Ok(())
    }

    fn record(&self) -> Result<Value> {
        let path = self.results.join(RECORD);
        if !path.exists() {
            return Ok(json!({"files": {}}));
        }
        let text = std::fs::read_to_string(&path)?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged: delete it", path.display()))
    }

    fn make(&self, part: &FigurePart) -> Result<()> {
        let path = self.results.join(part.file);
        let mut rows: Vec<Value> = Vec::new();
        for (index, step) in part.steps.iter().enumerate() {
            // Only a part with several steps needs partial files.
            match step {
                Step::Doors => self.doors(&path)?,
                Step::Lab(words) if part.steps.len() == 1 => self.lab(words, &path)?,
                Step::Lab(words) => {
                    let piece = path.with_extension(format!("{index}.part"));
                    let made =
                        self.lab(words, &piece).and_then(|()| Ok(std::fs::read_to_string(&piece)?));
                    // Remove the partial file after a failure, too.
                    let _ = std::fs::remove_file(&piece);
                    rows.extend(list(&serde_json::from_str(&made?)?, "rows").iter().cloned());
                }
            }
        }
        if !rows.is_empty() {
            write(&path, &json!({"rows": rows}))?;
        }
        if part.is_compared() { compact(&path) } else { Ok(()) }
    }

    fn lab(&self, step: &str, out: &Path) -> Result<()> {
        let mut words = self.scale.words(step);
        // Arguments after `--` belong to another command, so put ours before them.
        let rest = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let rest = words.split_off(rest);
        println!("$ scurry-lab {} {}", words.join(" "), rest.join(" "));
        let mut command = Command::new(&self.lab);
        command.args(&words).arg("--json").arg(out).arg("--scurry-bin").arg(&self.scurry);
        command.args(&rest);
        self.host.show(&mut command)
    }

    fn doors(&self, out: &Path) -> Result<()> {
        let python = self.host.root.join(".cache/venv/bin/python");
        ensure!(
            python.is_file(),
            "{} is missing: scripts/install-tools.sh tests",
            python.display()
        );
        let Scale { seconds, runs, .. } = self.scale;
        let mut command = Command::new(python);
        command.arg("scripts/bench-http.py").arg(&self.scurry).args([seconds, "16", runs]).arg(out);
        self.host.show(&mut command)
    }
}

/// Returns the parts by their file names without the ending; all parts without names.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static FigurePart>> {
    let is_it = |part: &FigurePart, name: &str| part.file.trim_end_matches(".json") == name;
    for name in names {
        ensure!(
            PARTS.iter().any(|part| is_it(part, name)),
            "no part `{name}`: cargo xtask figures --list names all"
        );
    }
    let is_chosen =
        |part: &&FigurePart| names.is_empty() || names.iter().any(|name| is_it(part, name));
    Ok(PARTS.iter().filter(is_chosen).collect())
}

/// Reports whether a recorded part is of this machine and commit. A tree with uncommitted changes never matches.
fn is_of(known: &Value, at: &Value) -> bool {
    let is_clean = at["git_commit"].as_str().is_some_and(|commit| !commit.contains('+'));
    is_clean && ["git_commit", "cpu", "kernel"].iter().all(|key| known[key] == at[key])
}

/// Returns machine and commit of this run: the newest commit of the measured files, so that a run continues after a
/// commit of its tables.
fn here(host: &Host) -> Result<Value> {
    let git = |words: &[&str]| host.git_output(&[words, MEASURED].concat());
    let commit = git(&["log", "-1", "--format=%h", "--abbrev=12", "--"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no", "--"])?;
    let changes = if changes.trim().is_empty() { "" } else { "+changes" };
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Ok(Value::Object(Map::from_iter([
        ("git_commit".to_owned(), format!("{}{changes}", commit.trim()).into()),
        ("cpu".to_owned(), model.map_or("unknown", |(_, model)| model.trim()).into()),
        ("cores".to_owned(), std::thread::available_parallelism().map_or(1, usize::from).into()),
        ("kernel".to_owned(), kernel.trim().into()),
    ])))
}

fn write(path: &Path, value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    std::fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
}

/// Rewrites a file with one row per line: every run has its histogram, and indented it would be too large for git.
fn compact(path: &Path) -> Result<()> {
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let lines: Vec<String> = list(&value, "rows").iter().map(Value::to_string).collect();
    let mut rest = value.clone();
    rest["rows"] = json!([]);
    let filled = format!("\"rows\":[\n{}\n]", lines.join(",\n"));
    let text = rest.to_string().replacen("\"rows\":[]", &filled, 1);
    std::fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
}

#[expect(clippy::disallowed_methods, reason = "a run records how long its parts take")]
fn clock() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_measured_again_on_another_machine_another_commit_and_a_changed_tree() {
        let at = json!({"git_commit": "abc", "cpu": "one", "kernel": "6.18"});
        let mut known = at.clone();
        known["seconds"] = 3.into();
        assert!(is_of(&known, &at));
        for (key, other) in [("git_commit", "abd"), ("cpu", "two"), ("kernel", "6.19")] {
            let mut elsewhere = at.clone();
            elsewhere[key] = other.into();
            assert!(!is_of(&known, &elsewhere), "{key}");
        }
        let changed = json!({"git_commit": "abc+changes", "cpu": "one", "kernel": "6.18"});
        assert!(!is_of(&changed, &changed));
        assert!(!is_of(&Value::Null, &at));
    }

    #[test]
    fn tables_that_were_written_are_no_change_of_what_is_measured() {
        let root = std::env::temp_dir().join(format!("scurry-figures-{}", std::process::id()));
        std::fs::create_dir_all(root.join("docs/results")).unwrap();
        let host = Host { root: root.clone(), ..Host::find().unwrap() };
        let write = |file: &str, text: &str| std::fs::write(root.join(file), text).unwrap();
        let commit = || here(&host).unwrap()["git_commit"].as_str().unwrap().to_owned();
        let files = ["code.rs", "README.md", "docs/page.md", "docs/results/part.json"];
        files.iter().for_each(|file| write(file, "before"));
        let git = |args: &[&str]| host.git_output(args).unwrap();
        let who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"];
        let save = || {
            git(&["add", "."]);
            git(&[&who[..], &["commit", "-q", "-m", "a step"]].concat())
        };
        git(&["init", "-q"]);
        save();
        let first = commit();
        files[1..].iter().for_each(|file| write(file, "written by a run"));
        let written = commit();
        save();
        let saved = commit();
        write(files[0], "changed");
        let changed = commit();
        save();
        let second = commit();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(first.len(), 12, "{first}");
        assert_eq!([&written, &saved], [&first; 2]);
        assert_eq!(changed, format!("{first}+changes"));
        assert_ne!(second, first);
        assert_eq!(second.len(), 12, "{second}");
    }

    #[test]
    fn rows_are_kept_a_line_each() {
        let path = std::env::temp_dir().join(format!("scurry-figures-{}.json", std::process::id()));
        let value = json!({"rows": [{"a": 1}, {"b": [2, 3]}], "more": "\"rows\":[]"});
        std::fs::write(&path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
        compact(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(text.lines().filter(|line| line.starts_with('{')).count(), 3, "{text}");
    }
}
