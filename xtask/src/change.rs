//! The files and packages that a change touches, and clippy for only these.

use crate::host::Host;
use crate::steps::Outcome;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Package of the workspace.
pub(crate) struct Package {
    name: String,
    /// Its directory, relative to the root.
    directory: String,
    /// Workspace packages that it depends on, in tests too.
    needs: Vec<String>,
}

/// Runs clippy on all targets of the packages that have changed since the branch left `main`. Of packages that depend
/// on these it checks only libraries and programs: their tests, which are most of the work, have not changed.
pub(crate) fn clippy(host: &Host) -> Result<Outcome> {
    let files = files(host, &base(host)?)?;
    let packages = packages(host)?;
    if files.iter().any(|file| file == "Cargo.toml" || file == "clippy.toml") {
        host.cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ])?;
        return Ok(Outcome::Passed);
    }
    let touched = touched(&packages, &files);
    if touched.is_empty() {
        println!("no package has changed");
        return Ok(Outcome::Passed);
    }
    for (names, more) in
        [(dependents(&packages, &touched), None), (touched.clone(), Some("--all-targets"))]
    {
        if !names.is_empty() {
            let names = names.iter().flat_map(|name| ["-p", name]);
            let words = ["clippy", "--locked"].into_iter().chain(names).chain(more);
            host.cargo(&words.chain(["--", "-D", "warnings"]).collect::<Vec<_>>())?;
        }
    }
    Ok(Outcome::Passed)
}

/// Returns the commit at which this branch left `main`; on `main`, or without a `main`, the last commit.
pub(crate) fn base(host: &Host) -> Result<String> {
    let main = ["rev-parse", "--verify", "--quiet", "main"];
    let words: &[&str] = match host.git_output(&main) {
        Ok(_) => &["merge-base", "HEAD", "main"],
        Err(_) => &["rev-parse", "HEAD"],
    };
    Ok(host.git_output(words)?.trim().to_owned())
}

/// Returns the files that differ from a commit, and new files that git does not track yet.
pub(crate) fn files(host: &Host, base: &str) -> Result<BTreeSet<String>> {
    let changed = host.git_output(&["diff", "--no-ext-diff", "--name-only", base])?;
    let new = host.git_output(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_owned).collect())
}

pub(crate) fn packages(host: &Host) -> Result<Vec<Package>> {
    let text = host.cargo_output(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&text)?;
    let listed = metadata["packages"].as_array().context("cargo named no packages")?;
    let package = |package: &Value| -> Option<Package> {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let directory = manifest.parent()?.strip_prefix(&host.root).ok()?;
        let needs = package["dependencies"].as_array()?.iter();
        let needs = needs.filter(|dependency| dependency["path"].is_string());
        Some(Package {
            name: package["name"].as_str()?.to_owned(),
            directory: directory.to_str()?.to_owned(),
            needs: needs.filter_map(|own| Some(own["name"].as_str()?.to_owned())).collect(),
        })
    };
    Ok(listed.iter().filter_map(package).collect())
}

/// Returns the packages that contain any of the files.
pub(crate) fn touched<'a>(packages: &'a [Package], files: &BTreeSet<String>) -> BTreeSet<&'a str> {
    let is_in = |file: &str, package: &Package| {
        file.strip_prefix(package.directory.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    packages
        .iter()
        .filter(|package| files.iter().any(|file| is_in(file, package)))
        .map(|package| package.name.as_str())
        .collect()
}

/// Returns the packages that depend on the given ones, directly or not, without the given ones.
fn dependents<'a>(packages: &'a [Package], of: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut all = of.clone();
    loop {
        let found = packages.iter().filter(|package| {
            !all.contains(package.name.as_str())
                && package.needs.iter().any(|need| all.contains(need.as_str()))
        });
        let found: Vec<&str> = found.map(|package| package.name.as_str()).collect();
        if found.is_empty() {
            return all.difference(of).copied().collect();
        }
        all.extend(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages() -> Vec<Package> {
        [("a", "crates/a", vec![]), ("ab", "crates/ab", vec!["a"]), ("c", "lab", vec!["ab"])]
            .map(|(name, directory, needs)| Package {
                name: name.to_owned(),
                directory: directory.to_owned(),
                needs: needs.into_iter().map(str::to_owned).collect(),
            })
            .into()
    }

    fn of_file(file: &str) -> (Vec<&'static str>, Vec<&'static str>) {
        let packages: &'static [Package] = packages().leak();
        let touched = touched(packages, &BTreeSet::from([file.to_owned()]));
        (touched.iter().copied().collect(), dependents(packages, &touched).into_iter().collect())
    }

    #[test]
    fn a_file_touches_its_package_and_what_depends_on_that() {
        assert_eq!(of_file("crates/a/src/lib.rs"), (vec!["a"], vec!["ab", "c"]));
        assert_eq!(of_file("crates/ab/src/lib.rs"), (vec!["ab"], vec!["c"]));
        assert_eq!(of_file("lab/tests/a.rs"), (vec!["c"], vec![]));
        assert_eq!(of_file("docs/ledger.md"), (vec![], vec![]));
    }
}
