//! Seeds known bugs, one at a time, and demands that the named test catches each. A mutant is a
//! file of testing/mutants: `cargo run -p scurry-model --bin mutants [NAME...]`.
//!
//! The files that git knows or would know are copied to a scratch workspace under target/, so
//! that the working tree is never touched; only the mutated file is rebuilt.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

/// The test that must catch a mutant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Catcher {
    package: String,
    target: String,
    test: String,
}

struct Mutant {
    name: String,
    description: String,
    file: String,
    find: String,
    replace: String,
    caught_by: Catcher,
}

/// What became of a mutant.
enum Verdict {
    Caught,
    Survived,
    Broken(String),
}

fn main() -> Result<ExitCode> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let root = PathBuf::from(stdout(Command::new("git").args(["rev-parse", "--show-toplevel"]))?);
    let mutants = load(&root.join("testing/mutants"), &wanted)?;
    ensure!(!mutants.is_empty(), "no mutant has such a name: see testing/mutants");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let scratch = Scratch {
        tree: target.join("mutants/tree"),
        target: target.join("mutants/target"),
        cache: root.join(".cache"),
    };
    scratch.copy(&root)?;

    let mut fine = true;
    let mut sound: BTreeMap<&Catcher, bool> = BTreeMap::new();
    for mutant in &mutants {
        sound.entry(&mutant.caught_by).or_insert(false);
    }
    for (catcher, passes) in &mut sound {
        *passes = matches!(scratch.test(catcher)?, Verdict::Survived);
        if !*passes {
            fine = false;
            println!("{}: does not pass without a mutant", catcher.test);
        }
    }
    let width = mutants.iter().map(|mutant| mutant.name.len()).max().unwrap_or(0);
    for mutant in &mutants {
        let (name, test) = (&mutant.name, &mutant.caught_by.test);
        match scratch.mutate(&root, mutant)? {
            Verdict::Caught => println!("{name:width$}  caught    {test}"),
            Verdict::Survived => {
                fine = false;
                println!("{name:width$}  SURVIVED  {test}: {}", mutant.description);
            }
            Verdict::Broken(why) => {
                fine = false;
                println!("{name:width$}  BROKEN    {why}");
            }
        }
    }
    println!("{} mutants", mutants.len());
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn load(folder: &Path, wanted: &[String]) -> Result<Vec<Mutant>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let mut mutants = vec![];
    for file in files {
        let mutant = read(&file).with_context(|| format!("read {}", file.display()))?;
        if wanted.is_empty() || wanted.contains(&mutant.name) {
            mutants.push(mutant);
        }
    }
    Ok(mutants)
}

fn read(file: &Path) -> Result<Mutant> {
    let table: toml::Table = fs::read_to_string(file)?.parse()?;
    let text = |table: &toml::Table, key: &str| -> Result<String> {
        let value = table.get(key).and_then(|value| value.as_str());
        Ok(value.with_context(|| format!("{key} is missing or not a text"))?.to_string())
    };
    let caught_by = text(&table, "caught_by")?;
    let words: Vec<&str> = caught_by.split(' ').collect();
    let [package, target, test] = words[..] else {
        bail!("caught_by must name package, test target and test: {caught_by}");
    };
    Ok(Mutant {
        name: text(&table, "name")?,
        description: text(&table, "description")?,
        file: text(&table, "file")?,
        find: text(&table, "find")?,
        replace: text(&table, "replace")?,
        caught_by: Catcher {
            package: package.to_string(),
            target: target.to_string(),
            test: test.to_string(),
        },
    })
}

/// The standard output of a command that must succeed, without the end of its last line.
fn stdout(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim_end().to_string())
}

/// A copy of the workspace, and where it is built.
struct Scratch {
    tree: PathBuf,
    target: PathBuf,
    /// What scripts/install-tools.sh has installed; the copy has none.
    cache: PathBuf,
}

impl Scratch {
    /// Makes the copy equal to the working tree; files that are equal keep their times, so that
    /// cargo need not build them again.
    fn copy(&self, root: &Path) -> Result<()> {
        let list = ["ls-files", "-co", "--exclude-standard", "-z"];
        let known = stdout(Command::new("git").current_dir(root).args(list))?;
        let known: Vec<&str> = known.split('\0').filter(|name| !name.is_empty()).collect();
        for name in &known {
            let (from, to) = (root.join(name), self.tree.join(name));
            // A file may be deleted and not yet committed; a link is no source.
            if from.is_file() {
                write_if_new(&to, &fs::read(&from)?)?;
            } else if to.is_file() {
                fs::remove_file(&to)?;
            }
        }
        if self.tree.is_dir() {
            self.remove_unknown(&self.tree, &known)?;
        }
        Ok(())
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

    /// Seeds one bug, runs its test, and takes the bug out again.
    fn mutate(&self, root: &Path, mutant: &Mutant) -> Result<Verdict> {
        let original = fs::read_to_string(root.join(&mutant.file))
            .with_context(|| format!("{} names a file that is absent", mutant.name))?;
        let found = original.matches(&mutant.find).count();
        if found != 1 {
            let why = format!("`find` occurs {found} times in {}, not once", mutant.file);
            return Ok(Verdict::Broken(why));
        }
        let file = self.tree.join(&mutant.file);
        fs::write(&file, original.replacen(&mutant.find, &mutant.replace, 1))?;
        let verdict = self.test(&mutant.caught_by);
        fs::write(&file, original)?;
        verdict
    }

    /// Builds and runs one test. Survived means that it passed.
    fn test(&self, catcher: &Catcher) -> Result<Verdict> {
        let build = self.cargo(catcher, &["--no-run"])?;
        if !build.status.success() {
            let text = String::from_utf8_lossy(&build.stderr).into_owned();
            let error = text.lines().find(|line| line.starts_with("error")).unwrap_or("error");
            return Ok(Verdict::Broken(format!("does not compile: {error}")));
        }
        let run = self.cargo(catcher, &[&catcher.test, "--", "--exact"])?;
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        match (text.contains("1 passed; 0 failed"), text.contains("0 passed; 1 failed")) {
            (true, false) => Ok(Verdict::Survived),
            (false, true) => Ok(Verdict::Caught),
            _ => bail!("{} did not run: {text}", catcher.test),
        }
    }

    fn cargo(&self, catcher: &Catcher, rest: &[&str]) -> Result<Output> {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command
            .current_dir(&self.tree)
            .args(["test", "-q", "-p", &catcher.package, "--test", &catcher.target])
            .args(rest)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("SCURRY_TEST_CACHE", &self.cache)
            // What counts is the time to build.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUST_BACKTRACE", "0");
        Ok(command.output()?)
    }
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
