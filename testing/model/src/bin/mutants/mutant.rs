//! The files of testing/mutants: each is a bug to seed, and the test that must catch it.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Test that must catch a mutant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CatchingTest {
    pub(crate) package: String,
    pub(crate) target: String,
    pub(crate) test: String,
}

pub(crate) struct Mutant {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Path from the root of the workspace.
    pub(crate) file: String,
    /// Text to replace, which occurs once in the file.
    pub(crate) find: String,
    pub(crate) replace: String,
    pub(crate) caught_by: CatchingTest,
}

/// Returns the mutants with the wanted names; all of them when no name is given.
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
    Ok(Mutant {
        name: text("name")?,
        description: text("description")?,
        file: text("file")?,
        find: text("find")?,
        replace: text("replace")?,
        caught_by: CatchingTest {
            package: package.to_string(),
            target: target.to_string(),
            test: test.to_string(),
        },
    })
}
