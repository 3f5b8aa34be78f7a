//! A copy of the workspace in which bugs are seeded and built.

use crate::mutant::{CatchingTest, Mutant};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Limit of CPU seconds for one process, a test program or the compiler: a mutant can make its test loop forever. All
/// tests that catch a mutant together take less.
const PROCESSOR_SECONDS_MAX: u64 = 600;
/// Timeout of a command, elapsed seconds, because a test that waits forever uses no CPU. It is an error and not a
/// catch, because a stalled machine may be the cause.
const SECONDS_MAX: u64 = 1_200;

/// Result of a mutant.
pub(crate) enum MutantResult {
    Caught,
    Survived,
    Broken(String),
}

pub(crate) struct Scratch {
    root: PathBuf,
    tree: PathBuf,
    target: PathBuf,
}

impl Scratch {
    /// Makes the copy in `place` equal to the working tree at `root`. Equal files keep their times, so that cargo need
    /// not rebuild them.
    pub(crate) fn copy(root: &Path, place: &Path) -> Result<Scratch> {
        let (tree, target) = (place.join("tree"), place.join("target"));
        let scratch = Scratch { root: root.to_owned(), tree, target };
        let list = ["ls-files", "-co", "--exclude-standard", "-z"];
        let known = stdout(Command::new("git").current_dir(root).args(list))?;
        let known: Vec<&str> = known.split('\0').filter(|name| !name.is_empty()).collect();
        for name in &known {
            let (from, to) = (root.join(name), scratch.tree.join(name));
            // A file may be deleted but not committed yet; a symbolic link is no source.
            if from.is_file() {
                write_if_new(&to, &fs::read(&from)?)?;
            } else if to.is_file() {
                fs::remove_file(&to)?;
            }
        }
        if scratch.tree.is_dir() {
            scratch.remove_unknown(&scratch.tree, &known)?;
        }
        Ok(scratch)
    }

    fn remove_unknown(&self, folder: &Path, known: &[&str]) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.remove_unknown(&path, known)?;
            } else if path.file_name().is_some_and(|name| name != "Cargo.lock")
                && !known.iter().any(|name| self.tree.join(name) == path)
            {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Seeds one bug, runs its test, and removes the bug again.
    pub(crate) fn mutate(&self, mutant: &Mutant) -> Result<MutantResult> {
        // Read the copy, because someone may be editing the working tree.
        let file = self.tree.join(&mutant.file);
        let original = fs::read_to_string(&file)
            .with_context(|| format!("{} names a file that is absent", mutant.name))?;
        let found = original.matches(&mutant.find).count();
        if found != 1 {
            let why = format!("`find` occurs {found} times in {}, not once", mutant.file);
            return Ok(MutantResult::Broken(why));
        }
        fs::write(&file, original.replacen(&mutant.find, &mutant.replace, 1))?;
        let verdict = self.test(&mutant.caught_by);
        fs::write(&file, original)?;
        verdict
    }

    /// Runs these tests of one target without a mutant. Returns why they do not all pass; None when they do.
    pub(crate) fn baseline(&self, catchers: &[&CatchingTest]) -> Result<Option<String>> {
        let Some(first) = catchers.first() else { return Ok(None) };
        if let Some(why) = self.build(first)? {
            return Ok(Some(why));
        }
        let names = catchers.iter().map(|catcher| catcher.test.as_str());
        let words: Vec<&str> = ["--", "--exact"].into_iter().chain(names).collect();
        let run = self.cargo(first, &words)?;
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let all_pass = text.contains(&format!("{} passed; 0 failed", catchers.len()));
        Ok((!all_pass).then(|| format!("not all pass without a mutant: {text}")))
    }

    /// Builds and runs one test. Survived means that it passed.
    fn test(&self, catcher: &CatchingTest) -> Result<MutantResult> {
        if let Some(why) = self.build(catcher)? {
            return Ok(MutantResult::Broken(why));
        }
        let run = self.cargo(catcher, &[&catcher.test, "--", "--exact"])?;
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let told = String::from_utf8_lossy(&run.stderr);
        match (text.contains("1 passed; 0 failed"), text.contains("0 passed; 1 failed")) {
            (true, false) => Ok(MutantResult::Survived),
            (false, true) => Ok(MutantResult::Caught),
            // SIGXCPU: a test that loops forever does not pass.
            (false, false) if told.contains("signal: 24") => Ok(MutantResult::Caught),
            _ => bail!("{} did not run: {text}{told}", catcher.test),
        }
    }

    /// Builds the tests of a target. Returns why they do not compile; None when they do.
    fn build(&self, catcher: &CatchingTest) -> Result<Option<String>> {
        let build = self.cargo(catcher, &["--no-run"])?;
        if build.status.success() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&build.stderr).into_owned();
        let error = text.lines().find(|line| line.starts_with("error")).unwrap_or("error");
        Ok(Some(format!("does not compile: {error}")))
    }

    fn cargo(&self, catcher: &CatchingTest, rest: &[&str]) -> Result<Output> {
        // Limit the CPU time, which a stalled machine does not use up.
        let limited =
            format!("ulimit -S -t {PROCESSOR_SECONDS_MAX} && exec timeout {SECONDS_MAX} \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", &limited, "sh"])
            .arg(std::env::var_os("CARGO").unwrap_or("cargo".into()))
            .current_dir(&self.tree)
            .args(["test", "-q", "-p", &catcher.package])
            .args(match catcher.target.as_str() {
                "lib" => vec!["--lib"],
                // The name of the program does not matter.
                "bin" => vec!["--bins"],
                test => vec!["--test", test],
            })
            .args(rest)
            .env("CARGO_TARGET_DIR", &self.target)
            // Use the tools that scripts/install-tools.sh has installed in the original; the copy has none.
            .env("SCURRY_TEST_CACHE", self.root.join(".cache"))
            // Optimize for build time.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            // Each mutant changes a little of one crate, so build incrementally, whatever the surrounding gate does.
            .env("CARGO_INCREMENTAL", "1")
            .env("RUST_BACKTRACE", "0");
        Ok(command.output()?)
    }
}

/// Returns the standard output of a command that must succeed, without trailing whitespace.
pub(crate) fn stdout(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim_end().to_string())
}

fn write_if_new(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, bytes)?)
}
