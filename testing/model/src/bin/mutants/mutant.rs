//! What is seeded, and who must notice: the files of testing/mutants.

use anyhow::{Context, Error, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The test that must catch a mutant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Catcher {
    pub(crate) package: String,
    pub(crate) target: String,
    pub(crate) test: String,
}

impl Catcher {
    /// Where its test may stand, from the package's directory on: a test of a module in its file, or with
    /// the target's main file where it has none.
    pub(crate) fn files(&self) -> [String; 3] {
        let modules: Vec<&str> = self.test.split("::").collect();
        let modules = modules[..modules.len() - 1].iter().filter(|name| **name != "tests");
        let path = modules.map(|name| format!("/{name}")).collect::<String>();
        let stem = match (self.target.as_str(), path.as_str()) {
            ("lib", "") => "/src/lib".to_owned(),
            ("bin", "") => "/src/main".to_owned(),
            ("lib" | "bin", path) => format!("/src{path}"),
            (target, path) => format!("/tests/{target}{path}"),
        };
        ["", "/main", "/mod"].map(|end| format!("{stem}{end}.rs"))
    }
}

pub(crate) struct Mutant {
    pub(crate) name: String,
    /// The name of its file in testing/mutants.
    pub(crate) own_file: String,
    /// The number with which that name begins.
    pub(crate) number: u64,
    pub(crate) description: String,
    /// From the root of the workspace.
    pub(crate) file: String,
    /// Occurs once in the file.
    pub(crate) find: String,
    pub(crate) replace: String,
    pub(crate) caught_by: Catcher,
}

/// A share of all mutants, written as `3/8`. It takes them ten numbers at a time, since neighbours are mostly
/// caught by one program of tests; a new mutant leaves the others in their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// From 1 to the number of parts.
    number: u64,
    parts: u64,
}

impl Part {
    pub(crate) fn holds(self, mutant: &Mutant) -> bool {
        mutant.number / 10 % self.parts + 1 == self.number
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Part> {
        let numbers = text.split_once('/').and_then(|(number, parts)| {
            let part = Part { number: number.parse().ok()?, parts: parts.parse().ok()? };
            (1..=part.parts).contains(&part.number).then_some(part)
        });
        numbers.with_context(|| format!("no part, such as 3/8: {text}"))
    }
}

/// The mutants with a wanted name, or all when none is named.
pub(crate) fn load(folder: &Path, wanted: &[String]) -> Result<Vec<Mutant>> {
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
    let text = |key: &str| -> Result<String> {
        let value = table.get(key).and_then(|value| value.as_str());
        Ok(value.with_context(|| format!("{key} is missing or not a text"))?.to_string())
    };
    let caught_by = text("caught_by")?;
    let words: Vec<&str> = caught_by.split(' ').collect();
    let [package, target, test] = words[..] else {
        bail!("caught_by must name package, test target and test: {caught_by}");
    };
    let own_file = file.file_name().context("it has no name")?.to_string_lossy().into_owned();
    let digits = own_file.split_once('-').map(|(digits, _)| digits.parse());
    let number = digits.and_then(Result::ok).context("its name does not begin as `12-`")?;
    Ok(Mutant {
        name: text("name")?,
        own_file,
        number,
        description: text("description")?,
        file: text("file")?,
        find: text("find")?,
        replace: text("replace")?,
        caught_by: Catcher {
            package: package.to_string(),
            target: target.to_string(),
            test: test.to_string(),
        },
    })
}
